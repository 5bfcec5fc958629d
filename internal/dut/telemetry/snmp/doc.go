// Package snmp reads a device by SNMP, version 2c or 3: discards and errors of interfaces (IF-MIB, RFC 2863), load of
// processors (HOST-RESOURCES-MIB, RFC 2790) and sensors (ENTITY-SENSOR-MIB, RFC 3433).
package snmp

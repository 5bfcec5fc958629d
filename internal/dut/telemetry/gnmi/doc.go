// Package gnmi reads devices with gNMI, by the OpenConfig modules of interfaces, platform and system.
package gnmi

// Package linux reads a Linux device by SSH: drops and errors of interfaces, queues and labelled frames, rules of the
// packet filter that count and drop, processors, memory and temperatures.
package linux

// Package configure brings a device into a configuration and back: it reads what the device has, finds the
// commands from there to what is wanted, enters them, and reads again. It needs no memory of what it did before:
// after a connection that was lost, or a process that was killed, it starts from what the device reports.
package configure

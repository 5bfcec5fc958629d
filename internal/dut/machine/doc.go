// Package machine is the driver of a device that is an emulated machine (QEMU) with a kernel of its own.
package machine

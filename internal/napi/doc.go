// Package napi moves the polling of network interfaces (NAPI) from soft interrupts into
// kernel threads on chosen processors (threaded NAPI of Linux).
//
// What a veth's end receives is processed in a soft interrupt on the processor of the
// sender otherwise, so that a virtual device works in the time of the tester that sends
// to it. The threads end with their interface.
package napi

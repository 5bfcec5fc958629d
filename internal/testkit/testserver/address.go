package testserver

import (
	"net"
	"strconv"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/freeport"
)

// FreeAddress returns a loopback address on which no process listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddressOf(t, "127.0.0.1")
}

// FreeAddressOf returns an address of a host of this machine on which no process listens.
func FreeAddressOf(t testing.TB, host string) string {
	t.Helper()
	return net.JoinHostPort(host, strconv.Itoa(freeport.Get(t)))
}

package freeport

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPorts gets many ports at once: each is another one, none is a port of outgoing connections, and a port is free
// again when its test ends.
func TestPorts(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	lowest, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	t.Run("many", func(t *testing.T) {
		for range 500 {
			port := Get(t)
			if seen[port] || seen[port-1] || port >= lowest {
				t.Fatalf("port %d, with %d ports before it and outgoing ones from %d", port, len(seen), lowest)
			}
			seen[port], seen[port-1] = true, true
		}
	})
	for port := range seen {
		l, err := net.Listen("unix", "@nodrop-test-port-"+strconv.Itoa(port))
		if err != nil {
			t.Fatalf("port %d is still taken: %v", port, err)
		}
		_ = l.Close()
	}
}

// TestPortIsFree wants a port with a listener never to be given away.
func TestPortIsFree(t *testing.T) {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(Get(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if port := l.Addr().(*net.TCPAddr).Port; nothingListens(port) {
		t.Errorf("port %d counts as free with a listener", port)
	}
}

// Package freeport finds ports for the servers of tests.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// firstPort and lastPort bound the ports of test servers. They are below the ports that Linux gives to outgoing
// connections and below the node ports of Kubernetes, so that no client takes one between the choice and the start
// of the server.
const firstPort, lastPort = 15000, 29998

// Get returns a TCP port on which nothing listens, at any address; the port below it is free as well. No other
// test gets the two until this one ends.
func Get(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstPort + 2*rand.IntN((lastPort-firstPort)/2) + 1
		// A socket without a file marks the ports in all processes of this network namespace.
		mark, err := net.Listen("unix", fmt.Sprintf("@nodrop-test-port-%d", port))
		if err != nil {
			continue
		}
		if nothingListens(port) && nothingListens(port-1) {
			t.Cleanup(func() { _ = mark.Close() })
			return port
		}
		_ = mark.Close()
	}
	t.Fatalf("no two free TCP ports from %d to %d", firstPort, lastPort)
	return 0
}

func nothingListens(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

package trex

import (
	"context"
	"os"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// CardsVariable names two network cards that are bound to vfio-pci, by their PCI addresses,
// separated by a comma. The real server that the tests start then has cards for its ports,
// in place of packet sockets. hack/vm/trex sets it in an emulated machine.
const CardsVariable = "NODROP_TREX_CARDS"

// OnCards reports whether the real server of the tests has network cards.
func OnCards() bool { return os.Getenv(CardsVariable) != "" }

// RealServer is a server that the test binary started. It is filled in from outside
// the package: what starts servers imports it.
type RealServer struct {
	// Endpoint of its RPC.
	Endpoint string
	// Restart kills it and starts it again.
	Restart func(t *testing.T)
	// Limit sets how many frames a second the lossy device passes of those to UDP port 9,
	// and how many of more it holds.
	Limit func(t *testing.T, perSecond, depth uint64)
	// Neighbour is the hardware address behind NeighbourIPv4 and NeighbourIPv6, which
	// the lossy device has.
	Neighbour traffic.MAC
}

// The addresses of the lossy device.
const (
	NeighbourIPv4 = "198.18.0.1"
	NeighbourIPv6 = "2001:2::1"
)

// StartReal returns a real server whose ports 0 and 1 are joined by a cable, or by
// a device that drops every 20th frame of each of the UDP ports 7 and 8; nil when
// the environment names no server to start.
var StartReal func(t *testing.T, lossy bool) RealServer

// Settle waits until nothing arrives any more.
func Settle(ctx context.Context, e *Engine) error {
	_, err := e.server.drain(ctx)
	return err
}

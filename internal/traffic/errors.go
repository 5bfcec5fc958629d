package traffic

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrUnsupported is wrapped by an engine that can never do what it was asked:
// trying again does not help.
var ErrUnsupported = errors.New("not supported by the engine")

// UnresolvedError says that a neighbour did not answer.
type UnresolvedError struct {
	// Port that asked.
	Port string
	// Addr that was asked for.
	Addr netip.Addr
}

// Error names the protocol, the address and the port.
func (e *UnresolvedError) Error() string {
	protocol := "ARP"
	if e.Addr.Is6() {
		protocol = "neighbor discovery"
	}
	return fmt.Sprintf("%s for %s was not answered on %s: check the device's address, and that the link is up", protocol, e.Addr, e.Port)
}

package traffic

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrUnsupported is wrapped by an engine that can never do what it was asked:
// trying again does not help.
var ErrUnsupported = errors.New("not supported by the engine")

// ErrInterrupted means that an engine lost the current trial: its agent restarted, the
// connection to it broke, or the server that it drives is gone. The counts are void; the
// caller configures the streams again and repeats the trial.
var ErrInterrupted = errors.New("the trial was interrupted")

// ErrLost means that an engine is gone and did not come back in time. The run cannot continue.
var ErrLost = errors.New("the agent is lost")

// UnresolvedError reports that a neighbor did not answer.
type UnresolvedError struct {
	// Port that asked.
	Port string
	// Addr that was asked for.
	Addr netip.Addr
	// VLAN names that in which the port asked, as frame.VLANs does; empty for none.
	VLAN string
}

// Error names the protocol, the address, the VLAN and the port.
func (e *UnresolvedError) Error() string {
	if e.VLAN != "" {
		return e.Unanswered() + ": check the device's address, that its port is in this VLAN, and that the link is up"
	}
	return e.Unanswered() + ": check the device's address, and that the link is up"
}

// Unanswered is the error without advice.
func (e *UnresolvedError) Unanswered() string {
	protocol := "ARP"
	if e.Addr.Is6() {
		protocol = "neighbor discovery"
	}
	in := ""
	if e.VLAN != "" {
		in = " in " + e.VLAN
	}
	return fmt.Sprintf("%s for %s%s was not answered on %s", protocol, e.Addr, in, e.Port)
}

// MissingError reports that an engine does not implement a required optional interface of
// Generator. It wraps ErrUnsupported.
type MissingError struct {
	// Engine is the engine's kind: xdp, trex, sim.
	Engine string
	// Cannot names the missing capability: "join multicast groups".
	Cannot string
	// Needs names the method or the API field that requires it.
	Needs string
}

// Error names the engine, what it cannot do and what needs it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the engine %s cannot %s, which %s needs: choose a bed with another engine", e.Engine, e.Cannot, e.Needs)
}

// Unwrap makes every MissingError an ErrUnsupported.
func (e *MissingError) Unwrap() error { return ErrUnsupported }

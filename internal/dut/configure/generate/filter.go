package generate

import (
	"errors"
	"fmt"
	"net/netip"

	"nodrop.dev/nodrop/internal/routing"
)

// Direction is a way through a port of a device.
type Direction string

// The directions.
const (
	Ingress Direction = "ingress"
	Egress  Direction = "egress"
)

// MaxNetworks is the largest number of networks of a filter.
const MaxNetworks = 1 << 16

// Filter describes a filter of the networks that frames go to: it denies the networks that it names, or permits
// each by an entry. It permits all others.
type Filter struct {
	// Name of the filter on the device.
	Name string
	// Ports are the interfaces of the device that have the filter.
	Ports     []string
	Direction Direction
	// First network; the others follow it, as with the routes of a TrafficProfile.
	First netip.Prefix
	// Count is the number of networks, 1 to MaxNetworks: half of the learned routes, say.
	Count int
	// Deny drops frames to these networks. Otherwise each has an entry that permits them.
	Deny bool
}

// Check fails with the field that is wrong, and the remedy.
func (f *Filter) Check() error {
	switch {
	case f.Direction != Ingress && f.Direction != Egress:
		return fmt.Errorf("direction: Unsupported value: %q: want %s, %s", f.Direction, Ingress, Egress)
	case f.Count < 1 || f.Count > MaxNetworks:
		return fmt.Errorf("count: Invalid value: %d: want 1 to %d", f.Count, MaxNetworks)
	}
	if err := network("first", f.First); err != nil {
		return err
	}
	if f.First.Bits() == 0 || !f.routes().Prefix(uint32(f.Count-1)).IsValid() {
		return fmt.Errorf("count: Invalid value: %d: behind %s there are fewer networks of this length", f.Count, f.First)
	}
	return errors.Join(name("name", f.Name), interfaces("ports", f.Ports))
}

// routes are the networks as a profile announces them.
func (f *Filter) routes() routing.Routes { return routing.Routes{First: f.First} }

// Networks returns the networks in their order.
func (f *Filter) Networks() []netip.Prefix {
	networks := make([]netip.Prefix, f.Count)
	for i := range networks {
		networks[i] = f.routes().Prefix(uint32(i))
	}
	return networks
}

// Write returns the filter in the words of a dialect.
func (f *Filter) Write(d Dialect) (string, error) { return write("filter", d, f) }

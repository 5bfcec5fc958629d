package trials

import (
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Setup is the context of a trial: the streams, and the addresses that they are sent to.
type Setup struct {
	// Plan whose Streams are sent.
	Plan plan.Plan
	// Hops are the hardware addresses that the streams are sent to.
	Hops *Neighbours
	// Observe is called when a trial begins, ends or is tried again.
	Observe func(Event)
}

// with returns the setup with other streams and addresses.
func (s Setup) with(streams []plan.Stream, hops *Neighbours) Setup {
	s.Plan.Streams, s.Hops = streams, hops
	return s
}

// traffic returns the streams of a size as the generator sends them.
func (s Setup) traffic(size plan.Size) []traffic.Stream {
	return s.Plan.At(size).Traffic(s.Hops.Sources, s.Hops.NextHops)
}

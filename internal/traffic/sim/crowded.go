package sim

import (
	"nodrop.dev/nodrop/internal/workload"
	"nodrop.dev/nodrop/internal/workload/tcpmodel"
)

// crowded is a port of the device by which test frames leave next to the segments of connections. The model of TCP
// determines how many of them are dropped, and how long the others wait.
type crowded struct {
	// port of the client; empty if no connections were modeled in the trial.
	port     string
	frames   tcpmodel.StatelessCounts
	segments workload.Segments
}

// drop takes the frames from a stream that the port drops.
func (c *crowded) drop(port string, p *passed) {
	if c.port != port || c.frames.Sent == 0 {
		return
	}
	if n := min(p.received, mulDiv(p.sent, uint64(c.frames.Dropped), uint64(c.frames.Sent))); n > 0 {
		p.received, p.gapEnd = p.received-n, p.sent
	}
}

// hold returns the shape of a latency with the time that frames wait for the port.
func (c *crowded) hold(port string, s shape) shape {
	if c.port != port || c.frames.Delivered == 0 {
		return s
	}
	s.min, s.avg, s.max = s.min+uint64(c.frames.MinWait), s.avg+uint64(c.frames.AvgWait), s.max+uint64(c.frames.MaxWait)
	return s
}

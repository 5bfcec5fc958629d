package sim

import (
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// reach is how many frames of a stream come to an egress port of the device, where
// these are not all that were sent.
type reach map[traffic.RxKey]uint64

// reached is what comes to the ports in a trial of d.
func (e *Engine) reached(m *traffic.Measurement, d time.Duration) reach {
	r := reach{}
	e.bridge(m, r)
	e.block(m, r, d)
	return r
}

// of is how many frames of a stream come to a port.
func (r reach) of(m *traffic.Measurement, s *traffic.Stream, port string) uint64 {
	if n, ok := r[traffic.RxKey{Stream: s.ID, Port: port}]; ok {
		return n
	}
	return m.Tx[s.ID].Sent
}

package sim

import (
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// reach is the number of frames of a stream that come to an egress port of the device, if it
// differs from the number of sent frames.
type reach map[traffic.RxKey]uint64

// reached returns the number of frames that come to the ports in a trial of d.
func (fw *forwarding) reached(m *traffic.Measurement, d time.Duration) reach {
	r := reach{}
	fw.dut.addresses.bridge(fw.run.streams, fw.run.start, m, r)
	fw.block(m, r, d)
	return r
}

// of returns the number of frames of a stream that come to a port.
func (r reach) of(m *traffic.Measurement, s *traffic.Stream, port string) uint64 {
	if n, ok := r[traffic.RxKey{Stream: s.ID, Port: port}]; ok {
		return n
	}
	return m.Tx[s.ID].Sent
}

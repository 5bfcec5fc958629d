package sim

import "nodrop.dev/nodrop/internal/traffic"

// arrivals is how many frames of a stream come to an egress port of the device,
// where these are not all that were sent.
type arrivals map[traffic.RxKey]uint64

// of is how many frames of a stream come to a port.
func (a arrivals) of(m *traffic.Measurement, s *traffic.Stream, port string) uint64 {
	if n, ok := a[traffic.RxKey{Stream: s.ID, Port: port}]; ok {
		return n
	}
	return m.Tx[s.ID].Sent
}

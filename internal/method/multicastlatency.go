package method

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
)

// portLatency is the latency of what a port received.
type portLatency struct {
	count, min, max uint64
	sum             big.Int // Over many groups it may exceed 64 bits.
}

// average in nanoseconds, rounded.
func (l *portLatency) average() int64 {
	return frame.Round(new(big.Rat).SetFrac(&l.sum, new(big.Int).SetUint64(l.count)))
}

// multicastLatency sums up the latency of the streams to groups by receiving port; nil
// when no frame of one was timed.
func (t *Trial) multicastLatency() []v1alpha1.PortLatency {
	ports := make([]portLatency, len(t.ports))
	for _, s := range t.streams {
		if !s.Headers.DstIP.IsMulticast() {
			continue
		}
		for _, port := range s.Rx {
			ports[port].add(t.at(s, port).Latency)
		}
	}
	var all []v1alpha1.PortLatency
	for i := range ports {
		if l := &ports[i]; l.count > 0 && len(all) < maxPortDelays {
			all = append(all, v1alpha1.PortLatency{Port: t.ports[i].Name, MinNs: int64(l.min), AvgNs: l.average(), MaxNs: int64(l.max)})
		}
	}
	return all
}

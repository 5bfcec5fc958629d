package trials

import "nodrop.dev/nodrop/api/v1alpha1"

// multicastLatency sums up the latency of the streams to groups by receiving port; nil
// when no frame of one was timed.
func (t *Trial) multicastLatency() []v1alpha1.PortLatency {
	ports := make([]Latency, len(t.Ports))
	for _, s := range t.Streams {
		if !s.Headers.DstIP.IsMulticast() {
			continue
		}
		for _, port := range s.Rx {
			ports[port].Add(t.At(s, port).Latency)
		}
	}
	var all []v1alpha1.PortLatency
	for i := range ports {
		if l := &ports[i]; l.Count > 0 && len(all) < MaxPortDelays {
			all = append(all, v1alpha1.PortLatency{Port: t.Ports[i].Name, MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs)})
		}
	}
	return all
}

// MaxPortDelays is the maximum number of ports that a row lists.
const MaxPortDelays = 256

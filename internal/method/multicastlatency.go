package method

import "nodrop.dev/nodrop/api/v1alpha1"

// multicastLatency sums up the latency of the streams to groups by receiving port; nil
// when no frame of one was timed.
func (t *Trial) multicastLatency() []v1alpha1.PortLatency {
	ports := make([]Latency, len(t.ports))
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
		if l := &ports[i]; l.Count > 0 && len(all) < maxPortDelays {
			all = append(all, v1alpha1.PortLatency{Port: t.ports[i].Name, MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs)})
		}
	}
	return all
}

// maxPortDelays is the maximum number of ports that a row lists.
const maxPortDelays = 256

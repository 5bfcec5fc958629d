package trials

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
)

// summed contains the totals of some streams.
type summed struct {
	v1alpha1.ClassSummary
	latency latencySum
}

// sums adds up the trial by what of says of every stream, and names those in the order of
// the streams.
func (t *Trial) sums(of func(plan.Stream) string) (order []string, by map[string]*summed) {
	by = map[string]*summed{}
	for _, s := range t.Streams {
		name := of(s)
		sum := by[name]
		if sum == nil {
			sum = &summed{latency: newLatencySum()}
			by[name], order = sum, append(order, name)
		}
		sent := t.Measurement.Tx[s.ID].Sent
		sum.Sent += int64(sent)
		for _, port := range s.Rx {
			arrived := t.Arrived(s, port)
			sum.Received += int64(arrived)
			sum.Lost += int64(sent - min(sent, arrived))
			sum.latency.add(t.At(s, port).Latency)
		}
	}
	for _, sum := range by {
		sum.OfferedFramesPerSecond, sum.ReceivedFramesPerSecond = t.PerSecond(sum.Sent), t.PerSecond(sum.Received)
	}
	return order, by
}

// byFlow sums up a trial by the flows of the profile; nil without flows.
func (t *Trial) byFlow() []v1alpha1.FlowSummary {
	if len(t.Streams) == 0 || t.Streams[0].Flow == "" {
		return nil
	}
	var flows []v1alpha1.FlowSummary
	order, by := t.sums(func(s plan.Stream) string { return s.Flow })
	for _, name := range order {
		f := v1alpha1.FlowSummary{Name: name, ClassSummary: by[name].ClassSummary}
		if l := by[name].latency.sum(); l.Count > 0 {
			f.Latency = &v1alpha1.FlowLatency{
				MinNs: int64(l.MinNs), AvgNs: l.Average(), MaxNs: int64(l.MaxNs),
				P50Ns: l.Percentile(500), P90Ns: l.Percentile(900), P99Ns: l.Percentile(990), P999Ns: l.Percentile(999),
			}
		}
		flows = append(flows, f)
	}
	return flows
}

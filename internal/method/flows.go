package method

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// summed is what was sent and received of some streams.
type summed struct {
	v1alpha1.ClassSummary
	latency portLatency
}

// sums adds up the trial by what of says of every stream, and names those in the order of
// the streams.
func (t *Trial) sums(of func(plan.Stream) string) (order []string, by map[string]*summed) {
	by = map[string]*summed{}
	for _, s := range t.streams {
		name := of(s)
		sum := by[name]
		if sum == nil {
			sum = &summed{}
			by[name], order = sum, append(order, name)
		}
		sent := t.measurement.Tx[s.ID].Sent
		sum.Sent += int64(sent)
		for _, port := range s.Rx {
			rx := t.at(s, port)
			sum.Received += int64(rx.Received)
			sum.Lost += int64(sent - min(sent, rx.Received))
			sum.latency.add(rx.Latency)
		}
	}
	for _, sum := range by {
		sum.OfferedFramesPerSecond, sum.ReceivedFramesPerSecond = t.perSecond(sum.Sent), t.perSecond(sum.Received)
	}
	return order, by
}

// byFlow sums up a trial by the flows of the profile; nil without flows.
func (t *Trial) byFlow() []v1alpha1.FlowSummary {
	if len(t.streams) == 0 || t.streams[0].Flow == "" {
		return nil
	}
	var flows []v1alpha1.FlowSummary
	order, by := t.sums(func(s plan.Stream) string { return s.Flow })
	for _, name := range order {
		f := v1alpha1.FlowSummary{Name: name, ClassSummary: by[name].ClassSummary}
		if l := &by[name].latency; l.count > 0 {
			f.Latency = &v1alpha1.FlowLatency{MinNs: int64(l.min), AvgNs: l.average(), MaxNs: int64(l.max)}
		}
		flows = append(flows, f)
	}
	return flows
}

// add adds the latency of a stream at a port.
func (l *portLatency) add(one traffic.Latency) {
	if one.Count == 0 {
		return
	}
	if l.count == 0 || one.MinNs < l.min {
		l.min = one.MinNs
	}
	l.max = max(l.max, one.MaxNs)
	l.count += one.Count
	l.sum.Add(&l.sum, new(big.Int).SetUint64(one.SumNs))
}

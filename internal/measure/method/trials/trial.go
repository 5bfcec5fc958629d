package trials

import (
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Trial is one trial summed over all streams.
type Trial struct {
	// Size of the frames.
	Size plan.Size
	Sending
	Counts
	// ForwardingRate in frames/s, at all receivers together (RFC 2285 section 3.6.1). If the
	// engine knows when frames arrive, frames that leave a buffer of the device after the end
	// of sending do not raise it.
	ForwardingRate int64
	// Saturated is the share of the frames that arrived shortly before Ended, in parts
	// per million; 0 when it is not known.
	Saturated int64
	// Silent are the ports that should have received and received nothing.
	Silent []string
	Notes  Notes
	// Stamps contain the times of the events of the trial, in the order of the actions.
	Stamps []Stamp
	// Counters of the streams at each port.
	Counters Counters
	faults   faults
}

// NewTrial sums up what the streams counted. Every stream is balanced for
// itself, so that a surplus of one never hides the loss of another.
func NewTrial(p plan.Plan, size plan.Size, ppm int64, d time.Duration, m traffic.Measurement) *Trial {
	streams := p.At(size).Streams()
	t := &Trial{
		Size: size, Notes: m.Notes,
		Sending: Sending{LoadPPM: ppm, Duration: d, TxTime: m.TxTime, tolerance: LateTolerance(d), exact: LateTolerance(d)},
		faults:  faults{lostAt: map[string]uint64{}, pacing: m.Pacing},
	}
	t.Counters = Counters{Measurement: m, Streams: streams, Ports: p.Ports, took: t.took()}
	t.CardUnsent = t.Counters.takeBackUnsent()
	m = t.Counters.Measurement
	heard, expected, all := make([]bool, len(p.Ports)), make([]bool, len(p.Ports)), make(forwarded, len(p.Ports))
	for _, s := range streams {
		tx := m.Tx[s.ID]
		t.Intended += tx.Intended
		t.Sent += tx.Sent
		for _, port := range s.Rx {
			rx, arrived := t.Counters.At(s, port), t.Counters.Arrived(s, port)
			if lost := t.count(rx, tx.Sent, arrived); lost > 0 {
				t.faults.lostAt[p.Ports[port].Name] += lost
			}
			all.add(port, rx, arrived)
			heard[port], expected[port] = heard[port] || rx.Received > 0, true
		}
	}
	t.ForwardingRate = all.rate(t.took())
	for _, s := range p.Streams {
		for _, port := range s.Watch {
			rx := t.Counters.At(s, port)
			t.Flooded += rx.Received + rx.Duplicate
		}
	}
	for _, d := range m.Damaged {
		t.Damaged.Add(d)
	}
	for _, n := range m.Stale {
		t.Stale += n
	}
	for i, port := range p.Ports {
		if expected[i] && !heard[i] {
			t.Silent = append(t.Silent, port.Name)
		}
	}
	return t
}

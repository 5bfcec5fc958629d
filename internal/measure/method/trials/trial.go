package trials

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
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
	// LowForwardingRate is the lowest value that the counters allow for it, in frames/s: the
	// device may have sent frames from its buffer faster after the end of sending than before.
	LowForwardingRate int64
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
	// Record is the trial in compact form, in the log of the row.
	Record *v1alpha1.TrialRecord
	faults faults
	// described reports whether the record contains what rows print of a trial that decides.
	described bool
}

// NewTrial sums up what the streams counted. Every stream is balanced for
// itself, so that a surplus of one never hides the loss of another.
func NewTrial(p plan.Plan, size plan.Size, ppm int64, d time.Duration, m traffic.Measurement) *Trial {
	streams := p.At(size).Streams()
	t := &Trial{
		Size: size, Notes: m.Notes,
		Sending: Sending{LoadPPM: ppm, Duration: d, TxTime: m.TxTime, tolerance: LateTolerance(d), exact: LateTolerance(d)},
		faults:  faults{lostAt: map[string]uint64{}, pacing: m.Pacing, dropped: m.Dropped, damaged: m.WireErrors},
	}
	t.Counters = Counters{Measurement: m, Streams: streams, Ports: p.Ports, took: t.took()}
	t.CardUnsent = t.Counters.takeBackUnsent()
	m = t.Counters.Measurement
	heard, expected, all := make([]bool, len(p.Ports)), make([]bool, len(p.Ports)), make(forwarded, len(p.Ports))
	for _, s := range streams {
		tx := m.Tx[s.ID]
		t.Intended += tx.Intended
		t.Sent += tx.Sent
		t.Markable = t.Markable || s.Headers.ECNCapable()
		t.RoCE = t.RoCE || s.Headers.RoCE.Given()
		t.Answered = t.Answered || s.Headers.RoCE.CNP.Answers
		for _, port := range s.Rx {
			rx, arrived := t.Counters.At(s, port), t.Counters.Arrived(s, port)
			if lost := t.count(rx, tx.Sent, arrived); lost > 0 {
				for _, at := range append([]int{port}, s.Further...) {
					t.faults.lostAt[p.Ports[at].Name] += lost // any of these ports may have had the frames
				}
			}
			all.add(port, rx, arrived)
			heard[port], expected[port] = heard[port] || rx.Received > 0, true
		}
	}
	t.faults.receivers = float64(t.Expected) / float64(max(1, t.Sent))
	t.ForwardingRate, t.LowForwardingRate = all.rate(t.took(), func(port int) *big.Rat {
		return frame.Rate(p.Ports[port].BitsPerSecond, slices.Min(size.All()), v1alpha1.PPM)
	})
	for _, s := range p.Streams {
		for _, port := range s.Watch {
			rx := t.Counters.At(s, port)
			t.Flooded += rx.Received + rx.Duplicate
		}
	}
	for _, d := range m.Damaged {
		t.Damaged.Add(d)
	}
	for _, n := range m.Notifications {
		t.Notifications += n
	}
	for _, c := range m.Pauses {
		t.Pauses.Add(c)
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

// record returns the trial in compact form.
func (t *Trial) record() v1alpha1.TrialRecord {
	r := v1alpha1.TrialRecord{
		LoadPPM: t.LoadPPM, DurationNs: int64(t.Duration), SendingNs: int64(t.TxTime), Latency: t.Counters.latencyRecord(),
	}
	t.recount(&r)
	return r
}

// recount sets the counts of a record, and the verdict by them.
func (t *Trial) recount(r *v1alpha1.TrialRecord) {
	r.EndedNs, r.Intended, r.Sent, r.ForwardingRate = int64(t.Ended), int64(t.Intended), int64(t.Sent), t.ForwardingRate
	r.Expected, r.Received, r.Lost, r.Excess, r.Unreachable = int64(t.Expected), int64(t.Received), int64(t.Lost), int64(t.Excess), int64(t.Explained)
	r.Duplicate, r.Reordered, r.OutOfSequence, r.Late = int64(t.Duplicate), int64(t.Reordered), int64(t.OutOfSequence), int64(t.Late)
	r.Congested = int64(t.Congested)
	r.Truncated, r.Corrupted, r.Fragmented = int64(t.Damaged.Truncated), int64(t.Damaged.Corrupted), int64(t.Damaged.Fragmented)
	r.Stale, r.Flooded, r.Elsewhere = int64(t.Stale), int64(t.Flooded), int64(t.Elsewhere)
	if r.Verdict != v1alpha1.TrialVoid {
		r.Verdict, r.Reasons = v1alpha1.TrialFailed, t.reasons()
		if t.Passed() {
			r.Verdict = v1alpha1.TrialPassed
		}
	}
}

// Recount sets the counts of the trial in the log of the row anew, after a method changed them.
func (t *Trial) Recount() {
	if t.Record != nil {
		t.recount(t.Record)
	}
}

// Void marks the trial in the log of the row as one that is no result of the device.
func (t *Trial) Void() {
	if t.Record != nil {
		t.Record.Verdict = v1alpha1.TrialVoid
	}
}

// describe adds to the record what a row prints of the trial that decides it.
func (t *Trial) describe() {
	t.Recount()
	if t.described {
		return
	}
	r := t.Record
	r.Latency = t.Counters.Latency().Compact()
	r.Reordering = reorderingRecord(t.Order)
	r.Parts, r.Figures = append(r.Parts, t.Counters.parts()...), append(r.Figures, t.Counters.groupFigures()...)
	if n := t.DoubtfulLost(); n > 0 {
		t.Figure("doubtfulLost", int64(n))
	}
	t.addPauses()
	if t.Answered {
		t.Figure("cnpsSent", int64(t.Notified))
		t.Figure("cnpsReceived", int64(t.Notifications))
	}
	t.described = true
}

// addPauses adds the received frames of flow control to the record of the trial.
func (t *Trial) addPauses() {
	if n := t.Pauses.Frames; n > 0 {
		t.Figure("pauseFrames", int64(n))
	}
	for priority, n := range t.Pauses.ByPriority {
		if n > 0 {
			t.Figure(fmt.Sprintf("pfcFrames%d", priority), int64(n))
		}
	}
}

// reasons are the reasons for the verdict on the trial that may not be the device.
func (t *Trial) reasons() (all []v1alpha1.TrialReason) {
	for _, one := range []struct {
		reason v1alpha1.TrialReason
		holds  bool
	}{
		{v1alpha1.TrialShortOfLoad, t.Unsent()},
		{v1alpha1.TrialHeldBack, t.Notes.HeldBack()},
		{v1alpha1.TrialTesterLost, t.TesterLost()},
		{v1alpha1.TrialStalled, t.Stalled()},
		{v1alpha1.TrialLink, t.Notes.has(traffic.NoteCounter) || len(t.WireErrors()) > 0},
		{v1alpha1.TrialSessionDown, t.Notes.has(traffic.NoteSession)},
		{v1alpha1.TrialRouterDown, t.Notes.has(traffic.NoteRouter)},
		{v1alpha1.TrialContended, t.Notes.Contended()},
		{v1alpha1.TrialEndedEarly, t.Ended > 0},
		{v1alpha1.TrialEndedLate, t.EndedLate()},
	} {
		if one.holds {
			all = append(all, one.reason)
		}
	}
	return all
}

// Note changes the record of the trial in the log of the row.
func (t *Trial) Note(change func(*v1alpha1.TrialRecord)) {
	if t.Record != nil {
		change(t.Record)
	}
}

// Figure adds a value of a figure to the record of the trial.
func (t *Trial) Figure(name string, value int64) {
	t.Note(func(r *v1alpha1.TrialRecord) { record.AddFigure(r, name, value) })
}

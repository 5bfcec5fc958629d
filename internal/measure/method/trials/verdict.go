package trials

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// justShort reports whether the tester was the limit, though it sent nearly what was
// intended, four fifths of it: a busy moment of the tester can have been the
// reason. One that is further from the load is too slow for it.
func (t *Trial) justShort() bool {
	return t.GeneratorBound() && t.Sent > 0 && t.Sent/4 >= t.Intended/5
}

// void returns the reason why a trial is no result of the device, and is run once more: the
// tester only just fell short or may have lost the frames, one of its links was disturbed,
// or others used its processors while frames were lost. It is empty otherwise.
func (t *Trial) void() (why string) {
	switch {
	case t.Notes.has(traffic.NoteRouter):
		return "the router of the device ended"
	case t.Notes.unrouted():
		return "a BGP session went down"
	case t.Disturbed():
		return "a link of the tester was disturbed"
	case t.justShort():
		return "the tester only just fell short of the load, or lost frames itself"
	case t.Notes.Contended() && !t.Passed():
		return "others used the tester's processors while frames were lost"
	}
	return ""
}

// Disturbed reports whether a link, a BGP session or a router went down, a counter ran
// backwards or lost frames arrived damaged at the tester's cards during the trial: the loss
// says nothing about the device.
func (t *Trial) Disturbed() bool {
	return t.Notes.has(traffic.NoteCounter) || len(t.WireErrors()) > 0 || t.Notes.unrouted()
}

// Doubtful reports whether the trial did not pass for a reason that may not be the device.
func (t *Trial) Doubtful() bool { return t.GeneratorBound() || t.Disturbed() || t.Notes.Contended() }

// Doubt explains, for a person, why frames of the trial can be missing although the device forwarded
// them; empty if nothing suggests it.
func (t *Trial) Doubt() string {
	switch {
	case t.Disturbed():
		return "a link of the tester was disturbed, or frames arrived damaged at its cards"
	case t.TesterLost():
		return "the tester lost frames itself"
	case t.Unsent():
		return "the tester did not send all frames in time"
	case t.Notes.Contended():
		return "others used the tester's processors"
	}
	return ""
}

// Untimed reports whether the times of the frames are wrong or late: a clock was set, a link or a
// session was disturbed, or others used the tester's processors.
func (t *Trial) Untimed() bool {
	return t.Disturbed() || t.Notes.has(traffic.NoteClock) || t.Notes.Contended()
}

// TesterLost reports whether the tester itself dropped frames that came back, or that
// its counters contradict each other.
func (t *Trial) TesterLost() bool {
	return t.Excess > 0 || t.Notes.has(traffic.NoteReceiver) || len(t.Dropped()) > 0
}

// Stalled reports whether the tester fell behind its schedule, and that frames were lost
// that may be due to the bursts by which it caught up.
func (t *Trial) Stalled() bool { return t.faults.stalled(t.Counts) }

// WireErrors returns the frames that arrived damaged at the tester's cards, by port, where
// they can be the lost ones and matter.
func (t *Trial) WireErrors() map[string]uint64 {
	return t.faults.explaining(t.Counts, t.faults.damaged)
}

// Dropped returns the frames that the tester's own ports dropped, by port, where they can
// be the lost ones and matter: without them a search finds another verdict, or the loss is
// another figure. Frames that a port drops although no frame is lost there do not count,
// such as a frame of LLDP.
func (t *Trial) Dropped() map[string]uint64 {
	return t.faults.explaining(t.Counts, t.faults.dropped)
}

// DoubtfulLost returns how many of the lost frames the tester may have lost or caused: it dropped
// them, they arrived damaged at its cards, or it sent bursts.
func (t *Trial) DoubtfulLost() uint64 {
	return t.faults.doubtful(t.Counts)
}

// LostByTester returns how many of the lost frames the tester may have lost itself: it dropped them,
// or they arrived damaged at its cards.
func (t *Trial) LostByTester() uint64 { return t.faults.own(t.Counts) }

// DoubtfulText explains the part of the tester in the loss for a person; empty if it has none.
func (t *Trial) DoubtfulText() string {
	if n := t.DoubtfulLost(); n > 0 {
		return fmt.Sprintf("the tester may have lost or caused up to %s of the %s lost frames", traffic.Grouped(n), traffic.Grouped(t.Lost))
	}
	return ""
}

// MayHaveReordered reports whether frames came reordered by several queues or processors of the
// tester, which may have changed their order.
func (t *Trial) MayHaveReordered() bool {
	return t.Reordered > 0 && t.Notes.has(traffic.NoteOvertaken)
}

// Paused explains, for a person, that a port of the tester was late by more than a time that was
// measured allows: by more than a hundredth of it, and than a resolution. It is empty otherwise.
func (t *Trial) Paused(measured, resolution time.Duration) string {
	lag, port := t.Lag()
	if lag <= resolution || lag <= measured/100 {
		return ""
	}
	return fmt.Sprintf("the tester paused for up to %s on %s, which may be a part of the measured time of %s", Readable(lag), port, Readable(measured))
}

// Hurried explains, for a person, that frames which a port of the tester sent in a row to make up for
// pauses may change an average latency by more than a hundredth. After a pause each of them waits longer or
// shorter by at most the pause. Where frames were lost, a pause empties a full queue or delays that it
// becomes full, so that they may not wait at all. It is empty otherwise, and if no port sent more than a
// harmless burst.
func (t *Trial) Hurried(average, longest time.Duration) string {
	caughtUp, took := t.faults.caughtUp(), t.took()
	if caughtUp == 0 || took <= 0 {
		return ""
	}
	lag, port := t.Lag()
	change := float64(lag) * float64(lag) / float64(took)
	if t.Lost > 0 {
		change = max(change, float64(longest)*float64(caughtUp)/float64(max(1, t.Expected)))
	}
	if change <= float64(average)/100 {
		return ""
	}
	return fmt.Sprintf("the tester paused for up to %s on %s and sent up to %s frames in a row to catch up, which may change the average latency of %s by %s",
		Readable(lag), port, traffic.Grouped(t.LongestCatchUp()), Readable(average), Readable(time.Duration(change)))
}

// LongestCatchUp returns the most frames that a port of the tester sent in a row, without the gaps of
// its schedule, to make up for a delay.
func (t *Trial) LongestCatchUp() (most uint64) {
	for _, p := range t.faults.pacing {
		most = max(most, p.MaxBurst)
	}
	return most
}

// Lag returns the longest time by which a port of the tester was late, and the port.
func (t *Trial) Lag() (longest time.Duration, late string) {
	for _, port := range slices.Sorted(maps.Keys(t.faults.pacing)) {
		if lag := t.faults.pacing[port].MaxLag; lag > longest {
			longest, late = lag, port
		}
	}
	return longest, late
}

// TesterLimited reports whether the tester may be the limit of the trial: it fell short
// without the device's doing, or may have lost frames itself.
func (t *Trial) TesterLimited() bool {
	return t.Unsent() && !t.Notes.HeldBack() || t.TesterLost() || t.Stalled()
}

// Passed reports whether the whole intended load was offered and no frame was lost for which
// the device had a route.
func (t *Trial) Passed() bool { return !t.Unsent() && t.Lost <= t.Explained && t.Excess == 0 }

// GeneratorBound reports whether the tester may be what kept the trial from passing, or
// that it sent less than intended though all that it sent came back, or so much of it that a
// search allows the loss. A device that holds the tester back is itself the limit.
func (t *Trial) GeneratorBound() bool {
	return t.TesterLost() || t.Stalled() || t.Unsent() && !t.Notes.HeldBack() && t.faults.allows(t.Counts)
}

// Stalls explain, for a person, how far ports fell behind; nil when that does not
// matter.
func (t *Trial) Stalls() []string {
	if !t.Stalled() {
		return nil
	}
	lost := fmt.Sprintf("the %s lost frames can be due to that", traffic.Grouped(t.Lost))
	switch n := t.faults.caughtUp(); {
	case t.Notes.has(traffic.NoteDeviceDropped):
		lost = "a device can drop frames of such a burst that it forwards at a constant load"
	case n < t.Lost:
		lost = fmt.Sprintf("%s of the %s lost frames can be due to that", traffic.Grouped(n), traffic.Grouped(t.Lost))
	}
	var texts []string
	for _, port := range slices.Sorted(maps.Keys(t.faults.pacing)) {
		if p := t.faults.pacing[port]; p.MaxBurst > HarmlessBurst {
			texts = append(texts, fmt.Sprintf("the tester fell up to %s behind its schedule on %s and sent up to %s frames in a row to catch up: %s",
				Readable(p.MaxLag), port, traffic.Grouped(p.MaxBurst), lost))
		}
	}
	return texts
}

// ShortSending explains, for a person, how the tester fell short of the load.
func (t *Trial) ShortSending() string {
	if t.Intended == 0 {
		return fmt.Sprintf("%s is less than one frame per port in %s: raise the load or the duration of the trial", Percent(t.LoadPPM), Readable(t.Duration))
	}
	port, behind := "", uint64(0)
	for _, s := range t.Counters.Streams {
		tx := t.Counters.Measurement.Tx[s.ID]
		if missing := tx.Intended - min(tx.Sent, tx.Intended); missing > behind {
			port, behind = t.Counters.Ports[s.Tx].Name, missing
		}
	}
	if port == "" {
		return fmt.Sprintf("the tester took %s to send the %s frames of %s at %s", Readable(t.TxTime), traffic.Grouped(t.Intended), Readable(t.Duration), Percent(t.LoadPPM))
	}
	return fmt.Sprintf("the tester sent %s of the %s frames that %s asks for in %s, and fell behind most on %s", traffic.Grouped(t.Sent), traffic.Grouped(t.Intended), Percent(t.LoadPPM), Readable(t.Duration), port)
}

// TestersLimit is the trial when the tester was its limit: it fell short without the
// device's doing, or lost frames itself.
func TestersLimit(t *Trial) *Trial {
	if t.TesterLimited() {
		return t
	}
	return nil
}

// Notes are the notes of the engine on a trial.
type Notes []traffic.Note

// has reports whether the engine made such a note.
func (n Notes) has(kind traffic.NoteKind) bool {
	return slices.ContainsFunc(n, func(one traffic.Note) bool { return one.Kind == kind })
}

// HeldBack reports whether the device held ports of the tester back, which is why they
// sent less than intended (RFC 2285 section 3.7.1).
func (n Notes) HeldBack() bool { return n.has(traffic.NoteHeldBack) }

// Contended reports whether others used the processors of the tester during the trial.
func (n Notes) Contended() bool { return n.has(traffic.NoteForeignLoad) }

// unrouted reports whether a BGP session of the tester, or the routing software of the device, was
// down during the trial.
func (n Notes) unrouted() bool { return n.has(traffic.NoteSession) || n.has(traffic.NoteRouter) }

// HeldBackText describes by how much the device held the senders back; empty if it did not.
func (n Notes) HeldBackText() string {
	var texts []string
	for _, one := range n {
		if one.Kind == traffic.NoteHeldBack {
			texts = append(texts, one.Text)
		}
	}
	return strings.Join(texts, "; ")
}

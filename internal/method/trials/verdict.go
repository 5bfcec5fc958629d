package trials

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// droppedShare is the share of the lost frames, one in so many, that the tester's own port
// must have dropped for the loss to be attributed to the tester. It applies where the loss
// is the result of a trial. Fewer drops do not explain the loss.
const droppedShare = 10

// allowedBy are the loss ratios that the search of a step allows, in parts per million;
// none for a step that searches nothing.
func allowedBy(step plan.Step) []int64 {
	if step.Search.ResolutionPPM == 0 {
		return nil
	}
	allowed := []int64{step.LossRatioPPM}
	for _, g := range step.Goals {
		allowed = append(allowed, g.LossRatioPPM)
	}
	return allowed
}

// decides reports whether a search finds another verdict without n of the lost frames.
func (t *Trial) decides(n uint64) bool {
	return slices.ContainsFunc(t.Allowed, func(ratio int64) bool {
		return search.Exceeds(t.Lost, t.Expected, ratio) && !search.Exceeds(t.Lost-min(n, t.Lost), t.Expected, ratio)
	})
}

// LateTolerance returns by how much sending may exceed its intended duration in a trial that
// is not part of a search: 1 %, but 10 to 100 ms, within which a busy machine makes up for
// the last burst. Rows of such trials contain the offered load and the intended one.
func LateTolerance(d time.Duration) time.Duration {
	return min(max(d/100, 10*time.Millisecond), 100*time.Millisecond)
}

// SearchTolerance returns by how much sending may exceed d in a trial of a search. Up to
// exact, the offered load is within half the search's resolution of the intended one, and
// within 1 % of it. An engine that is late by itself may take longer, up to most: the row
// then contains the offered load.
func (l *Tester) SearchTolerance(step plan.Step, ppm int64, d time.Duration) (exact, most time.Duration) {
	resolution := step.Search.ResolutionPPM
	for _, g := range step.Goals {
		if g.WidthPPM > 0 {
			resolution = min(resolution, g.WidthPPM)
		}
	}
	// Half the resolution as a share of the load; no product exceeds 64 bits in trials
	// of a hundred hours.
	half := time.Duration(int64(d/time.Microsecond)*resolution/(2*ppm)) * time.Microsecond
	exact = min(half, d/100)
	return exact, max(exact, l.Lateness)
}

// Unsent reports whether the tester offered less than intended: fewer frames, or the
// same in a longer time (RFC 2285 section 3.5). A trial in which nothing was to
// be sent is one too.
func (t *Trial) Unsent() bool {
	return t.Sent == 0 || t.Sent < t.Intended || t.TxTime > t.Duration+t.tolerance
}

// EndedLate reports whether all frames were sent, but the engine needed so much longer than
// asked for that the load was another one to the search: the offered load.
func (t *Trial) EndedLate() bool {
	return !t.Unsent() && t.TxTime > t.Duration+t.exact
}

// OfferedPPM is the load that was offered in parts per million of line rate, rounded
// down.
func (t *Trial) OfferedPPM() int64 {
	if t.Intended == 0 || t.Duration <= 0 {
		return 0
	}
	intended := new(big.Rat).SetFrac(new(big.Int).SetUint64(t.Intended), big.NewInt(int64(t.Duration)))
	share := new(big.Rat).Quo(t.OfferedRate(), intended.Mul(intended, big.NewRat(int64(time.Second), 1)))
	share.Mul(share, big.NewRat(t.LoadPPM, 1))
	return min(t.LoadPPM, new(big.Int).Quo(share.Num(), share.Denom()).Int64())
}

// justShort reports whether the tester was the limit, though it sent nearly what was
// intended, four fifths of it: a busy moment of the tester can have been the
// reason. One that is further from the load is too slow for it.
func (t *Trial) justShort() bool {
	return t.GeneratorBound() && t.Sent > 0 && t.Sent/4 >= t.Intended/5
}

// Void returns the reason why a trial is no result of the device, and is run once more: the
// tester only just fell short or may have lost the frames, one of its links was disturbed,
// or others used its processors while frames were lost. It is empty otherwise.
func (t *Trial) Void() (why string) {
	switch {
	case t.has(traffic.NoteRouter):
		return "the router of the device ended"
	case t.Unrouted():
		return "a BGP session went down"
	case t.Disturbed():
		return "a link of the tester was disturbed"
	case t.justShort():
		return "the tester only just fell short of the load, or lost frames itself"
	case t.Contended() && !t.Passed():
		return "others used the tester's processors while frames were lost"
	}
	return ""
}

// has reports whether the engine made such a note.
func (t *Trial) has(kind traffic.NoteKind) bool {
	return slices.ContainsFunc(t.Notes, func(n traffic.Note) bool { return n.Kind == kind })
}

// HeldBack reports whether the device held ports of the tester back, which is why they
// sent less than intended (RFC 2285 section 3.7.1).
func (t *Trial) HeldBack() bool { return t.has(traffic.NoteHeldBack) }

// Contended reports whether others used the processors of the tester during the trial.
func (t *Trial) Contended() bool { return t.has(traffic.NoteForeignLoad) }

// Disturbed reports whether a link, a BGP session or a router went down, a counter ran
// backwards or lost frames arrived damaged at the tester's cards during the trial: the loss
// says nothing about the device.
func (t *Trial) Disturbed() bool {
	return t.has(traffic.NoteCounter) || len(t.WireErrors()) > 0 || t.Unrouted()
}

// Unrouted reports whether a BGP session of the tester, or the routing software of the device, was
// down during the trial.
func (t *Trial) Unrouted() bool { return t.has(traffic.NoteSession) || t.has(traffic.NoteRouter) }

// Doubtful reports whether the trial did not pass for a reason that may not be the device.
func (t *Trial) Doubtful() bool { return t.GeneratorBound() || t.Disturbed() || t.Contended() }

// TesterLost reports whether the tester itself dropped frames that came back, or that
// its counters contradict each other.
func (t *Trial) TesterLost() bool {
	return t.Excess > 0 || t.has(traffic.NoteReceiver) || len(t.Dropped()) > 0
}

// HarmlessBurst is the number of frames in a row that a port may send to catch up without
// causing a loss: an input queue holds that many. Linux takes as many from a NIC at once,
// and the smallest rings hold several times more.
const HarmlessBurst = 64

// Stalled reports whether the tester fell behind its schedule, and that frames were lost
// that may be due to the bursts by which it caught up. Of a loss of more frames than
// it sent in such bursts the device lost some of a constant load: more than a search
// allows, or any at all. In a long trial only those bursts count that it sent when frames were
// lost.
func (t *Trial) Stalled() bool {
	caughtUp := t.caughtUp()
	if t.Allowed != nil {
		return t.decides(caughtUp)
	}
	return 0 < t.Lost && t.Lost <= caughtUp
}

// caughtUp returns the number of frames that the tester sent in bursts that can cause a
// loss, limited to the frames that were lost at that time.
func (t *Trial) caughtUp() (n uint64) {
	for _, p := range t.Measurement.Pacing {
		if p.MaxBurst > HarmlessBurst {
			n += p.CaughtUp
		}
	}
	if t.inStalls != nil {
		n = min(n, *t.inStalls)
	}
	return n
}

// TesterLimited reports whether the tester may be the limit of the trial: it fell short
// without the device's doing, or may have lost frames itself.
func (t *Trial) TesterLimited() bool {
	return t.Unsent() && !t.HeldBack() || t.TesterLost() || t.Stalled()
}

// Passed reports whether the whole intended load was offered and no frame was lost for which
// the device had a route.
func (t *Trial) Passed() bool { return !t.Unsent() && t.Lost <= t.Unreachable && t.Excess == 0 }

// GeneratorBound reports whether the tester may be what kept the trial from passing, or
// that it sent less than intended though all that it sent came back. A device that
// holds the tester back is itself the limit.
func (t *Trial) GeneratorBound() bool {
	return t.TesterLost() || t.Stalled() || t.Unsent() && t.Lost == 0 && !t.HeldBack()
}

// Stalls explain, for a person, how far ports fell behind; nil when that does not
// matter.
func (t *Trial) Stalls() []string {
	if !t.Stalled() {
		return nil
	}
	lost := fmt.Sprintf("the %s lost frames can be due to that", traffic.Grouped(t.Lost))
	switch n := t.caughtUp(); {
	case t.has(traffic.NoteDeviceDropped):
		lost = "a device can drop frames of such a burst that it forwards at a constant load"
	case n < t.Lost:
		lost = fmt.Sprintf("%s of the %s lost frames can be due to that", traffic.Grouped(n), traffic.Grouped(t.Lost))
	}
	var texts []string
	for _, port := range slices.Sorted(maps.Keys(t.Measurement.Pacing)) {
		if p := t.Measurement.Pacing[port]; p.MaxBurst > HarmlessBurst {
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
	for _, s := range t.Streams {
		tx := t.Measurement.Tx[s.ID]
		if missing := tx.Intended - min(tx.Sent, tx.Intended); missing > behind {
			port, behind = t.Ports[s.Tx].Name, missing
		}
	}
	if port == "" {
		return fmt.Sprintf("the tester took %s to send the %s frames of %s at %s", Readable(t.TxTime), traffic.Grouped(t.Intended), Readable(t.Duration), Percent(t.LoadPPM))
	}
	return fmt.Sprintf("the tester sent %s of the %s frames that %s asks for in %s, and fell behind most on %s", traffic.Grouped(t.Sent), traffic.Grouped(t.Intended), Percent(t.LoadPPM), Readable(t.Duration), port)
}

// HeldBackText describes by how much the device held the senders back; empty if it did not.
func (t *Trial) HeldBackText() string {
	var texts []string
	for _, n := range t.Notes {
		if n.Kind == traffic.NoteHeldBack {
			texts = append(texts, n.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// TestersLimit is the trial when the tester was its limit: it fell short without the
// device's doing, or lost frames itself.
func TestersLimit(t *Trial) *Trial {
	if t.TesterLimited() {
		return t
	}
	return nil
}

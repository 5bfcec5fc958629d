// Package fault describes a modeled tester that does not work as it should: it drops, delays or
// reorders frames, sends them late or not at all, and its clock is wrong. The engine sim asks it
// for the faults of each trial. What a real engine could know of a fault, the engine reports by
// counters and notes, and nothing else.
package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults, and what a real engine could know of each.
const (
	// Drop means that a port receives frames and drops them. Its counter of dropped frames
	// shows how many.
	Drop Kind = "drop"
	// Overflow means that a port drops received frames, and only a note reports it.
	Overflow Kind = "overflow"
	// Contention means that others use the processors of the tester: frames are dropped, and
	// those that arrive are timed late. A note reports the foreign load, and no counter the
	// frames.
	Contention Kind = "contention"
	// Wire means that frames are damaged on the cable to the tester. The card counts them.
	Wire Kind = "wire"
	// Link means that the link of a port is down for a while, which a note reports.
	Link Kind = "link"
	// CardUnsent means that frames which count as sent did not leave the card, which counts
	// them.
	CardUnsent Kind = "cardUnsent"
	// Short means that a port sends fewer frames than intended. Both numbers are known.
	Short Kind = "short"
	// Stall means that a port pauses, and then sends at line rate until it has caught up with
	// its schedule. The pacing reports the lag and the bursts.
	Stall Kind = "stall"
	// Reorder means that frames overtake each other in the tester, which knows that they came
	// by different queues.
	Reorder Kind = "reorder"
	// Late means that the tester takes longer to send the frames of a trial. The sending time
	// shows it.
	Late Kind = "late"
	// Slew means that the clock of the tester is wrong in rate, as one is that NTP corrects. Nothing
	// shows it.
	Slew Kind = "slew"
	// Step means that the clock is set during a trial, so that latencies are wrong. A note
	// reports it.
	Step Kind = "step"
)

// Fault is a fault of a tester.
type Fault struct {
	Kind Kind
	// Port that has the fault; empty for all.
	Port string
	// ChancePPM is the probability of the fault in each Period of a trial, in parts per million.
	ChancePPM int64
	// Period of a trial; 0 means the whole trial.
	Period time.Duration
	// Span is the duration of the fault: of a stall or a drop, or the error of a clock that is
	// set.
	Span time.Duration
	// SharePPM is the share of the frames in that time that the fault affects, in parts per
	// million. For Late and Slew it is the share by which sending takes longer.
	SharePPM int64
	// Foreign is the number of frames of others that count as dropped in each event.
	Foreign uint64
}

// String describes the fault in one line.
func (f Fault) String() string {
	return fmt.Sprintf("%s port=%q chance=%dppm period=%v span=%v share=%dppm foreign=%d", f.Kind, f.Port, f.ChancePPM, f.Period, f.Span, f.SharePPM, f.Foreign)
}

// Tester contains the faults of a modeled tester.
type Tester struct {
	Faults []Fault
	// Seed of the chances.
	Seed uint64
	// Untimed reports whether the tester does not tell during a trial how many frames were
	// late.
	Untimed bool
}

// Event is a fault in a trial.
type Event struct {
	Fault
	// From and To bound the event, from the beginning of the trial.
	From, To time.Duration
}

// Has reports whether the event affects a port.
func (e Event) Has(port string) bool { return e.Port == "" || e.Port == port }

// Until returns the end of the event, or at if that is earlier, but never before its beginning.
func (e Event) Until(at time.Duration) time.Duration { return max(e.From, min(e.To, at)) }

// maxEvents bounds the events of one fault in a trial.
const maxEvents = 10_000

// Trial returns the faults of a trial of a length, in the order of their beginning. The same
// number of a trial has the same faults.
func (t *Tester) Trial(number uint64, length time.Duration) []Event {
	if t == nil {
		return nil
	}
	var all []Event
	for i, f := range t.Faults {
		rng := rand.New(rand.NewPCG(t.Seed, number<<8|uint64(i)))
		period := f.Period
		if period <= 0 || f.Kind == Late || f.Kind == Slew || f.Kind == Short {
			period = length
		}
		if period <= 0 {
			continue
		}
		period = max(period, length/maxEvents)
		for from := time.Duration(0); from < length; from += period {
			happens, at := rng.Int64N(1_000_000) < f.ChancePPM, time.Duration(rng.Int64N(int64(period)))
			if !happens {
				continue
			}
			e := Event{Fault: f, From: from + at, To: from + at + f.Span}
			switch f.Kind {
			case Late, Slew, Short:
				e.From, e.To = 0, length
			default:
				e.From, e.To = min(e.From, max(0, length-f.Span)), min(e.To, length)
				if e.To <= e.From {
					e.To = e.From + min(f.Span, length)
				}
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return int(a.From - b.From) })
	return all
}

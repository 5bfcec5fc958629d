package trials

import (
	"context"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// backLook is the interval between two checks of whether all frames are back.
const backLook = 50 * time.Millisecond

// LossWatch ends a trial once more of its frames are lost for certain than any goal
// of the search allows. It decides nothing: the verdict comes from the counters that
// are read after settling, and a trial that was ended without having lost that much
// is run again in full.
type LossWatch struct {
	reporter traffic.ProgressReporter
	// Allowed is the number of frames that may be lost.
	Allowed uint64
	// Ended is the time after its beginning at which the current trial was ended; 0 if it
	// was not.
	Ended time.Duration
	// saturated is the share of what was sent last that arrived before the trial was
	// ended, in parts per million; 0 when it is not known.
	saturated int64
}

// WatchLoss makes a watch for a trial of a search, nil when the engine does not
// report, or when a load may lose frames in some of its trials (an exceed ratio): how
// much each of them loses is part of the result then.
func (l *Tester) WatchLoss(step plan.Step, ppm int64, d time.Duration) *LossWatch {
	if l.reporter == nil {
		return nil
	}
	highest := int64(0)
	for _, g := range step.Goals {
		if g.ExceedRatioPPM > 0 {
			return nil
		}
		highest = max(highest, g.LossRatioPPM)
	}
	return &LossWatch{reporter: l.reporter, Allowed: l.allowedLoss(step.Size, ppm, highest, d)}
}

// allowedLoss returns the number of frames that all receivers together may lose in a trial
// of d at a loss ratio.
func (l *Tester) allowedLoss(size plan.Size, ppm, ratioPPM int64, d time.Duration) uint64 {
	frames := l.Plan.At(size).FramesPerSecond(plan.Share(ppm)) // at all receivers
	frames.Mul(frames, big.NewRat(int64(d), int64(time.Second)))
	frames.Mul(frames, big.NewRat(ratioPPM, v1alpha1.PPM))
	return new(big.Int).Quo(frames.Num(), frames.Denom()).Uint64()
}

// Action looks at the trial while it runs.
func (w *LossWatch) Action(l *Tester, d time.Duration) Action {
	a := Prepared(func(context.Context, bool) error {
		w.Ended, w.saturated = 0, 0
		return nil
	})
	a.alongside = func(ctx context.Context, stop func()) { w.look(ctx, l, d, stop) }
	a.finish = func(t *Trial) { t.Ended, t.Saturated = w.Ended, w.saturated }
	a.settled = func(ctx context.Context) error { return w.settled(ctx, l) }
	return a
}

// look queries the progress of a trial of d repeatedly, and stops the trial once its loss is
// certain. If the progress is unknown, the trial runs to its end: its loss shows there, too.
func (w *LossWatch) look(ctx context.Context, l *Tester, d time.Duration, stop func()) {
	var seen looks
	start := l.Generator.Clock().Now()
	ask := func(at time.Duration) bool {
		clock := l.Generator.Clock()
		if clock.Sleep(ctx, start.Add(at).Sub(clock.Now())) != nil {
			return false
		}
		p, err := w.reporter.Progress(ctx, search.Overtaken)
		seen = append(seen, look{clock.Now().Sub(start), p})
		return err == nil
	}
	for at := search.NextLook(0); at < d; at = search.NextLook(at) {
		if !ask(at) {
			return
		}
		if seen.lost(l.Plan.Settle) <= w.Allowed {
			continue
		}
		if seen.interval() > search.Saturation && at+search.Saturation < d && !ask(at+search.Saturation) {
			return
		}
		if last := seen[len(seen)-1].at; last < d {
			w.Ended, w.saturated = last, seen.saturated()
			stop()
		}
		return
	}
}

// look is the progress of a trial at a time after its beginning.
type look struct {
	at time.Duration
	traffic.Progress
}

// looks at one trial, in their order.
type looks []look

// lost returns the number of frames that are certainly lost: those that the engine reports,
// and those that were sent so long ago that they should be back, whatever came since.
func (s looks) lost(settle time.Duration) uint64 {
	last := s[len(s)-1]
	lost := last.Lost
	for _, before := range s {
		if last.at-before.at >= settle && before.Expected > last.Received {
			lost = max(lost, before.Expected-last.Received)
		}
	}
	return lost
}

// interval is the time between the last two looks.
func (s looks) interval() time.Duration {
	last, before := s.lastTwo()
	return last.at - before.at
}

// saturated is the share of the frames between the last two looks that arrived, in
// parts per million; 0 when none was sent.
func (s looks) saturated() int64 {
	last, before := s.lastTwo()
	sent, received := last.Expected-before.Expected, last.Received-before.Received
	if sent == 0 {
		return 0
	}
	share := new(big.Int).SetUint64(min(received, sent))
	return share.Mul(share, big.NewInt(v1alpha1.PPM)).Quo(share, new(big.Int).SetUint64(sent)).Int64()
}

// lastTwo are the last look and the one before it, which is the beginning when there
// was none.
func (s looks) lastTwo() (last, before look) {
	last = s[len(s)-1]
	if len(s) > 1 {
		before = s[len(s)-2]
	}
	return last, before
}

// settled waits until all frames are back, or for as long as frames may take.
func (w *LossWatch) settled(ctx context.Context, l *Tester) error {
	clock := l.Generator.Clock()
	for waited := time.Duration(0); waited < l.Plan.Settle; {
		pause := min(backLook, l.Plan.Settle-waited)
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
		waited += pause
		p, err := w.reporter.Progress(ctx, search.Overtaken)
		if err != nil {
			return clock.Sleep(ctx, l.Plan.Settle-waited)
		}
		if p.Back() {
			return nil
		}
	}
	return nil
}

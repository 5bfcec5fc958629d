package trials

import (
	"context"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// backLook is the interval between two checks of whether all frames are back.
const backLook = 50 * time.Millisecond

// LossWatch ends a trial once more of its frames are lost for certain than any goal
// of the search allows. It decides nothing: the verdict comes from the counters that
// are read after settling, and a trial that was ended without having lost that much
// is run again in full.
type LossWatch struct {
	generator *Generator
	// settle is the time that frames of a trial may take to come back.
	settle time.Duration
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
func (t *Tester) WatchLoss(step plan.Step, ppm int64, d time.Duration) *LossWatch {
	if t.Generator.reporter == nil {
		return nil
	}
	highest := int64(0)
	for _, g := range step.Goals {
		if g.ExceedRatioPPM > 0 {
			return nil
		}
		highest = max(highest, g.LossRatioPPM)
	}
	return &LossWatch{generator: t.Generator, settle: t.Plan.Settle, Allowed: allowedLoss(t.Plan, step.Size, ppm, highest, d)}
}

// allowedLoss returns the number of frames that all receivers together may lose in a trial
// of d at a loss ratio.
func allowedLoss(p plan.Plan, size plan.Size, ppm, ratioPPM int64, d time.Duration) uint64 {
	frames := p.At(size).FramesPerSecond(plan.Share(ppm)) // at all receivers
	frames.Mul(frames, big.NewRat(int64(d), int64(time.Second)))
	frames.Mul(frames, big.NewRat(ratioPPM, v1alpha1.PPM))
	return new(big.Int).Quo(frames.Num(), frames.Denom()).Uint64()
}

// Action looks at the trial while it runs.
func (w *LossWatch) Action(d time.Duration) Action {
	a := Prepared(func(context.Context, bool) error {
		w.Ended, w.saturated = 0, 0
		return nil
	})
	a.alongside = func(ctx context.Context, stop func()) { w.look(ctx, d, stop) }
	a.finish = func(t *Trial) { t.Ended, t.Saturated = w.Ended, w.saturated }
	a.settled = func(ctx context.Context) error { return w.settled(ctx) }
	return a
}

// look queries the progress of a trial of d repeatedly, and stops the trial once its loss is
// certain. If the progress is unknown, the trial runs to its end: its loss shows there, too.
func (w *LossWatch) look(ctx context.Context, d time.Duration, stop func()) {
	var seen looks
	start := w.generator.Clock().Now()
	ask := func(at time.Duration) bool {
		clock := w.generator.Clock()
		if clock.Sleep(ctx, start.Add(at).Sub(clock.Now())) != nil {
			return false
		}
		p, err := w.generator.reporter.Progress(ctx, search.Overtaken)
		seen = append(seen, look{clock.Now().Sub(start), p})
		return err == nil
	}
	for at := search.NextLook(0); at < d; at = search.NextLook(at) {
		if !ask(at) {
			return
		}
		if seen.lost(w.settle) <= w.Allowed {
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
func (w *LossWatch) settled(ctx context.Context) error {
	clock := w.generator.Clock()
	for waited := time.Duration(0); waited < w.settle; {
		pause := min(backLook, w.settle-waited)
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
		waited += pause
		p, err := w.generator.reporter.Progress(ctx, search.Overtaken)
		if err != nil {
			return clock.Sleep(ctx, w.settle-waited)
		}
		if p.Back() {
			return nil
		}
	}
	return nil
}

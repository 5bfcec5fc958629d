package method

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

// lossWatch ends a trial once more of its frames are lost for certain than any goal
// of the search allows. It decides nothing: the verdict comes from the counters that
// are read after settling, and a trial that was ended without having lost that much
// is run again in full.
type lossWatch struct {
	reporter traffic.ProgressReporter
	// allowed is the number of frames that may be lost.
	allowed uint64
	// ended is the time after its beginning at which the current trial was ended; 0 if it
	// was not.
	ended time.Duration
	// saturated is the share of what was sent last that arrived before the trial was
	// ended, in parts per million; 0 when it is not known.
	saturated int64
}

// watchLoss makes a watch for a trial of a search, nil when the engine does not
// report, or when a load may lose frames in some of its trials (an exceed ratio): how
// much each of them loses is part of the result then.
func (l *Lab) watchLoss(step plan.Step, ppm int64, d time.Duration) *lossWatch {
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
	return &lossWatch{reporter: l.reporter, allowed: l.allowedLoss(step.Size, ppm, highest, d)}
}

// allowedLoss returns the number of frames that all receivers together may lose in a trial
// of d at a loss ratio.
func (l *Lab) allowedLoss(size plan.Size, ppm, ratioPPM int64, d time.Duration) uint64 {
	frames := l.plan.FramesPerSecond(size, plan.Share(ppm)) // at all receivers
	frames.Mul(frames, big.NewRat(int64(d), int64(time.Second)))
	frames.Mul(frames, big.NewRat(ratioPPM, v1alpha1.PPM))
	return new(big.Int).Quo(frames.Num(), frames.Denom()).Uint64()
}

// action looks at the trial while it runs.
func (w *lossWatch) action(l *Lab, d time.Duration) action {
	a := prepared(func(context.Context, bool) error {
		w.ended, w.saturated = 0, 0
		return nil
	})
	a.alongside = func(ctx context.Context, stop func()) { w.look(ctx, l, d, stop) }
	a.finish = func(t *Trial) { t.Ended, t.saturated = w.ended, w.saturated }
	a.settled = func(ctx context.Context) error { return w.settled(ctx, l) }
	return a
}

// look queries the progress of a trial of d repeatedly, and stops the trial once its loss is
// certain. If the progress is unknown, the trial runs to its end: its loss shows there, too.
func (w *lossWatch) look(ctx context.Context, l *Lab, d time.Duration, stop func()) {
	var seen looks
	start := l.gen.Clock().Now()
	ask := func(at time.Duration) bool {
		clock := l.gen.Clock()
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
		if seen.lost(l.plan.Settle) <= w.allowed {
			continue
		}
		if seen.interval() > search.Saturation && at+search.Saturation < d && !ask(at+search.Saturation) {
			return
		}
		if last := seen[len(seen)-1].at; last < d {
			w.ended, w.saturated = last, seen.saturated()
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
func (w *lossWatch) settled(ctx context.Context, l *Lab) error {
	clock := l.gen.Clock()
	for waited := time.Duration(0); waited < l.plan.Settle; {
		pause := min(backLook, l.plan.Settle-waited)
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
		waited += pause
		p, err := w.reporter.Progress(ctx, search.Overtaken)
		if err != nil {
			return clock.Sleep(ctx, l.plan.Settle-waited)
		}
		if p.Back() {
			return nil
		}
	}
	return nil
}

package method

import (
	"context"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// firstLook is how long a trial runs at least before it may end: a shorter one
	// says too little about what the device forwards.
	firstLook = 500 * time.Millisecond
	// lookGrowth is the share of the time gone that passes before the next look: a
	// trial with loss takes at most a quarter longer than until the loss is certain,
	// and a long one without is not looked at more than some dozen times.
	lookGrowth = 4
	// overtaken is how long after frames that were sent later a frame may arrive before
	// the trial is ended for it. The whole settling time follows then, in which it may
	// still arrive.
	overtaken = 500 * time.Millisecond
	// backLook is how long is waited between two questions whether all is back.
	backLook = 50 * time.Millisecond
)

// lossWatch ends a trial once more of its frames are lost for certain than any goal
// of the search allows. It decides nothing: the verdict comes from the counters that
// are read after settling, and a trial that was ended without having lost that much
// is run again in full.
type lossWatch struct {
	reporter traffic.ProgressReporter
	// allowed is how many frames may be lost.
	allowed uint64
	// ended is when the trial in hand was ended after its beginning; 0 when it was not.
	ended time.Duration
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

// allowedLoss is how many frames all receivers together may lose in a trial of d at
// a loss ratio.
func (l *Lab) allowedLoss(size plan.Size, ppm, ratioPPM int64, d time.Duration) uint64 {
	frames := l.plan.FramesPerSecond(size, ppm)
	frames.Mul(frames, big.NewRat(int64(d), int64(time.Second)))
	frames.Mul(frames, big.NewRat(ratioPPM, v1alpha1.PPM))
	return new(big.Int).Quo(frames.Num(), frames.Denom()).Uint64()
}

// action looks at the trial while it runs.
func (w *lossWatch) action(l *Lab, d time.Duration) action {
	a := prepared(func(context.Context, bool) error {
		w.ended = 0
		return nil
	})
	a.alongside = func(ctx context.Context, stop func()) { w.look(ctx, l, d, stop) }
	a.settled = func(ctx context.Context) error { return w.settled(ctx, l) }
	return a
}

// look asks for the progress of a trial of d again and again, and stops it once its
// loss is certain. When no progress can be told, the trial goes on to its end: whether
// it is lost, too, shows there.
func (w *lossWatch) look(ctx context.Context, l *Lab, d time.Duration, stop func()) {
	clock := l.gen.Clock()
	start := clock.Now()
	var sent []traffic.Progress
	var at []time.Duration
	for look := firstLook; look < d; look += max(firstLook, look/lookGrowth) {
		if clock.Sleep(ctx, start.Add(look).Sub(clock.Now())) != nil {
			return
		}
		p, err := w.reporter.Progress(ctx, overtaken)
		if err != nil {
			return
		}
		now := clock.Now().Sub(start)
		lost := p.Lost
		for i := range sent {
			// What was sent so long ago should be back, whatever came since.
			if now-at[i] >= l.plan.Settle && sent[i].Expected > p.Received {
				lost = max(lost, sent[i].Expected-p.Received)
			}
		}
		if lost > w.allowed && now < d {
			w.ended = now
			stop()
			return
		}
		sent, at = append(sent, p), append(at, now)
	}
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
		p, err := w.reporter.Progress(ctx, overtaken)
		if err != nil {
			return clock.Sleep(ctx, l.plan.Settle-waited)
		}
		if p.Back() {
			return nil
		}
	}
	return nil
}

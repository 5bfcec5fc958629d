package method

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
)

func init() { register(v1alpha1.MethodLatency, latency) }

// latency measures latency and jitter of every frame at one load (RFC 2544
// section 26.2, where one tagged frame stands for all; RFC 4689 for jitter).
func latency(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	ppm := step.LoadPPM
	if step.Load == v1alpha1.LoadThroughput {
		known := false
		if ppm, known = lab.found[found{step.Source, step.FrameSize}]; !known {
			return Outcome{}, fmt.Errorf("test %s has no result for %d bytes that the load throughput could mean", step.Source, step.FrameSize)
		}
		if ppm == 0 {
			return Outcome{Message: fmt.Sprintf("not measured: test %s found a throughput of 0 at %d bytes", step.Source, step.FrameSize)}, nil
		}
	}
	t, err := lab.Trial(ctx, step, ppm, step.TrialDuration, search.Bracket{})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{LoadPPM: ppm, Trial: t}
	switch {
	case t.Sent > 0 && t.Received == 0:
		out.Message = lab.silence(t)
	case t.Lost > 0:
		out.Message = fmt.Sprintf("%d of %d frames were lost at this load: latency is of those that came back", t.Lost, t.Sent)
	}
	if t.Unsent() {
		out.Limit = t
	}
	return out, nil
}

package method

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func init() { register(v1alpha1.MethodLatency, latency) }

// latency measures latency and jitter of every frame at one load (RFC 2544
// section 26.2, where one tagged frame stands for all; RFC 4689 for jitter).
func latency(ctx context.Context, lab *Lab, step plan.Step) (Outcome, error) {
	out, err := lab.atLoad(ctx, step)
	if err != nil || out.Trial == nil {
		return out, err
	}
	if t := out.Trial; t.Lost > 0 && t.Received > 0 {
		out.Message = fmt.Sprintf("%s of %s frames were lost at this load: latency is of those that came back", traffic.Grouped(t.Lost), traffic.Grouped(t.Expected))
	}
	return out, nil
}

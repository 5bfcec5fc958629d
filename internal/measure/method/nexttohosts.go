package method

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// nextToHosts runs a workload while the generator sends frames of the step's size. The generator stops once the workload has an
// answer, and after longest at the latest: then there is none. Before is called each time before sending begins, and learns
// whether it was called before; it may be nil.
func nextToHosts[Answer any](ctx context.Context, tester *trials.Tester, sized plan.Step, loads map[uint16]traffic.Load, longest time.Duration, run func(context.Context) (Answer, error), before func(ctx context.Context, again bool) error) (*Answer, *trials.Trial, error) {
	var found *Answer
	ask := trials.Alongside(func(ctx context.Context, stop func()) error {
		one, err := run(ctx)
		if err == nil {
			found = &one
			stop()
		}
		return err
	})
	ask = ask.After(func(ctx context.Context, again bool) error {
		found = nil
		if before == nil {
			return nil
		}
		return before(ctx, again)
	})
	early := trials.Finished(func(t *trials.Trial) { t.Ended = t.TxTime })
	event := trials.Event{Step: sized, LoadPPM: sized.LoadPPM, Duration: longest}
	trial, err := tester.Once(ctx, event, traffic.Trial{Loads: loads, Duration: longest}, trials.LateTolerance(longest), ask, early)
	return found, trial, err
}

// sizeNextToHosts refuses a size of frames next to hosts into which the packet of the profile does not fit, or that the engine does not send.
func sizeNextToHosts(size int32, in plan.Setting, path *field.Path) field.ErrorList {
	least, most := max(frame.MinimumSize(in.Packet), in.Engine.MinFrameSize), min(frame.MaxSize, in.Engine.MaxFrameSize)
	if int(size) >= least && int(size) <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, size, fmt.Sprintf("give a size from %d to %d bytes, which the packet of the traffic profile %s (%s) and engine %s of test bed %s allow",
		least, most, in.Profile, frame.DescribeMinimum(in.Packet), in.Bed.Spec.Engine.Kind, in.Bed.Name))}
}

// shortOfBackground explains that the tester sent other frames next to hosts than the row names; empty if it did not.
func shortOfBackground(t *trials.Trial) string {
	if t.Sent < t.Intended-t.Intended/100 {
		return fmt.Sprintf("the tester sent %s of %s frames of the background in time", traffic.Grouped(t.Sent), traffic.Grouped(t.Intended))
	}
	return ""
}

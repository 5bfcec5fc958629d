package result

import (
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/plan"
)

// setPortLoads notes what the ports offered of their line rates: of every flow and class,
// and in all where the profile lets a port send less than line rate.
func setPortLoads(row *v1alpha1.ResultRow, p plan.Plan, out trials.Outcome) {
	t := out.Trial
	if out.FramesPerSecond != nil || out.LoadPPM == 0 {
		return // The streams are not those of the plan, or no load passed.
	}
	load := plan.Share(t.LoadPPM)
	if out.Step.Load.IsRate() {
		load = out.Step.Amount
	}
	if !everyPortAt(p.At(out.Step.Size).PortLoads(load), t.LoadPPM) {
		all := t.PortLoads(p, load, func(plan.Stream) string { return "" })[""]
		row.Frames.PortLoad = &all
	}
	if len(row.Flows) > 0 {
		loads := t.PortLoads(p, load, func(s plan.Stream) string { return s.Flow })
		for i := range row.Flows {
			row.Flows[i].PortLoad = new(loads[row.Flows[i].Name])
		}
	}
	if c := row.Classes; c != nil {
		loads := t.PortLoads(p, load, plan.Stream.Class)
		c.Multicast.PortLoad, c.Unicast.PortLoad = new(loads[plan.ClassMulticast]), new(loads[plan.ClassUnicast])
	}
}

// everyPortAt reports whether all ports that send have the same load in parts per million of
// their line rate.
func everyPortAt(loads []*big.Rat, ppm int64) bool {
	return !slices.ContainsFunc(loads, func(l *big.Rat) bool {
		return l != nil && max(1, frame.Round(new(big.Rat).Mul(l, big.NewRat(v1alpha1.PPM, 1)))) != ppm
	})
}

package controlplane

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeFIBTruth returns the definition of fibTruth.
func DescribeFIBTruth() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodFIBTruth, Member: "fibTruth", Mixes: true, Frameless: true, BGP: true,
			WholeDevice: "fills the forwarding table of the device",
			Given:       func(t v1alpha1.Test) bool { return t.FIBTruth != nil },
			Fits: func(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
				return fitsFIBTruth(test.FIBTruth.Routes, in, path)
			},
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				// The number of routes, and the time that the device takes, are not known.
				return []plan.Step{{Trials: 2, Duration: 2 * test.FIBTruth.WaitTime.Duration}}
			},
		},
		Run:       fibTruth,
		OwnRoutes: true,
		Purpose:   "announced routes that the device forwards to, drops and misroutes, each checked on its own, and the delay from UPDATE to forwarding",
		Headline: fibTruths.Headline(func(s *v1alpha1.FIBTruthSummary) trials.Figure {
			return trials.Figure{Number: s.Forwarded, Text: fmt.Sprintf("%s of %s routes forwarded", traffic.Grouped(s.Forwarded), traffic.Grouped(s.Routes))}
		}),
		Columns: []trials.Column{
			{Heading: "routes", Name: "probed", Value: fibTruths.Number(func(s *v1alpha1.FIBTruthSummary) int64 { return s.Routes })},
			{Heading: "routes", Name: "forwarded", Value: fibTruths.Number(func(s *v1alpha1.FIBTruthSummary) int64 { return s.Forwarded })},
			{Heading: "routes", Name: "dropped", Metric: "FIBDropped", Value: fibTruths.Number(func(s *v1alpha1.FIBTruthSummary) int64 { return s.Dropped })},
			{Heading: "routes", Name: "misrouted", Metric: "FIBMisrouted", Value: fibTruths.Number(func(s *v1alpha1.FIBTruthSummary) int64 { return s.Misrouted })},
			{Heading: "routes", Name: "forgotten", Metric: "FIBForgotten", Value: fibTruths.Number(func(s *v1alpha1.FIBTruthSummary) int64 { return s.Forgotten })},
			{Heading: "delay, ms", Name: "p50", Metric: "FIBDelayP50", Unit: trials.LongNanoseconds, Value: fibDelays.Number(func(s *v1alpha1.FIBDelay) int64 { return s.P50Ns })},
			{Heading: "delay, ms", Name: "p99", Metric: "FIBDelayP99", Unit: trials.LongNanoseconds, Value: fibDelays.Number(func(s *v1alpha1.FIBDelay) int64 { return s.P99Ns })},
			{Heading: "delay, ms", Name: "last", Metric: "FIBDelayLast", Unit: trials.LongNanoseconds, Value: fibDelays.Number(func(s *v1alpha1.FIBDelay) int64 { return s.LastNs })},
			{Heading: "delay, ms", Name: "resolution", Metric: "FIBDelayResolution", Unit: trials.LongNanoseconds, Value: fibDelays.Number(func(s *v1alpha1.FIBDelay) int64 { return s.ResolutionNs })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.FIBTruth
			return fmt.Sprintf("up to %s frames/s to all routes in turn while they are announced, until frames to no further route arrive for %s; then %d frames to each route",
				traffic.Grouped(int64(t.ProbesPerSecond)), human.Duration(t.WaitTime.Duration), t.Rounds)
		},
	}
}

var (
	fibTruths = trials.Summary[v1alpha1.FIBTruthSummary](func(row *v1alpha1.ResultRow) *v1alpha1.FIBTruthSummary { return row.FIBTruth })
	// fibDelays are the delays, which a row may not have.
	fibDelays = trials.Summary[v1alpha1.FIBDelay](func(row *v1alpha1.ResultRow) *v1alpha1.FIBDelay {
		if row.FIBTruth == nil {
			return nil
		}
		return row.FIBTruth.Delay
	})
)

// fitsFIBTruth refuses profiles without the routes, routes to which no frames go, and engines
// that do not know when the first frame to each destination arrives.
func fitsFIBTruth(name string, in plan.Setting, path *field.Path) field.ErrorList {
	set, err := setOf(in.Announcements, name, in.Profile, path)
	if err != nil {
		return field.ErrorList{err}
	}
	if in.Engine.MaxMicroflows == 0 {
		return field.ErrorList{field.Invalid(path, in.Bed.Spec.Engine.Kind, fmt.Sprintf(
			"the engine %s of test bed %s does not count the frames to each route: choose a bed with the engine xdp or sim", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
	}
	streams := toSet(in.Streams, announcing(in.Announcements, set))
	if len(streams) == 0 {
		return field.ErrorList{noFramesTo(set, in, path)}
	}
	routes, counted := 0, map[int]bool{}
	for _, s := range streams {
		// Only one of the senders sends to the networks of an announcement.
		if !counted[s.Networks.Announcement] {
			counted[s.Networks.Announcement] = true
			routes += int(in.Announcements[s.Networks.Announcement].Count)
		}
	}
	if routes > in.Engine.MaxMicroflows {
		return field.ErrorList{field.Invalid(path.Child("routes"), set, fmt.Sprintf("frames go to %s routes, and the engine %s of test bed %s counts frames to %s routes: announce fewer, or name a smaller set",
			traffic.Grouped(routes), in.Bed.Spec.Engine.Kind, in.Bed.Name, traffic.Grouped(in.Engine.MaxMicroflows)))}
	}
	return nil
}

// fibTruth announces the routes of a set while frames are sent to each of them, and then checks
// each route.
func fibTruth(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	test := step.Test.FIBTruth
	which := announcing(tester.Plan.Announcements, test.Routes)
	var parts []blockPart
	for _, i := range which {
		a := tester.Plan.Announcements[i]
		parts = append(parts, blockPart{tester.Plan.Sessions[a.Session], a.Routes})
	}
	probes := newProbes(tester, parts, test.ProbesPerSecond)
	sized := step
	sized.Size = plan.Bytes(tester.Plan.Sizes[0].All()[0])
	out := trials.Outcome{ByTime: true, FramesPerSecond: new(big.Rat)}
	sum := v1alpha1.FIBTruthSummary{Routes: probes.count()}
	err := tester.WithStreams(ctx, sized, streamsOf(probes.targets), func(o *trials.Tester) error {
		probes.load(o, sized.Size)
		p := programming{probes: probes, parts: parts, which: which, patience: test.WaitTime.Duration}
		if err := p.run(ctx, o, sized); err != nil {
			return err
		}
		if p.down != nil {
			out.Invalid = p.down.Error() + tester.Device.RouterEnded(ctx)
			return nil
		}
		if err := tester.Routes.Installed(ctx); err != nil {
			return err
		}
		f, err := probes.confirm(ctx, o, sized, test.Rounds)
		if err != nil {
			return err
		}
		out.Trial = f.trial
		if f.trial.Sent < f.trial.Intended {
			out.Limit = f.trial
		}
		out.Invalid = f.doubt()
		f.fill(&sum, &p)
		sum.Delay = p.delays(f)
		noteFIB(f.trial, &sum)
		out.Message = summaryInWords(&sum)
		out.Coarse = p.unknown()
		return nil
	})
	out.Fill = func(row *v1alpha1.ResultRow) {
		// The frames are many to routes that the device may drop, and no load.
		row.Frames, row.Latency, row.Flows, row.Classes, row.Multicast, row.MulticastLatency = nil, nil, nil, nil, nil, nil
		if out.Trial != nil {
			row.FIBTruth = &sum
		}
	}
	return out, err
}

// noteFIB adds the sums over the routes to the record of a trial.
func noteFIB(t *trials.Trial, s *v1alpha1.FIBTruthSummary) {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"routes", s.Routes}, {"forwarded", s.Forwarded}, {"dropped", s.Dropped}, {"misrouted", s.Misrouted},
		{"forgotten", s.Forgotten}, {"rounds", int64(s.Rounds)}, {"lostProbes", s.LostProbes},
	} {
		t.Figure(f.name, f.value)
	}
	if d := s.Delay; d != nil {
		t.Figure("delayRoutes", d.Routes)
		t.Figure("delayP50Ns", d.P50Ns)
		t.Figure("delayP99Ns", d.P99Ns)
		t.Figure("delayLastNs", d.LastNs)
		t.Figure("delayResolutionNs", d.ResolutionNs)
	}
}

// summaryInWords names the first routes with a fault; empty if there is none.
func summaryInWords(s *v1alpha1.FIBTruthSummary) string {
	var faults []string
	if s.Dropped > 0 {
		faults = append(faults, fmt.Sprintf("frames to %s routes are dropped, such as to %s", traffic.Grouped(s.Dropped), s.DroppedPrefixes[0]))
	}
	if s.Misrouted > 0 {
		m := s.MisroutedPrefixes[0]
		faults = append(faults, fmt.Sprintf("frames to %s routes arrive at a wrong port, such as those to %s at %s", traffic.Grouped(s.Misrouted), m.Prefix, m.Port))
	}
	if s.LostProbes > 0 {
		faults = append(faults, fmt.Sprintf("%s of the frames to forwarded routes were lost", traffic.Grouped(s.LostProbes)))
	}
	return strings.Join(faults, "; ")
}

// programTime bounds the time in which a device programs routes: it is expected to handle 1,000
// in a second at least.
func programTime(routes int64, turn, patience time.Duration) time.Duration {
	return time.Duration(routes)*time.Millisecond + 4*turn + 2*patience + 10*time.Second
}

package controlplane

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeRouteFlap returns the definition of routeFlap.
func DescribeRouteFlap() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRouteFlap, Member: "routeFlap", BGP: true,
			WholeDevice: "loads the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.RouteFlap != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.RouteFlap.Load },
			Validate: func(test v1alpha1.Test, path *field.Path) field.ErrorList {
				t := test.RouteFlap
				return validateSampling(t.SamplingInterval.Duration, flapTime(t), path, t.LeadTime.Duration, t.AnnouncedTime.Duration, t.WithdrawnTime.Duration)
			},
			Fits: fitsRouteFlap,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				return []plan.Step{plan.AtLoad(test.RouteFlap.Load, flapTime(test.RouteFlap))}
			},
		},
		Run:     routeFlap,
		Purpose: "what flapping routes do to frames to them and to other routes",
		Headline: flapSummary.Headline(func(s *v1alpha1.RouteFlapSummary) trials.Figure {
			return trials.Figure{Number: s.FlappedLost, Text: traffic.Grouped(s.FlappedLost) + " frames lost to flapping routes"}
		}),
		Columns: slices.Concat([]trials.Column{
			{Heading: "lost", Name: "flapped", Value: flapSummary.Number(func(s *v1alpha1.RouteFlapSummary) int64 { return s.FlappedLost })},
			{Heading: "lost", Name: "stable", Value: flapSummary.Number(func(s *v1alpha1.RouteFlapSummary) int64 { return s.StableLost })},
			{Heading: "elsewhere", Name: "frames", Value: flapSummary.Number(func(s *v1alpha1.RouteFlapSummary) int64 { return s.Elsewhere })},
			{Heading: "lowest rate", Name: "flapped", Unit: trials.PPM, Value: flapSummary.Number(func(s *v1alpha1.RouteFlapSummary) int64 { return s.LowestFlappedPPM })},
			{Heading: "lowest rate", Name: "stable", Unit: trials.PPM, Value: flapSummary.Optional(func(s *v1alpha1.RouteFlapSummary) *int64 { return s.LowestStablePPM })},
		}, eventColumns("withdraw", flaps, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.RouteFlap == nil {
				return nil
			}
			return &row.RouteFlap.Withdraw
		}), eventColumns("announce", flaps, func(row *v1alpha1.ResultRow) *v1alpha1.EventTimes {
			if row.RouteFlap == nil {
				return nil
			}
			return &row.RouteFlap.Announce
		})),
		Events:  flaps,
		Moments: func(test v1alpha1.Test) []trials.Moment { return flapMoments(test.RouteFlap) },
		Stable: func(row *v1alpha1.ResultRow) *v1alpha1.RateSeries {
			if row.RouteFlap == nil {
				return nil
			}
			return row.RouteFlap.Stable
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.RouteFlap
			return fmt.Sprintf("one trial of %s at %s: %s routes withdrawn %s after the beginning and announced again %s later, %s with %s in between; rates read every %s",
				human.Duration(flapTime(t)), t.Load, traffic.Grouped(t.Flapped), human.Duration(t.LeadTime.Duration), human.Duration(t.WithdrawnTime.Duration), trials.HowOften(t.Flaps), human.Duration(t.AnnouncedTime.Duration), human.Duration(t.SamplingInterval.Duration))
		},
	}
}

var flapSummary = trials.Summary[v1alpha1.RouteFlapSummary](func(row *v1alpha1.ResultRow) *v1alpha1.RouteFlapSummary { return row.RouteFlap })

// flaps returns the number of times that routes were withdrawn and announced again for a
// row, and whether the row has it.
func flaps(row *v1alpha1.ResultRow) (int64, bool) {
	if row.RouteFlap == nil {
		return 0, false
	}
	return int64(row.RouteFlap.Flaps), true
}

func flapTime(t *v1alpha1.RouteFlapTest) time.Duration {
	return t.LeadTime.Duration + time.Duration(t.Flaps)*(t.WithdrawnTime.Duration+t.AnnouncedTime.Duration)
}

// flapMoments are the withdrawals and announcements of a trial.
func flapMoments(t *v1alpha1.RouteFlapTest) []trials.Moment {
	var all []trials.Moment
	for i := range time.Duration(t.Flaps) {
		at := t.LeadTime.Duration + i*(t.WithdrawnTime.Duration+t.AnnouncedTime.Duration)
		all = append(all, trials.Moment{Kind: trials.EventWithdraw, At: at}, trials.Moment{Kind: trials.EventAnnounce, At: at + t.WithdrawnTime.Duration})
	}
	return all
}

func fitsRouteFlap(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	t := test.RouteFlap
	if errs := fitsRoutes(t.Routes, in, path); len(errs) > 0 {
		return errs
	}
	total := int64(0)
	for _, i := range announcing(in.Announcements, t.Routes) {
		total += int64(in.Announcements[i].Count)
	}
	if int64(t.Flapped) > total {
		return field.ErrorList{field.Invalid(path.Child("flapped"), t.Flapped, fmt.Sprintf(
			"the sessions announce %d routes of the set: give 1 to %d, or give the set of traffic profile %s more", total, total, in.Profile))}
	}
	for _, s := range toSet(in.Streams, announcing(in.Announcements, t.Routes)) {
		if in.Engine.Strides || s.Networks.First.IsSingleIP() || s.Networks.Count == 1 {
			continue
		}
		return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf("engine %s of test bed %s cannot tell flapping networks of a stream from others", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
	}
	return nil
}

// The classes of streams of a route flap test.
const (
	classFlapped = "flapped"
	classStable  = "stable"
)

// flapping are the routes that flap, of each announcement of a set its first ones, and
// the streams to them and to the others.
type flapping struct {
	parts   []blockPart
	streams []plan.Stream
	// primary are the ports that announce the set, and total the routes of it.
	primary map[string]bool
	total   int64
	// further are the ports with further paths that do not announce the set: of each stream first
	// the next one, then the one after that.
	further [][]string
}

// flappingOf lets so many routes of a set flap. Frames may arrive at ports with further
// paths.
func flappingOf(p plan.Plan, which []int, count uint32) flapping {
	f := flapping{primary: map[string]bool{}}
	flap := map[int]uint32{}
	for _, i := range which {
		a := p.Announcements[i]
		f.total += int64(a.Count)
		f.primary[p.Sessions[a.Session].Port] = true
		n := min(count, a.Count)
		if count -= n; n == 0 {
			continue
		}
		flap[i] = n
		routes := a.Routes
		routes.Count = n
		f.parts = append(f.parts, blockPart{p.Sessions[a.Session], routes})
	}
	add := func(s plan.Stream, class string) {
		s.ID, s.InClass = uint16(len(f.streams)), class
		f.streams = append(f.streams, s)
	}
	for _, s := range toSet(p.Streams, which) {
		for _, other := range s.Networks.Others {
			port := slices.IndexFunc(p.Ports, func(o plan.Port) bool {
				return o.Name == p.Sessions[p.Announcements[other].Session].Port
			})
			if port != s.Rx[0] && !slices.Contains(s.Further, port) {
				s.Further = append(slices.Clip(s.Further), port)
			}
		}
		for path, port := range s.Further {
			if path == len(f.further) {
				f.further = append(f.further, nil)
			}
			if name := p.Ports[port].Name; !f.primary[name] && !slices.Contains(f.further[path], name) {
				f.further[path] = append(f.further[path], name)
			}
		}
		a := p.Announcements[s.Networks.Announcement]
		first, _ := a.Index(s.Networks.First)
		switch n := flap[s.Networks.Announcement]; {
		case n <= first:
			add(s, classStable)
		case n >= first+s.Networks.Count:
			add(s, classFlapped)
		default:
			head, tail := s.Split(n - first)
			add(head, classFlapped)
			add(tail, classStable)
		}
	}
	return f
}

// change announces or withdraws the routes that flap.
func (f flapping) change(tester *trials.Tester, announce bool) func(context.Context) (traffic.Moments, error) {
	return func(ctx context.Context) (traffic.Moments, error) {
		do := tester.Routes.Speaker.Withdraw
		if announce {
			do = tester.Routes.Speaker.Announce
		}
		first := traffic.Moments{}
		for _, p := range f.parts {
			sent, err := do(ctx, p.session.Name, []routing.Routes{p.routes})
			if err != nil {
				return nil, fmt.Errorf("changing routes: %w", err)
			}
			trials.SentOn(first, p.session.Port, sent)
		}
		return first, nil
	}
}

// readings returns the counters of a class: what was received at any port, or only at those
// that announce the set.
func (f flapping) readings(samples []traffic.Sample, class string, primary, gaps bool) []reading {
	var out []reading
	for _, s := range samples {
		if s.Ports == nil {
			continue
		}
		one := reading{at: s.At, gaps: gaps}
		for at, tx := range s.Ports.Tx {
			if at.Class == class {
				one.sent += tx.Sent
			}
		}
		for at, rx := range s.Ports.Rx {
			home := f.primary[at.Port]
			if at.Class != class || primary && !home {
				continue
			}
			one.received += rx.Received
			if home {
				one.passed += rx.Received + rx.Lost
			}
		}
		one.passed = max(one.passed, one.received)
		// A stream comes on one path at a time, and the port of each counts what others got as lost.
		further := f.further
		if primary {
			further = nil
		}
		for _, path := range further {
			elsewhere := uint64(0)
			for _, port := range path {
				rx := s.Ports.Rx[traffic.ClassAt{Port: port, Class: class}]
				elsewhere += rx.Received + rx.Lost
			}
			one.passed = max(one.passed, elsewhere)
		}
		out = append(out, one)
	}
	return out
}

// samples returns readings as samples of a series.
func samplesOf(all []reading) []traffic.Sample {
	var out []traffic.Sample
	for _, r := range all {
		out = append(out, traffic.Sample{At: r.at, Sent: r.sent, Received: r.received})
	}
	return out
}

// unreachable are the lost frames to flapped networks that were withdrawn and have no
// further path. Home are the intervals of these networks at the ports that announce the set.
func (f flapping) unreachable(t *trials.Trial, home intervals) (n uint64) {
	if slices.ContainsFunc(f.streams, func(s plan.Stream) bool { return s.InClass == classFlapped && len(s.Further) > 0 }) {
		return 0
	}
	withdrawn := momentsOf(t, trials.EventWithdraw)
	for i, from := range withdrawn {
		end := time.Duration(math.MaxInt64)
		if i+1 < len(withdrawn) {
			end = withdrawn[i+1]
		}
		n += home.unreachable(from, momentOf(t, trials.EventAnnounce, i), end)
	}
	return n
}

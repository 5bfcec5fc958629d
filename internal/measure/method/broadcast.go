package method

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeBroadcast() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodBroadcast, Member: "broadcast", Topology: &plan.Topology{Ports: 2, Flows: [][2]int{{0, 1}}, OneNetwork: true},
			Given: func(t v1alpha1.Test) bool { return t.Broadcast != nil },
			Bounds: func(test v1alpha1.Test) []plan.Bound {
				t := test.Broadcast
				return []plan.Bound{{Field: "resolution", Load: t.Resolution}, {Field: "minLoad", Load: t.MinLoad}, {Field: "maxLoad", Load: t.MaxLoad}}
			},
			Together: func(test v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
				t := test.Broadcast
				return trials.UpsideDown(t.MinLoad, t.MaxLoad, at, path)
			},
			Fits: fitsBroadcast,
			Steps: func(test v1alpha1.Test, at plan.Scale) []plan.Step {
				cfg := broadcastSearch(test.Broadcast, at)
				trials, sending := search.Estimate(cfg)
				// After the search: the maximum load, and a single frame.
				return []plan.Step{{Search: cfg, TrialDuration: cfg.TrialDuration, Trials: trials + 2, Duration: sending + cfg.TrialDuration}}
			},
		},
		Run:     broadcast,
		Purpose: "throughput of broadcast frames to all other ports, and the latency of one (RFC 2889 section 5.10)",
		Headline: func(row *v1alpha1.ResultRow) (trials.Figure, bool) {
			if row.Broadcast == nil {
				return trials.Figure{}, false
			}
			return trials.LoadFigure(row)
		},
		Columns: []trials.Column{
			{Heading: "at max load", Name: "frames/s", Value: broadcasted.Number(func(s *v1alpha1.BroadcastSummary) int64 { return s.ForwardingRate })},
			{Heading: "at max load", Name: "% lost", Unit: trials.PPM, Value: broadcasted.Number(func(s *v1alpha1.BroadcastSummary) int64 { return s.LossPPM })},
			{Heading: "latency, us", Name: "min", Unit: trials.Nanoseconds, Value: broadcasted.Optional(func(s *v1alpha1.BroadcastSummary) *int64 { return s.LatencyMinNs })},
			{Heading: "latency, us", Name: "avg", Unit: trials.Nanoseconds, Value: broadcasted.Optional(func(s *v1alpha1.BroadcastSummary) *int64 { return s.LatencyAvgNs })},
			{Heading: "latency, us", Name: "max", Unit: trials.Nanoseconds, Value: broadcasted.Optional(func(s *v1alpha1.BroadcastSummary) *int64 { return s.LatencyMaxNs })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Broadcast
			return fmt.Sprintf("first port to all others; binary search %s, resolution %s, trials of %s, confirmed for %s; %s at %s; one frame for the latency",
				trials.FromTo(t.MinLoad, t.MaxLoad), t.Resolution, human.Duration(t.SearchTrialDuration.Duration), human.Duration(t.TrialDuration.Duration), human.Duration(t.TrialDuration.Duration), t.MaxLoad)
		},
	}
}

var broadcasted = trials.Summary[v1alpha1.BroadcastSummary](func(row *v1alpha1.ResultRow) *v1alpha1.BroadcastSummary { return row.Broadcast })

func broadcastSearch(t *v1alpha1.BroadcastTest, at plan.Scale) search.Config {
	d := t.TrialDuration.Duration
	return search.Config{
		MinPPM: at.PPM(t.MinLoad), MaxPPM: at.PPM(t.MaxLoad), ResolutionPPM: at.PPM(t.Resolution),
		TrialDuration: d, SearchTrialDuration: min(d, t.SearchTrialDuration.Duration),
	}
}

// fitsBroadcast refuses frames and receivers that the engine does not count.
func fitsBroadcast(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !in.Engine.Ethernet && !in.Streams[0].Headers.SrcIP.Is4() {
		errs = append(errs, field.Invalid(path, test.Name, fmt.Sprintf(
			"engine %s of test bed %s counts frames by their IP header, and only IPv4 has broadcast: give traffic profile %s packet ipv4, or choose a bed with another engine",
			in.Bed.Spec.Engine.Kind, in.Bed.Name, in.Profile)))
	}
	first := in.Ports[0]
	i := slices.IndexFunc(in.Ports, func(p plan.Port) bool { return p.Node != first.Node })
	if !in.Engine.CrossHost && i > 0 {
		errs = append(errs, field.Invalid(path, test.Name, fmt.Sprintf(
			"broadcast frames go from %s on node %s to %s on node %s too, and a server of engine %s of test bed %s counts only what it sent itself: choose a bed on one node, or with another engine",
			first.Name, first.Node, in.Ports[i].Name, in.Ports[i].Node, in.Bed.Spec.Engine.Kind, in.Bed.Name)))
	}
	return errs
}

// broadcast searches the highest load of broadcast frames from the first port at
// which none is lost at any other, measures what is forwarded at the maximum load,
// and how late a single frame is at each port.
func broadcast(ctx context.Context, tester *trials.Tester, step plan.Step) (out trials.Outcome, err error) {
	s := broadcastStream(tester.Plan)
	var summary v1alpha1.BroadcastSummary
	err = tester.WithStreams(ctx, step, []plan.Stream{s}, func(tester *trials.Tester) error {
		if err := tester.Learn(ctx); err != nil {
			return err
		}
		m := newSearchTrials(tester, step)
		result, err := search.Binary(ctx, step.Search, m)
		if err != nil {
			return err
		}
		out = m.outcome(result, search.GoalResult{
			LowerPPM: result.PassedPPM, UpperPPM: result.FailedPPM, Deciding: result.Deciding, GeneratorBound: result.GeneratorBound,
		}, nil)
		out.FramesPerSecond = tester.Plan.At(step.Size).FramesPerSecond(plan.Share(out.LoadPPM))
		most := out.Trial
		if out.LoadPPM < step.Search.MaxPPM {
			if most, err = tester.Trial(ctx, step, step.Search.MaxPPM, step.TrialDuration, search.Bracket{}); err != nil {
				return err
			}
			most.Note(func(r *v1alpha1.TrialRecord) { r.Role = "maxLoad" })
			most.Figure("doubtfulLost", int64(most.DoubtfulLost()))
		}
		summary = v1alpha1.BroadcastSummary{
			Receivers: int32(len(s.Rx)), MaxLoadPPM: most.OfferedPPM(),
			ForwardingRate: most.ForwardingRate, ForwardingRateBounds: rateBounds(most), LossPPM: trials.SharePPM(most.Lost, most.Expected),
			DoubtfulLossPPM: trials.SharePPM(most.DoubtfulLost(), most.Expected),
		}
		if most != out.Trial && most.DoubtfulLost() > 0 && out.Message == "" {
			out.Message = fmt.Sprintf("at the highest load, %s: %s", trials.Percent(most.LoadPPM), most.DoubtfulText())
		}
		if out.Limit == nil && most != out.Trial && testersPart(most) != nil {
			out.Limit, out.Several = most, true
		}
		return broadcastOne(ctx, tester, step, s, &summary)
	})
	if err != nil {
		return trials.Outcome{}, err
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Broadcast = &summary }
	return out, nil
}

// broadcastOne sends a single frame, and puts its latency at the ports into the
// summary.
func broadcastOne(ctx context.Context, tester *trials.Tester, step plan.Step, s plan.Stream, summary *v1alpha1.BroadcastSummary) error {
	took := sendingFor(1, announceRate)
	event := trials.Event{Step: step, LoadPPM: linePPM(tester.Plan.Ports[s.Tx], step.Size.Bytes, announceRate), Duration: took}
	load := traffic.Load{Rate: traffic.Rate{Frames: announceRate, PerNanos: int64(time.Second)}, Frames: 1}
	t, err := tester.Once(ctx, event, traffic.Trial{Loads: map[uint16]traffic.Load{s.ID: load}}, trials.LateTolerance(took))
	if err != nil {
		return err
	}
	t.Note(func(r *v1alpha1.TrialRecord) { r.Role = "single" })
	if l := t.Counters.Latency(); l.Count > 0 {
		least, mean, most := int64(l.MinNs), l.Average(), int64(l.MaxNs)
		summary.LatencyMinNs, summary.LatencyAvgNs, summary.LatencyMaxNs = &least, &mean, &most
	}
	return nil
}

// broadcastStream goes from the first port to all others, from one address, with the
// headers of the profile. Over IPv4 it is sent to all hosts of the sender's network;
// IPv6 has no broadcast, and the frames then have no network layer, as those of
// Ethernet.
func broadcastStream(p plan.Plan) plan.Stream {
	s := p.Between(0, 1)
	s.Rx = nil
	for i := range p.Ports[1:] {
		s.Rx = append(s.Rx, i+1)
	}
	h := s.Headers
	if !h.SrcIP.Is4() {
		h = linkHeaders(h)
	}
	if own, ok := p.Ports[0].Address(false); ok && h.SrcIP.Is4() {
		h.SrcIPCount, h.DstIP, h.DstIPCount = 1, lastOf(own), 1
	}
	h.SrcMACCount, h.DstMAC, h.DstMACCount = 1, broadcastMAC, 1
	s.Headers = h
	return s
}

// lastOf is the last address of an IPv4 network, which is that of all its hosts.
func lastOf(network netip.Prefix) netip.Addr {
	b := network.Masked().Addr().As4()
	for i := network.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(b)
}

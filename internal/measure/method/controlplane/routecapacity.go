package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeRouteCapacity returns the definition of routeCapacity.
func DescribeRouteCapacity() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRouteCapacity, Member: "routeCapacity", Mixes: true, Frameless: true,
			WholeDevice: "fills the table of routes of the device",
			Given:       func(t v1alpha1.Test) bool { return t.RouteCapacity != nil },
			Fits:        fitsRouteCapacity,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				// How many blocks it takes is not known.
				return []plan.Step{{Trials: 1, Duration: 2 * test.RouteCapacity.WaitTime.Duration}}
			},
		},
		Run:       routeCapacity,
		OwnRoutes: true,
		Purpose:   "greatest number of routes that the device passes on, in blocks",
		Headline: routesHeld.Headline(func(s *v1alpha1.RouteCapacitySummary) trials.Figure {
			return trials.CountFigure(s.Routes, "routes", !s.Full)
		}),
		Columns: []trials.Column{
			{Heading: "routes", Name: "held", Value: routesHeld.Number(func(s *v1alpha1.RouteCapacitySummary) int64 { return s.Routes })},
			{Heading: "routes", Name: "announced", Value: routesHeld.Number(func(s *v1alpha1.RouteCapacitySummary) int64 { return s.Announced })},
			{Heading: "routes", Name: "received", Value: routesHeld.Number(func(s *v1alpha1.RouteCapacitySummary) int64 { return s.Received })},
			{Heading: "blocks", Name: "held", Value: routesHeld.Number(func(s *v1alpha1.RouteCapacitySummary) int64 { return int64(s.FullBlocks) })},
			{Heading: "routes/s", Name: "avg", Value: routesHeld.Optional(func(s *v1alpha1.RouteCapacitySummary) *int64 { return s.RoutesPerSecond })},
			{Heading: "memory, bytes", Name: "held", Value: memoryHeld.Number(func(s *v1alpha1.RouteMemorySummary) int64 { return s.HeldBytes })},
			{Heading: "memory, bytes", Name: "per route", Value: memoryHeld.Number(func(s *v1alpha1.RouteMemorySummary) int64 { return s.BytesPerRoute })},
			{Heading: "block, ms", Name: "slowest", Unit: trials.LongNanoseconds, Value: routesHeld.Optional(func(s *v1alpha1.RouteCapacitySummary) *int64 { return s.SlowestBlockNs })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.RouteCapacity
			return fmt.Sprintf("blocks of %s routes, until the witness receives nothing further for %s", traffic.Grouped(t.Block), human.Duration(t.WaitTime.Duration))
		},
	}
}

var routesHeld = trials.Summary[v1alpha1.RouteCapacitySummary](func(row *v1alpha1.ResultRow) *v1alpha1.RouteCapacitySummary { return row.RouteCapacity })

// memoryHeld is a number of the memory, which a row may not have.
var memoryHeld = trials.Summary[v1alpha1.RouteMemorySummary](func(row *v1alpha1.ResultRow) *v1alpha1.RouteMemorySummary {
	if row.RouteCapacity == nil {
		return nil
	}
	return row.RouteCapacity.Memory
})

func fitsRouteCapacity(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	t := test.RouteCapacity
	set, err := setOf(in.Announcements, t.Routes, in.Profile, path)
	if err != nil {
		return field.ErrorList{err}
	}
	if witnessOf(t.Witness, set, in.Sessions, in.Announcements) >= 0 {
		return nil
	}
	if t.Witness == "" {
		return field.ErrorList{field.Required(path.Child("witness"), fmt.Sprintf(
			"every session of test bed %s announces routes %s, and one is needed that only receives them: name sessions in the set of traffic profile %s", in.Bed.Name, set, in.Profile))}
	}
	return field.ErrorList{field.Invalid(path.Child("witness"), t.Witness, fmt.Sprintf(
		"the witness must be a session of test bed %s that carries the family of routes %s and announces none of them: name another session", in.Bed.Name, set))}
}

// setOf is the set that a test is about: the one it names, or the first one.
func setOf(all []plan.Announcement, name, profile string, path *field.Path) (string, *field.Error) {
	if len(all) == 0 {
		return "", field.Required(path, fmt.Sprintf("traffic profile %s announces no routes, which the test is about: add routing to the profile, or name one that has it", profile))
	}
	if name == "" {
		return all[0].Name, nil
	}
	if len(announcing(all, name)) == 0 {
		return "", field.Invalid(path.Child("routes"), name, fmt.Sprintf("traffic profile %s has no routes of this name: its first are %s", profile, all[0].Name))
	}
	return name, nil
}

// announcing are the announcements of a set, by their indexes; of the first set without a
// name.
func announcing(all []plan.Announcement, name string) []int {
	var which []int
	for i, a := range all {
		if a.Name == name || name == "" && a.Set == all[0].Set {
			which = append(which, i)
		}
	}
	return which
}

// witnessOf is the session that receives the routes of a set, by its index: the one that
// is named, or the first that does; -1 when there is none.
func witnessOf(name, set string, sessions []plan.Session, all []plan.Announcement) int {
	announces := map[int]bool{}
	var family routing.Family
	for _, i := range announcing(all, set) {
		announces[all[i].Session], family = true, all[i].Family()
	}
	for i, s := range sessions {
		if !announces[i] && s.Carries(family) && (name == "" || s.Name == name) {
			return i
		}
	}
	return -1
}

// routeBlock is routes that are announced at once.
type routeBlock struct {
	parts []blockPart
	count int64
}

// blockPart contains the routes of a block that one session announces.
type blockPart struct {
	session plan.Session
	routes  routing.Routes
}

// blocks are the routes of announcements in their order, so many at once.
func blocks(p plan.Plan, which []int, size uint32) []routeBlock {
	var all []routeBlock
	var b routeBlock
	for _, i := range which {
		a := p.Announcements[i]
		for first := uint32(0); first < a.Count; {
			n := min(size-uint32(b.count), a.Count-first)
			b.parts = append(b.parts, blockPart{p.Sessions[a.Session], a.Part(first, n)})
			b.count += int64(n)
			if first += n; uint32(b.count) == size {
				all, b = append(all, b), routeBlock{}
			}
		}
	}
	if b.count > 0 {
		all = append(all, b)
	}
	return all
}

// routeCapacity announces block after block until the witness does not receive one as a
// whole, or until frames to its routes, or to the routes of the first block, do not arrive.
func routeCapacity(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	test := step.Test.RouteCapacity
	which := announcing(tester.Plan.Announcements, test.Routes)
	witness := tester.Plan.Sessions[witnessOf(test.Witness, tester.Plan.Announcements[which[0]].Name, tester.Plan.Sessions, tester.Plan.Announcements)]
	sum := v1alpha1.RouteCapacitySummary{Block: test.Block, Witness: witness.Name}
	out := trials.Outcome{Fill: func(row *v1alpha1.ResultRow) { row.RouteCapacity, row.Frames = &sum, nil }}
	var want routing.Table
	var took time.Duration
	memory := startMemory(tester)
	defer func() { sum.Memory = memory.summary() }()
	all, checked := blocks(tester.Plan, which, uint32(test.Block)), uint64(0)
	for i, b := range all {
		sum.Announced += b.count
		for _, p := range b.parts {
			want = want.Add(p.session.Readvertised([]routing.Routes{p.routes}))
		}
		learnt, sent, err := announceBlock(ctx, tester, b, witness.Name, want, test.WaitTime.Duration)
		sum.Received = int64(learnt.Routes)
		noted := tester.Log.Add(v1alpha1.TrialRecord{Role: "block", Tried: sum.Announced, Verdict: v1alpha1.TrialFailed})
		record.AddFigure(noted, "receivedRoutes", sum.Received)
		record.AddFigure(noted, "blockRoutes", b.count)
		var down *routing.DownError
		switch {
		case errors.As(err, &down):
			sum.Full, tester.Device.Full = true, true
			out.Message = fmt.Sprintf("at %s announced routes %v", traffic.Grouped(sum.Announced), down) + tester.Device.RouterEnded(ctx)
			return out, nil
		case err != nil:
			return trials.Outcome{}, err
		case learnt.Table != want && learnt.Routes >= want.Routes:
			out.Invalid = (&routing.UnlearnedError{Protocol: witness.Protocol, Session: witness.Name, Want: want, Got: learnt.Table}).Error()
			return out, nil
		case learnt.Table != want:
			sum.Full, tester.Device.Full = true, true
			out.Message = fmt.Sprintf("of %s announced routes session %s received %s, and nothing further for %s",
				traffic.Grouped(sum.Announced), witness.Name, traffic.Grouped(sum.Received), human.Duration(test.WaitTime.Duration)) + tester.Device.RouterEnded(ctx)
			return out, nil
		}
		parts := slices.Clone(b.parts)
		if i > 0 { // The device may forget the oldest routes for new ones.
			parts = append(parts, all[0].parts...)
		}
		frames, err := probe(ctx, tester, step, parts, test.WaitTime.Duration)
		switch {
		case err != nil:
			return trials.Outcome{}, fmt.Errorf("sending frames to the routes: %w", err)
		case frames.missing > 0 && frames.doubt != "":
			out.Invalid = fmt.Sprintf("at %s announced routes, of %s frames, one to each route of the last block and of the first, %s did not arrive for %s, and %s, so that the device may have forwarded them",
				traffic.Grouped(sum.Announced), traffic.Grouped(frames.sent), traffic.Grouped(frames.missing), human.Duration(test.WaitTime.Duration), frames.doubt)
			return out, nil
		case frames.missing > 0:
			sum.Full, tester.Device.Full = true, true
			out.Message = fmt.Sprintf("session %s received all %s announced routes, but of %s frames, one to each route of the last block and of the first, %s did not arrive, and no further for %s: the device advertises routes that it does not forward to",
				witness.Name, traffic.Grouped(sum.Announced), traffic.Grouped(frames.sent), traffic.Grouped(frames.missing), human.Duration(test.WaitTime.Duration))
			if frames.suchAs != "" {
				out.Message += ", such as " + frames.suchAs
			}
			out.Message += tester.Device.RouterEnded(ctx)
			return out, nil
		}
		checked += frames.sent
		sum.Routes, sum.FullBlocks = sum.Announced, sum.FullBlocks+1
		noted.Verdict = v1alpha1.TrialPassed
		memory.block(sum.Routes)
		if memory != nil {
			record.AddFigure(noted, "heldBytes", memory.sum.HeldBytes)
		}
		if learnt.Last > sent.First && oneClock(tester, b, witness) {
			block := time.Duration(learnt.Last - sent.First)
			took += block
			record.AddFigure(noted, "blockNs", int64(block))
			sum.SlowestBlockNs = new(max(int64(block), at(sum.SlowestBlockNs)))
			sum.RoutesPerSecond = new(trials.PerSecond(sum.Routes, took))
		}
	}
	out.Message = fmt.Sprintf("all %s routes of the traffic profile were held: the device holds at least that many", traffic.Grouped(sum.Routes))
	if checked == 0 {
		out.Message += "; whether it forwards to them was not checked, as no frames of the profile go to them"
	}
	return out, nil
}

// at is a number that may be absent, which is 0 then.
func at(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// oneClock reports whether all sessions of a block and the witness are on one host.
func oneClock(tester *trials.Tester, b routeBlock, witness plan.Session) bool {
	node := func(s plan.Session) string {
		for _, p := range tester.Plan.Ports {
			if p.Name == s.Port {
				return p.Node
			}
		}
		return ""
	}
	for _, p := range b.parts {
		if node(p.session) != node(witness) {
			return false
		}
	}
	return true
}

// announceBlock announces a block, and waits until the witness has learnt what it should,
// or nothing further for so long.
func announceBlock(ctx context.Context, tester *trials.Tester, b routeBlock, witness string, want routing.Table, patience time.Duration) (routing.Learnt, routing.Sent, error) {
	var first routing.Sent
	var learnt routing.Learnt
	for i, p := range b.parts {
		sent, err := tester.Routes.Speaker.Announce(ctx, p.session.Name, []routing.Routes{p.routes})
		if err != nil {
			return learnt, first, fmt.Errorf("announcing routes: %w", err)
		}
		if i == 0 {
			first = sent
		}
	}
	clock := tester.Generator.Clock()
	seen, since := uint64(0), clock.Now()
	for {
		var err error
		if learnt, err = tester.Routes.Speaker.Learnt(ctx, witness); err != nil || learnt.Table == want {
			return learnt, first, err
		}
		now := clock.Now()
		if learnt.Routes != seen {
			seen, since = learnt.Routes, now
		}
		if now.Sub(since) >= patience {
			return learnt, first, nil
		}
		if err := clock.Sleep(ctx, trials.LookForRoutes); err != nil {
			return learnt, first, err
		}
	}
}

// maxMemoryBlocks is the maximum number of blocks whose memory a row contains.
const maxMemoryBlocks = 64

// routeMemory reads the memory of the device's routing software in the course of a test.
type routeMemory struct {
	reader trials.MemoryReader
	sum    v1alpha1.RouteMemorySummary
	blocks int32
}

// startMemory reads the memory before the first route; nil where it cannot be read.
func startMemory(tester *trials.Tester) *routeMemory {
	reader, can := tester.Device.Router.(trials.MemoryReader)
	if !can {
		return nil
	}
	idle, known := reader.Memory()
	if !known {
		return nil
	}
	return &routeMemory{reader: reader, sum: v1alpha1.RouteMemorySummary{IdleBytes: idle, BlocksEach: 1}}
}

// block reads the memory after a block that was held, with so many routes in all.
func (m *routeMemory) block(routes int64) {
	if m == nil {
		return
	}
	held, known := m.reader.Memory()
	if !known {
		return
	}
	s := &m.sum
	s.HeldBytes, s.BytesPerRoute = held, max(0, held-s.IdleBytes)/max(1, routes)
	if m.blocks++; m.blocks%s.BlocksEach != 0 {
		return
	}
	if len(s.Blocks) == maxMemoryBlocks {
		for i := range maxMemoryBlocks / 2 {
			s.Blocks[i] = s.Blocks[2*i+1]
		}
		s.Blocks, s.BlocksEach = s.Blocks[:maxMemoryBlocks/2], 2*s.BlocksEach
		if m.blocks%s.BlocksEach != 0 {
			return
		}
	}
	s.Blocks = append(s.Blocks, held)
}

// summary reads the memory at the end of the test; nil where it could not be read.
func (m *routeMemory) summary() *v1alpha1.RouteMemorySummary {
	if m == nil {
		return nil
	}
	if end, known := m.reader.Memory(); known {
		m.sum.EndBytes = &end
	}
	return &m.sum
}

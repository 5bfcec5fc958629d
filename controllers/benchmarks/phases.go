package benchmarks

import (
	"context"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// Reconciler takes one benchmark from its lease to its last phase; before that the allocator
// handles it. Each of its parts runs some of the phases.
type Reconciler struct {
	kit.Base
	poller    *Poller
	ledgers   *ledgers
	snapshots *snapshots

	leases      *leases
	inputs      *inputKeeper
	variants    *variants
	hooks       *hooks
	devices     *devices
	traffic     *trafficPods
	measurement *measurement
	preemption  *preemption
	ending      *ending
	// phases run in their order. Once the outcome is decided only the clean-up is left.
	phases []phase
}

// NewReconciler returns a reconciler that asks runners by a poller. What happens on a leased
// bed is left to the Bench of the options, or else to device, traffic pods and runner.
func NewReconciler(b kit.Base, poller *Poller) *Reconciler {
	r := &Reconciler{Base: b, poller: poller}
	objects, files, statuses := b.RunObjects(), b.LabFiles(), b.StatusWriter()
	r.ledgers = &ledgers{client: b.Client, live: b.Live, archive: b.Archive}
	r.snapshots = &snapshots{client: b.Client, live: b.Live, archive: b.Archive}
	bounded := refusals{deadline: b.Deadlines.CleanUp, poll: b.Poll}
	resumption := &resumption{live: b.Live, files: files, snapshots: r.snapshots, ledgers: r.ledgers}
	r.leases = &leases{client: b.Client, live: b.Live, archive: b.Archive, statuses: statuses, resumption: resumption, poll: b.Poll}
	r.inputs = &inputKeeper{live: b.Live, files: files, policy: b.DefaultPolicy, snapshots: r.snapshots, leases: r.leases}
	r.variants = &variants{objects: objects, deadline: b.Deadlines.CleanUp, poll: b.Poll}
	r.devices = &devices{live: b.Live, settings: b.Lab, files: files, objects: objects, deadline: b.Deadlines.Device, poll: b.Poll}
	r.hooks = &hooks{objects: objects, settings: b.Lab, deadline: b.Deadlines.Device, poll: b.Poll}
	runners := &runnerPods{client: b.Client, live: b.Live, settings: b.Lab, objects: objects, metrics: b.Metrics, deadline: b.Deadlines.Runner, poll: b.Poll}
	r.traffic = &trafficPods{
		client: b.Client, live: b.Live, settings: b.Lab, files: files, objects: objects,
		devices: r.devices, runners: runners, deadline: b.Deadlines.Traffic, poll: b.Poll,
	}
	intake := &intake{live: b.Live, settings: b.Lab, objects: objects, poller: poller, runners: runners, ledgers: r.ledgers}
	r.measurement = &measurement{
		cache: b.Client, objects: objects, poller: poller, intake: intake, runners: runners,
		ledgers: r.ledgers, resumption: resumption, refusals: bounded, progressEvery: b.ProgressEvery,
	}
	r.preemption = &preemption{
		client: b.Client, live: b.Live, objects: objects, statuses: statuses, poller: poller, intake: intake,
		ledgers: r.ledgers, snapshots: r.snapshots, deadline: b.Deadlines.CleanUp, poll: b.Poll,
	}
	r.ending = &ending{
		client: b.Client, live: b.Live, recorder: b.Recorder, counts: b.Counts, objects: objects, poller: poller, intake: intake,
		ledgers: r.ledgers, leases: r.leases, deadline: b.Deadlines.CleanUp, poll: b.Poll,
		gates: &gateJudge{live: b.Live, archive: b.Archive, snapshots: r.snapshots, deadline: b.Deadlines.Baseline},
	}
	recalling, closing := []phase{r.ending.recall}, []phase{r.ending.closeResult}
	onBed := append(bounded.bound(r.inputs.keep, r.hooks.before, r.variants.choose, r.devices.start, r.traffic.start), r.measurement.follow)
	if b.Bench != nil { // It has no result to close.
		recalling, closing, onBed = nil, nil, []phase{runOn(b.Bench)}
		r.ending.repeatable = true
	}
	r.phases = slices.Concat(
		recalling, []phase{r.ending.notice, r.preemption.returnBed}, closing,
		[]phase{r.ending.cleanUp, r.leases.take, r.preemption.notice}, onBed)
	return r
}

// phase is one step of a benchmark. It changes the scope's status, and reports whether the
// next phase can begin.
type phase func(ctx context.Context, s *kit.Scope) (kit.Step, error)

// advance runs the phases in their order until one of them has to wait. Once the
// outcome is decided only the clean-up is left, which begins at once if the outcome is safe without a write of the status.
func (r *Reconciler) advance(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	for _, p := range r.phases {
		next, err := p(ctx, s)
		if err == nil && next.Stop && s.Decided() {
			return r.ending.begin(ctx, s)
		}
		if err != nil || next.Stop {
			return next, err
		}
	}
	return kit.Rest(), nil
}

// runOn is the phase that leaves everything on the bed to a Bench.
func runOn(bench kit.Bench) phase {
	return func(ctx context.Context, s *kit.Scope) (kit.Step, error) {
		if s.TakesOver() {
			return kit.Again(kit.Soon), nil
		}
		outcome, after, err := bench.Run(ctx, s.Benchmark)
		if err != nil || outcome == "" {
			return kit.Again(after), err
		}
		return s.End(outcome, v1alpha1.ConditionMeasured, v1alpha1.ReasonAllMeasured, "the bench is done"), nil
	}
}

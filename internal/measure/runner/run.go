package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// ErrAborted is the cause with which to cancel a run on request: the outcome is Aborted
// then, and not Error.
var ErrAborted = errors.New("aborted")

// resolveTimeout is the time within which a neighbor must answer.
const resolveTimeout = 3 * time.Second

// Option changes a run.
type Option func(*run)

// WithCheckpoint keeps finished rows in a file in dir, and takes those over that
// an earlier run of the same configuration left there.
func WithCheckpoint(dir string) Option { return func(r *run) { r.dir = dir } }

// WithRows gives the run rows that earlier runners of the same benchmark finished,
// of this variant or another one. They are not measured again.
func WithRows(rows []v1alpha1.ResultRow) Option {
	return func(r *run) { r.given = append(r.given, rows...) }
}

// WithLog calls f with every row that the run was not given: first with those that
// are in the checkpoint, then with each one when it is finished.
func WithLog(f func(v1alpha1.ResultRow)) Option {
	return func(r *run) { r.logs = append(r.logs, f) }
}

// WithObserver calls f with a copy of the state whenever it changes, and every
// second for the time left; one call at a time, none after Run returned.
func WithObserver(f func(State)) Option {
	return func(r *run) { r.observers = append(r.observers, f) }
}

// WithIntervals calls f with what the ports did in every interval of the trials, while
// they run, where the engine can say it; see method.WithIntervals.
func WithIntervals(every time.Duration, f func(trials.Interval)) Option {
	return func(r *run) { r.every, r.interval = every, f }
}

// WithEvents calls f with every trial that begins, ends or is tried again. F must not wait.
func WithEvents(f func(trials.Event)) Option { return func(r *run) { r.event = f } }

// WithCapture calls f with every row that was measured and with what it rests on. F keeps
// the frames that the engine captured in a file, if there are any.
func WithCapture(f func(v1alpha1.ResultRow, trials.Outcome) (*v1alpha1.CaptureFile, error)) Option {
	return func(r *run) { r.capture = f }
}

// WithDevice gives the run the driver of the device, which is prepared and configured.
// Without it nothing can be done with the device.
func WithDevice(d device.Driver) Option { return func(r *run) { r.device = d } }

// WithSpeaker gives the run the tester's BGP sessions. Without it those of the engine are
// used, if it has some.
func WithSpeaker(s routing.Speaker) Option { return func(r *run) { r.speaker = s } }

// WithWorkload gives the run an engine of applications. Without it the one of the engine is used, if it has
// one.
func WithWorkload(e workload.Engine) Option { return func(r *run) { r.workload = e } }

// WithRouter lets the run start the routing software of the device anew.
func WithRouter(router trials.Router) Option { return func(r *run) { r.router = router } }

// Telemetry reads what the device counts of itself while rows are measured, one after the other.
type Telemetry interface {
	// Facts returns what the device reports that it is; nil if it does not.
	Facts(ctx context.Context) *v1alpha1.DeviceFacts
	// Begin begins a row.
	Begin(ctx context.Context)
	// End ends a row in whose trials frames were lost, and returns what the device reported since Begin.
	End(ctx context.Context, lost uint64) *v1alpha1.DeviceReadings
}

// WithTelemetry adds to each row what the device reported of itself.
func WithTelemetry(t Telemetry) Option { return func(r *run) { r.telemetry = t } }

// PowerMeter reads the electrical power of the device while trials run, one after the other.
type PowerMeter interface {
	// Idle measures it without test frames.
	Idle(ctx context.Context) (*v1alpha1.PowerReading, error)
	// Begin begins a trial whose sending takes a time. It does not wait.
	Begin(takes time.Duration)
	// End ends the trial, and returns its power.
	End() (*v1alpha1.PowerReading, error)
}

// WithPowerSwitch lets tests take the power of the device away.
func WithPowerSwitch(s trials.PowerSwitch) Option { return func(r *run) { r.powerSwitch = s } }

// WithResets lets tests reset the device by the commands that the bed describes.
func WithResets(resets trials.NamedResets) Option { return func(r *run) { r.resets = resets } }

// WithRestore restores the configuration of the device after it was reset; nil where NoDrop does not configure it.
func WithRestore(restore trials.Restore) Option { return func(r *run) { r.restore = restore } }

// WithScaler lets tests give the device the lists that the bed describes; nil where it describes none.
func WithScaler(s trials.Scaler) Option { return func(r *run) { r.scaler = s } }

// WithPower adds to rows the power of the device.
func WithPower(m PowerMeter) Option { return func(r *run) { r.power = &power{meter: m} } }

// run is one run in hand.
type run struct {
	cfg       Config
	gen       traffic.Generator
	device    device.Driver
	speaker   routing.Speaker
	router    trials.Router
	workload  workload.Engine // nil where no applications run
	telemetry Telemetry       // nil where the device is not read
	power     *power          // nil where no meter is read
	// powerSwitch takes the power of the device away; nil where that is not possible.
	powerSwitch trials.PowerSwitch
	// resets are the resets of the device that the bed describes, and restore gives it its configuration after one; nil without.
	resets    trials.NamedResets
	restore   trials.Restore
	scaler    trials.Scaler // gives it lists; nil without
	dir       string
	given     []v1alpha1.ResultRow
	logs      []func(v1alpha1.ResultRow)
	observers []func(State)
	// interval is called at regular intervals while trials run; nil if it is not wanted.
	interval func(trials.Interval)
	every    time.Duration
	// event follows trials; nil if it is not wanted.
	event func(trials.Event)
	// capture stores captured frames; nil if they are not stored.
	capture func(v1alpha1.ResultRow, trials.Outcome) (*v1alpha1.CaptureFile, error)

	plan plan.Plan
	info traffic.Info
	// began is the time at which the run began, by the generator's clock.
	began time.Time

	// mu guards what the ticker shows while the run goes on.
	mu       sync.Mutex
	progress progress
	state    State
}

// Run executes a configuration on a generator and returns the final state. It
// does not fail: what goes wrong is the outcome, with everything that was
// measured before. The generator stays open.
func Run(ctx context.Context, cfg Config, gen traffic.Generator, opts ...Option) State {
	r := &run{cfg: cfg, gen: gen}
	for _, o := range opts {
		o(r)
	}
	r.began = gen.Clock().Now()
	stop := r.tick(time.Second)
	err := r.measure(ctx)
	stop()
	r.change(func() {
		r.progress.trial = trialInHand{}
		r.state.Done = true
		r.sortRows()
		r.state.Outcome, r.state.Reason, r.state.Message = conclude(ctx, r.cfg.Bed.Spec.Device, r.state.Rows, err)
		r.calibrate()
	})
	return r.state.DeepCopy()
}

// sortRows puts the rows into the order of the plan.
func (r *run) sortRows() {
	place := make(map[v1alpha1.RowID]int, len(r.plan.Steps))
	for i := range r.plan.Steps {
		place[r.plan.Steps[i].ID()] = i
	}
	rows := slices.Clone(r.state.Rows)
	slices.SortStableFunc(rows, func(a, b v1alpha1.ResultRow) int {
		return cmp.Compare(place[a.RowID], place[b.RowID])
	})
	r.state.Rows = rows
}

// tick shows the state again and again, since the time left changes though
// nothing happens. It returns the function that ends it.
func (r *run) tick(every time.Duration) (stop func()) {
	ticker, done := time.NewTicker(every), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-ticker.C:
				r.change(func() {})
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		ended.Wait()
	}
}

// change changes the state and shows it to the observers.
func (r *run) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	r.state.Progress = r.progress.report(r.gen.Clock().Now())
	for _, show := range r.observers {
		show(r.state.DeepCopy())
	}
}

// measure runs all steps of the variant in hand that no row is there for.
func (r *run) measure(ctx context.Context) error {
	var err error
	if r.plan, err = plan.Build(&r.cfg.Benchmark, &r.cfg.Profile, &r.cfg.Bed); err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	if v := r.cfg.Variant; !slices.Contains(r.cfg.Benchmark.Spec.VariantsInOrder(), v) {
		return fmt.Errorf("variant %q is prepared, and the benchmark names %q", v, r.cfg.Benchmark.Spec.Variants)
	}
	saved, err := openCheckpoint(r.dir, r.cfg)
	if err != nil {
		return err
	}
	defer saved.close()
	rows := r.resume(saved)
	r.change(func() {
		r.progress = newProgress(r.plan, rows, r.cfg.Variant)
		r.state.Rows = inOrder(rows)
	})
	tester, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	// What cannot be left ends with the generator.
	defer func() { _ = tester.Close(ctx) }()
	for i, step := range r.plan.Steps {
		if step.Variant != r.cfg.Variant {
			continue
		}
		row, done := rows[i]
		if !done {
			out, readings, err := r.row(ctx, tester, step)
			if err != nil {
				return err
			}
			if out.Skipped {
				r.change(func() { r.progress.rowDone(i) })
				continue
			}
			row = result.Row(r.plan, result.Input{
				Bed: &r.cfg.Bed, Info: r.info, Outcome: out, Calibration: r.cfg.Calibration, Time: r.began,
			})
			r.power.fill(&row, out, r.cfg.Bed.Spec.Device.Power(), tester.Results.Before(step))
			if row.Power != nil {
				row.Message = strings.Trim(row.Message+"; "+row.Power.Message, "; ")
			}
			if row.Readings = readings; readings != nil {
				row.Message = strings.Trim(row.Message+"; "+result.DescribeReadings(readings), "; ")
			}
			r.captured(&row, out)
			rows[i] = row
			kept := saved.add(row)
			r.log(row)
			r.change(func() {
				// Steps are made in their order, so that rows are nearly always so too.
				r.state.Rows = append(r.state.Rows, row)
				r.progress.rowDone(i)
			})
			if kept != nil {
				return kept // The row is in the result: it was measured.
			}
		}
		method.Done(tester, row)
	}
	return nil
}

// row measures a row, and reads the device meanwhile.
func (r *run) row(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, *v1alpha1.DeviceReadings, error) {
	r.power.begin(ctx)
	if r.telemetry == nil {
		out, err := method.Run(ctx, tester, step)
		return out, nil, err
	}
	before := tester.LostFrames
	r.telemetry.Begin(ctx)
	out, err := method.Run(ctx, tester, step)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err != nil || out.Skipped {
		cancel() // There is no row that counters could be waited for.
	}
	return out, r.telemetry.End(ctx, tester.LostFrames-before), err
}

// captured keeps the frames that were captured for a row. A row is not lost for a file
// that cannot be written.
func (r *run) captured(row *v1alpha1.ResultRow, out trials.Outcome) {
	if r.capture == nil {
		return
	}
	file, err := r.capture(*row, out)
	if row.Capture = file; err != nil {
		row.Message = strings.TrimPrefix(row.Message+"; ", "; ") + "the captured frames were not kept: " + err.Error()
	}
}

// resume returns the rows that are there by the steps that make them, and logs those
// that the run was not given.
func (r *run) resume(saved *checkpoint) map[int]v1alpha1.ResultRow {
	steps := make(map[v1alpha1.RowID]int, len(r.plan.Steps))
	for i := range r.plan.Steps {
		steps[r.plan.Steps[i].ID()] = i
	}
	rows := map[int]v1alpha1.ResultRow{}
	take := func(row v1alpha1.ResultRow) (taken bool) {
		i, planned := steps[row.RowID]
		if _, there := rows[i]; !planned || there {
			return false
		}
		rows[i] = row
		return true
	}
	for _, row := range r.given {
		take(row)
	}
	for _, row := range saved.rows {
		if take(row) {
			r.log(row)
		}
	}
	return rows
}

func (r *run) log(row v1alpha1.ResultRow) {
	for _, f := range r.logs {
		f(row)
	}
}

// inOrder lists rows in the order of their steps.
func inOrder(rows map[int]v1alpha1.ResultRow) []v1alpha1.ResultRow {
	list := make([]v1alpha1.ResultRow, 0, len(rows))
	for _, i := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, rows[i])
	}
	return list
}

// prepare learns what the generator is and where the neighbors are.
func (r *run) prepare(ctx context.Context) (*trials.Tester, error) {
	var err error
	if r.info, err = r.gen.Info(ctx); err != nil {
		return nil, fmt.Errorf("asking the generator what it is: %w", err)
	}
	caps := r.info.Capabilities
	for _, step := range r.plan.Steps {
		for _, size := range step.Size.All() {
			if size < caps.MinFrameSize || size > caps.MaxFrameSize {
				return nil, fmt.Errorf("frames of %d bytes: engine %s sends %d to %d bytes on these ports: %w", size, r.info.Engine, caps.MinFrameSize, caps.MaxFrameSize, traffic.ErrUnsupported)
			}
		}
	}
	var facts *v1alpha1.DeviceFacts
	if r.telemetry != nil {
		facts = r.telemetry.Facts(ctx)
	}
	r.change(func() {
		r.state.Environment = environment(r.cfg.Bed, &r.cfg.Benchmark.Spec, r.plan, r.info)
		r.state.Environment.SetConfiguration(r.cfg.Variant, r.cfg.Configuration)
		r.state.Environment.DeviceFacts = facts
		r.state.Environment.Calibration = r.cfg.Calibration.DeepCopy()
	})
	if err := r.restoreFirst(ctx); err != nil {
		return nil, err
	}
	hops, err := trials.Resolve(ctx, r.gen, r.plan, r.info, resolveTimeout)
	if err != nil {
		return nil, err
	}
	var opts []trials.Option
	if r.powerSwitch != nil {
		opts = append(opts, trials.WithPowerSwitch(r.powerSwitch))
	}
	if r.resets != nil {
		opts = append(opts, trials.WithResets(r.resets, r.cfg.Bed.Spec.Device.Resets()))
	}
	opts = append(opts, trials.WithRestore(r.restore))
	if s, is := r.device.(trials.Scaler); is && r.scaler == nil {
		r.scaler = s
	}
	if r.scaler != nil {
		opts = append(opts, trials.WithScaler(r.scaler, r.cfg.Bed.Spec.Device.Scales()))
	}
	if r.device != nil && r.device.Capabilities().Resets {
		opts = append(opts, trials.WithDevice(r.device))
	}
	if h, has := r.gen.(routing.Host); has && r.speaker == nil {
		r.speaker = h.Speaker()
	}
	if r.speaker != nil {
		opts = append(opts, trials.WithSpeaker(r.speaker))
	}
	if h, has := r.gen.(workload.Host); has && r.workload == nil {
		r.workload = h.Workload()
	}
	if r.workload != nil {
		opts = append(opts, trials.WithWorkload(r.workload))
	}
	if counts, is := r.device.(trials.DropCounter); is {
		opts = append(opts, trials.WithDrops(counts))
	}
	if restarts, is := r.device.(trials.Router); is && r.router == nil {
		r.router = restarts
	}
	if r.router != nil {
		opts = append(opts, trials.WithRouter(r.router))
	}
	opts = append(opts, trials.WithLateness(r.info.Capabilities.Lateness))
	if r.interval != nil {
		opts = append(opts, trials.WithIntervals(r.every, r.info.Capabilities, func(i trials.Interval) {
			r.mu.Lock()
			r.progress.interval(i) // The next state has it.
			r.mu.Unlock()
			r.interval(i)
		}))
	}
	tester := trials.NewTester(r.gen, r.plan, hops, r.observe, opts...)
	for _, h := range r.cfg.Hints {
		tester.Results.AddHints(h.search())
	}
	tester.Results.AddHints(ceiling(r.cfg.Calibration, r.plan)...)
	return tester, nil
}

// restoreFirst gives the device the configuration of the run, if tests reset it or give it lists: an earlier runner may have been lost
// before the device had that configuration again.
func (r *run) restoreFirst(ctx context.Context) error {
	changes := slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool {
		return s.Test.Reset != nil && s.Test.Reset.Trigger == v1alpha1.ResetByDevice || s.Test.ConfigurationScale != nil
	})
	if r.restore == nil || !changes {
		return nil
	}
	if _, err := r.restore(ctx); err != nil {
		return fmt.Errorf("reading the configuration of the device before the first trial: %w", err)
	}
	return nil
}

// observe follows the tester.
func (r *run) observe(e trials.Event) {
	now := r.gen.Clock().Now()
	r.change(func() { r.progress.event(e, now) })
	r.power.follow(e)
	if r.event != nil {
		r.event(e)
	}
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	vm "nodrop.dev/nodrop/internal/dut/machine"
	router "nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// runHelp is the help of "nodrop run".
const runHelp = `Run a benchmark here, in one process, without a cluster: with the plan, the
methods, the engine and the result of a cluster. What the benchmark refers to is
looked for in the files given, and in the other manifests of their directories.

With the engine xdp a device of containerlab is replaced by a Linux router, or by
a bridge when the ports have no gateways, in a network namespace that is made for
the run and vanishes with it. This needs root. The engine trex does the same, and
starts a TRex server in software mode, which it needs the directory of.

Where the bed has BGP sessions, FRR (or BIRD, with --router) is started as that router,
with a configuration that is made from the sessions, and the tester's speakers connect
from the ports. Passwords are read from the directory --secrets. FRR is started as well
where the bed says that the device routes multicast.

A device machine is an emulated machine (QEMU) with a kernel of its own, which the run
starts and ends. Its kernel is looked for in the directory --machines.

A physical device is measured through the interfaces of this machine that the ports
name, and so are cables that are joined in its place. The interfaces are moved into that namespace, and are back as they were when the run ends;
after a run that was killed, nodrop clean or the next run puts them back.

With --metrics rows, trials and samples of the ports are written to InfluxDB while the
benchmark runs. No trial waits for that; what the database does not take is kept, and
written by the next run with the same --metrics.

Finished rows are kept in a file until the run has ended by itself. After Ctrl-C, a
crash or an error the same command with --resume measures the others only.

Gates (spec.gates) are judged at the end. What those compare with that are relative to
a baseline is looked for in the results that --baseline gives.

The exit code says how the benchmark ended: 0 Passed, or Measured without gates,
2 Failed (a gate, or the device forwarded nothing), 3 Invalid, 4 Aborted (also when
interrupted), 5 Error, 7 Inconclusive; 1 when it could not begin.` + clusterRunHelp

func newRunCommand() *cobra.Command {
	r := &runCommand{options: standalone.Options{Hidden: []string{metricsTokenEnv}}}
	cmd := &cobra.Command{
		Use:   "run -f FILE [NAME]",
		Short: "Run a benchmark here, in one process, without a cluster",
		Long:  runHelp,
		Example: `  sudo nodrop run -f benchmark.yaml
  nodrop run -f config/samples/reference -o json --output-file result.json reference-multicast` + clusterRunExample,
		Args: cobra.MaximumNArgs(1),
		RunE: r.run,
	}
	r.addFlags(cmd)
	return cmd
}

// runCommand contains the flags of "nodrop run".
type runCommand struct {
	manifests   manifestFlags
	options     standalone.Options
	calibration string
	baselines   []string
	resume      bool
	metrics     metricsFlags
	out         terminal.Output
	cluster     *clusterRun
}

func (r *runCommand) addFlags(cmd *cobra.Command) {
	r.manifests.addFlags(cmd)
	cmd.Flags().Float64Var(&r.options.Pace, "sim-pace", 0, "with the engine sim, how many simulated seconds pass in a real one (0: a trial takes no time)")
	cmd.Flags().StringVar(&r.calibration, "calibration", "", "result (-o json) of a benchmark on a bed with device backToBack, which says what the tester does by itself")
	cmd.Flags().StringArrayVar(&r.baselines, "baseline", nil, "file with a result (-o json), or directory of such files, that relative gates compare with; may be repeated")
	cmd.Flags().StringVar(&r.options.TrexDir, "trex", os.Getenv(standalone.TrexDirEnv), "with the engine trex, directory of the TRex server, which holds _t-rex-64; $"+standalone.TrexDirEnv+" without it")
	cmd.Flags().StringVar(&r.options.Machines, "machines", os.Getenv(vm.DirEnv), "with a device machine, directory that contains kernels; $"+vm.DirEnv+" without it")
	cmd.Flags().BoolVar(&r.options.InPlace, "in-place", false, "use the interfaces of a physical device where they are, without moving them into a network namespace of the run")
	cmd.Flags().BoolVar(&r.resume, "resume", false, "go on with a run that was interrupted: finished rows are not measured again")
	addRoutingFlags(cmd, &r.options.Routing)
	r.metrics.addFlags(cmd)
	addStateDir(cmd, &r.options.StateDir)
	r.out.AddFlags(cmd, report.Formats())
	r.cluster = newClusterRun(cmd, "filename", "recursive", "set", "output", "output-file")
}

// run measures the benchmark here, or in a cluster where a flag asks for that.
func (r *runCommand) run(cmd *cobra.Command, args []string) error {
	if err := r.out.Check(); err != nil {
		return err
	}
	if wanted, err := r.cluster.wanted(); err != nil {
		return err
	} else if wanted {
		return r.cluster.run(cmd, &r.manifests, &r.out, nameIn(args))
	}
	database, written, err := r.metrics.config()
	if err != nil {
		return err
	}
	stdin, err := keepStdin(cmd.InOrStdin(), r.manifests.files)
	if err != nil {
		return err
	}
	bundle, err := r.manifests.read(cmd, stdin, nameIn(args))
	if err != nil {
		return err
	}
	calibration, err := readCalibration(r.calibration)
	if err != nil {
		return err
	}
	compareWith, err := findBaselines(cmd.Context(), bundle, r.baselines)
	if err != nil {
		return err
	}
	captures, err := standalone.NewCaptures(r.out.File, &bundle.Benchmark)
	if err != nil {
		return err
	}
	kept, left, err := standalone.OpenRows(r.out.File, r.manifests.files, bundle, calibration, r.options.InPlace, r.resume)
	if err != nil {
		return err
	}
	bench, err := standalone.New(bundle, calibration, r.options)
	if err := refusal(bundle, err); err != nil {
		return err
	}
	bench.Baselines = compareWith
	sayMissing(cmd.ErrOrStderr(), bundle, compareWith)
	bench.Notes = append(bench.Notes, skipHooks(cmd.ErrOrStderr(), &bundle.Bed)...)
	bench.Notes = append(bench.Notes, r.manifests.notes()...)
	bench.Notes = append(bench.Notes, calibrationNotes(&bundle.Bed, calibration)...)
	if r.resume {
		bench.Notes = append(bench.Notes, standalone.ResumedNote(kept, time.Now()))
	} else if left != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "nodrop: %s left in %s, which a run that began %s and did not end by itself measured; the first row of this run replaces them\nhint: the same command with --resume goes on with them\n", standalone.DescribeRows(len(left.Rows)), left.Path, standalone.DescribeMoment(left.Origin.Began))
	}
	var points *runMetrics
	if written {
		if points, err = openMetrics(database, bundle, kept.Origin.Exactly(), r.metrics.interval, bench.Dial); err != nil {
			return errors.Join(err, bench.Close())
		}
	}
	return r.measure(cmd, bundle, bench, kept, captures, points)
}

// refusal describes why the bundle cannot be measured here; nil if it can.
func refusal(bundle *manifest.Bundle, err error) error {
	problems := standalone.Refused(err)
	if len(problems) == 0 {
		return err
	}
	err = bundle.Invalid(problems)
	if bundle.Bed.Spec.Device.BackToBack != nil {
		err = hint.With(err, "joinedBy: Loops measures veth pairs in place of the interfaces")
	}
	return err
}

// measure runs the benchmark, cleans up after it, and writes its result. Captures and points
// may be nil.
func (r *runCommand) measure(cmd *cobra.Command, bundle *manifest.Bundle, bench *standalone.Bench, kept *runner.Kept, captures *standalone.Captures, points *runMetrics) error {
	view := newRunView(cmd.ErrOrStderr())
	document, err := measure(cmd.Context(), bundle, bench, kept, captures, points, view)
	closing := bench.Close()
	if closing != nil {
		exit.Explain(cmd.ErrOrStderr(), "nodrop", fmt.Errorf("cleaning up: %w", closing))
	}
	if err != nil {
		return err
	}
	defer standalone.CloseRows(kept, document.Phase, cmd.ErrOrStderr())
	err = r.out.Write(cmd.OutOrStdout(), document)
	if points != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "nodrop:", points.close(cmd.Context()))
	}
	if err != nil {
		return err
	}
	if errors.Is(closing, standalone.ErrNotRestored) {
		return &exit.Coded{Err: standalone.ErrNotRestored, Code: exit.Error}
	}
	return exit.Outcome(document.Phase)
}

func addRoutingFlags(cmd *cobra.Command, o *standalone.Routing) {
	cmd.Flags().StringVar(&o.Kind, "router", router.FRR, "router that is started as the device for a bed with BGP sessions or multicast routing: "+strings.Join(standalone.Routers, " or "))
	cmd.Flags().StringVar(&o.Memory, "router-memory", "", "memory that this router may use, such as 256Mi; all without it")
	cmd.Flags().StringVar(&o.Secrets, "secrets", os.Getenv(standalone.SecretsEnv), "directory with passwords of BGP sessions, in files NAME/KEY as passwordSecretRef names them, and with the Secret of a device with management; $"+standalone.SecretsEnv+" without it")
}

// interruption returns a context that ends when a signal interrupts the process. Signals have
// their usual effect again after stop, unless the process must put something back.
func interruption(b *standalone.Bench) (interrupted context.Context, stop func()) {
	if b.Interrupted != nil {
		return b.Interrupted, func() {}
	}
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// measure runs the benchmark to its end, or until it is interrupted. Rows that are kept are
// not measured again. Captures and points may be nil.
func measure(ctx context.Context, bundle *manifest.Bundle, b *standalone.Bench, kept *runner.Kept, captures *standalone.Captures, points *runMetrics, view *runView) (*report.Document, error) {
	start := metav1.Now().Rfc3339Copy()
	if seconds := bundle.Benchmark.Spec.ActiveDeadlineSeconds; seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	interrupted, stop := interruption(b)
	defer stop()

	if b.Broken != nil {
		go func() {
			if err := b.Broken(ctx); err != nil {
				abort(err)
			}
		}()
	}

	states := make(chan runner.State)
	ended := make(chan runner.State, 1)
	go func() {
		opts := []runner.Option{
			runner.WithRows(kept.Rows), runner.WithLog(func(row v1alpha1.ResultRow) { view.lost(kept.Keep(row)) }),
			runner.WithObserver(func(s runner.State) { states <- s }),
		}
		if b.Telemetry != nil {
			b.Telemetry.Follow(points.follow())
			opts = append(opts, runner.WithTelemetry(b.Telemetry))
		}
		if b.Power != nil {
			b.Power.Follow(points.follow())
			opts = append(opts, runner.WithPower(b.Power))
		}
		if b.PowerSwitch != nil {
			opts = append(opts, runner.WithPowerSwitch(b.PowerSwitch))
		}
		if b.Resets != nil {
			opts = append(opts, runner.WithResets(b.Resets))
		}
		if captures != nil {
			opts = append(opts, runner.WithCapture(captures.Keep))
		}
		opts = append(append(opts, points.options(kept.Rows)...), intervalOptions(b, view, points)...)
		ended <- runner.RunVariants(ctx, b.Variants, opts...)
	}()
	state := view.follow(states, ended, interrupted, func() {
		// From here on a second signal has its usual effect: it ends the process,
		// and the namespaces vanish with it.
		if b.Hurry != nil {
			b.Hurry()
		}
		stop()
		abort(runner.ErrAborted)
	})

	end := metav1.Now().Rfc3339Copy()
	benchmark := bundle.Benchmark.DeepCopy()
	benchmark.Status = v1alpha1.BenchmarkStatus{
		Phase: state.Outcome, Outcome: state.Outcome, Message: state.Message, TestBedName: bundle.Bed.Name,
		StartTime: &start, CompletionTime: &end,
	}
	environment := state.Environment
	if environment == nil {
		environment = &v1alpha1.ResultEnvironment{}
	}
	if b.Device != "" {
		environment.Device = b.Device
	}
	document := report.New(judged(report.Content{
		Benchmark: benchmark, Rows: state.Rows, Environment: environment, Notes: b.Notes,
		Profile: &bundle.Profile, Bed: &bundle.Bed, ConfigMaps: bundle.ConfigMaps, Baselines: b.Baselines,
	}))
	points.gates(document.Gates, state.Rows)
	if len(bundle.Files) > 0 && bundle.Files[0] != manifest.Stdin {
		document.Manifest = bundle.Files[0]
	}
	return document, nil
}

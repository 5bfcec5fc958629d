//go:build !standalone

package inpod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/runner/service"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/remote"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/workload"
	workloads "nodrop.dev/nodrop/internal/workload/remote"
)

// runnerOptions are the flags of nodrop runner.
type runnerOptions struct {
	config, tls, checkpoint, listen, operator string
	dialTimeout                               time.Duration
	// ready is called with the address once the runner listens.
	ready func(net.Addr)
}

// errToldToEnd is the reason for the end of a runner's context.
var errToldToEnd = errors.New("the runner's pod is being stopped")

// NewRunnerCommand returns the command of the runner, which measures a benchmark.
func NewRunnerCommand() *cobra.Command {
	var o runnerOptions
	cmd := &cobra.Command{
		Use:   "runner",
		Short: "Execute a benchmark in a pod, and show the operator how far it is",
		Long: `Execute a benchmark in a pod: drive the agents (or the engine sim) trial by
trial, keep finished rows in a checkpoint, and show the state to the operator over
HTTPS with mutual TLS. It begins when the operator has given it the rows that are
stored already. After the end it goes on showing the final state until it
is stopped by SIGTERM.

Exit codes: 0 when stopped by SIGTERM after the benchmark, 1 when it could not begin or
not be asked, 6 when stopped before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signals, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			ctx, cancel := context.WithCancelCause(cmd.Context())
			defer cancel(nil)
			defer context.AfterFunc(signals, func() { cancel(errToldToEnd) })()
			return runRunner(ctx, o, podLog(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "/etc/nodrop/config/run.json.zst", "file with everything that the run needs, JSON compressed with zstd")
	cmd.Flags().StringVar(&o.tls, "tls", pki.DirDefault, "directory with ca.crt, tls.crt and tls.key")
	cmd.Flags().StringVar(&o.checkpoint, "checkpoint", "/var/lib/nodrop", "directory in which finished rows are kept")
	cmd.Flags().StringVar(&o.listen, "listen", ":"+strconv.Itoa(service.Port), "address to listen at")
	cmd.Flags().StringVar(&o.operator, "operator", "", "name in the certificate of the operator that may ask (required)")
	cmd.Flags().DurationVar(&o.dialTimeout, "agent-timeout", 2*time.Minute, "how long to wait for the agents at the beginning")
	_ = cmd.MarkFlagRequired("operator")
	return cmd
}

func runRunner(ctx context.Context, o runnerOptions, log *slog.Logger) error {
	var config runner.Config
	bundle, tlsConfig, err := readPod(o.config, &config, o.tls, o.operator)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.checkpoint, 0o700); err != nil {
		return fmt.Errorf("making the directory for the checkpoint: %w", err)
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if o.ready != nil {
		o.ready(listener.Addr())
	}
	points, err := OpenPoints(config, log)
	if err != nil {
		// A run does without its metrics.
		log.Error("the points of the run are not recorded", "error", err.Error())
	}
	defer func() {
		if err := points.Close(); err != nil {
			log.Error("handing over the last points", "error", err.Error())
		}
	}()
	board := service.NewBoard()
	board.Set(runner.State{Progress: v1alpha1.Progress{Summary: "waiting to begin"}})
	server := service.NewServer(board)
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener, tlsConfig) }()

	// The run ends if the runner cannot answer requests any more.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := make(chan runner.State, 1)
	go func() {
		finished <- execute(ctx, o, config, bundle, board, points, log)
	}()
	for done := false; ; {
		select {
		case final := <-finished:
			done = ctx.Err() == nil
			board.Set(final)
			log.Info("the run has ended", "outcome", final.Outcome, "reason", final.Reason, "message", final.Message, "rows", len(final.Rows))
			finished = nil
		case err := <-served:
			cancel(err)
			if finished != nil {
				<-finished
			}
			return err
		case <-ctx.Done():
			if finished != nil {
				<-finished
			}
			if done {
				return nil
			}
			return &exit.Coded{Err: context.Cause(ctx), Code: exit.Unfinished}
		}
	}
}

// execute runs the benchmark once the operator says so; like runner.Run it does not
// fail, but ends in a state that says what went wrong.
func execute(ctx context.Context, o runnerOptions, config runner.Config, bundle pki.Bundle, board *service.Board, points *runnerPoints, log *slog.Logger) runner.State {
	select {
	case <-board.Begun():
	case <-ctx.Done():
		return runner.State{Done: true, Outcome: v1alpha1.PhaseError, Reason: v1alpha1.ReasonRunnerFailed, Message: context.Cause(ctx).Error()}
	}
	given := board.Given()
	log.Info("the run begins", "rows", len(given))
	board.Set(runner.State{Progress: v1alpha1.Progress{Summary: "connecting to the traffic pods"}})
	gen, driver, err := openGenerator(ctx, o, config, bundle, log)
	if err != nil {
		final := runner.State{Done: true, Outcome: v1alpha1.PhaseError, Reason: v1alpha1.ReasonRunnerFailed, Message: err.Error()}
		if len(config.Agents) > 0 && ctx.Err() == nil {
			final.Reason = v1alpha1.ReasonAgentLost
		}
		return final
	}
	reading, closeReading, err := openTelemetry(config, bundle, points.Follow())
	if err != nil {
		return runner.State{Done: true, Outcome: v1alpha1.PhaseError, Reason: v1alpha1.ReasonRunnerFailed, Message: err.Error()}
	}
	defer closeReading()
	options := append(points.Options(config.Bed.Spec.Engine.Kind, given),
		runner.WithCheckpoint(o.checkpoint), runner.WithRows(given), runner.WithDevice(driver), runner.WithSpeaker(speakerOf(gen)), runner.WithWorkload(workloadOf(config, gen)), runner.WithLog(board.Append),
		runner.WithObserver(func(s runner.State) {
			// The end is shown once the ports are given back.
			if !s.Done {
				board.Set(s)
			}
		}))
	final := runner.Run(ctx, config, gen, append(options, reading...)...)
	if err := gen.Close(); err != nil {
		log.Error("giving the traffic engine up", "error", err)
	}
	return final
}

// openGenerator opens the generator, with the driver of the device where the runner can
// do something with it; otherwise the driver is nil.
func openGenerator(ctx context.Context, o runnerOptions, config runner.Config, bundle pki.Bundle, log *slog.Logger) (traffic.Generator, device.Driver, error) {
	if len(config.Agents) == 0 {
		engine, err := runner.NewSim(config)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the engine sim: %w", err)
		}
		return engine, engine.Device(), nil
	}
	ports, errs := plan.Ports(&config.Bed)
	if len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	order := make([]string, len(ports))
	for i, p := range ports {
		order[i] = p.Name
	}
	endpoints := make([]agent.Endpoint, len(config.Agents))
	for i, e := range config.Agents {
		endpoints[i] = agent.Endpoint(e)
	}
	ctx, cancel := context.WithTimeout(ctx, o.dialTimeout)
	defer cancel()
	fleet, err := agent.DialFleet(ctx, endpoints, order, bundle, agent.ClientOptions{Log: log})
	if err != nil {
		return nil, nil, err
	}
	return fleet, nil, nil
}

// workloadOf returns the engine of applications of the agent that has all ports; nil if no test needs it, or for the
// engine sim, which has one.
func workloadOf(config runner.Config, gen traffic.Generator) workload.Engine {
	fleet, is := gen.(*agent.Fleet)
	if !is || !plan.NeedHosts(config.Benchmark.Spec.Tests) {
		return nil
	}
	only := fleet.Members()[0]
	return workloads.New(only.Name(), only.Conn())
}

// speakerOf joins the speakers of agents into one; nil for the engine sim, which has one.
func speakerOf(gen traffic.Generator) routing.Speaker {
	fleet, is := gen.(*agent.Fleet)
	if !is {
		return nil
	}
	var parts []routing.Part
	for _, c := range fleet.Members() {
		parts = append(parts, routing.Part{Ports: c.Ports(), Speaker: remote.New(c.Name(), c.Conn())})
	}
	return routing.Join(parts...)
}

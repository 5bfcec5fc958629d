//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newWatchCommand() *cobra.Command {
	var out terminal.Output
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow a benchmark in the cluster to its end, and print its result",
		Long: `Follow a benchmark in the cluster: its place in the queue, the trial in hand, the
time left, every finished row; and at its end print the result. Progress goes to
stderr, the result to stdout.

The exit code says how the benchmark ended: 0 Passed, or Measured without gates,
2 Failed, 3 Invalid, 4 Aborted, 5 Error, 7 Inconclusive; 6 when watching ended
before the benchmark did.`,
		Example: `  kubectl nodrop watch router-rfc2544 -n team-routing
  kubectl nodrop watch router-rfc2544 --timeout 30m -o json --output-file result.json`,
		Args: cobra.ExactArgs(1),
	}
	k := cluster.NewClient(cmd)
	out.AddFlags(cmd, report.Formats())
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop watching after this time; the benchmark goes on (0: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		if err := out.Check(); err != nil {
			return err
		}
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		w := &cluster.Watcher{Client: c, Key: client.ObjectKey{Namespace: namespace, Name: args[0]}, Live: terminal.NewLive(cmd.ErrOrStderr()), Retry: time.Second}
		benchmark, err := w.UntilFinished(ctx)
		w.Live.Clear()
		if err != nil {
			return stoppedWatching(ctx, err, args[0], timeout)
		}
		document, err := documents.OfBenchmark(ctx, c, benchmark)
		if err != nil {
			return err
		}
		if err := out.Write(cmd.OutOrStdout(), document); err != nil {
			return err
		}
		return exit.Outcome(benchmark.Status.Phase)
	}
	return cmd
}

// stoppedWatching distinguishes an ended watch from a failed one.
func stoppedWatching(ctx context.Context, err error, name string, timeout time.Duration) error {
	why := "watching was interrupted"
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = fmt.Sprintf("benchmark %s did not end in %s", name, timeout)
	}
	return &exit.Coded{
		Err:  hint.With(errors.New(why), "it goes on in the cluster: watch it again, or end it with kubectl patch benchmark "+name+` --type merge -p '{"spec":{"abort":true}}'`),
		Code: exit.Unfinished,
	}
}

//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/documents"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// clusterRun is "run --wait": benchmarks are applied to the cluster and followed to their end.
type clusterRun struct {
	kube *cluster.Client
	// local and here are the flags of a run without a cluster, and those of one in it.
	local, here *pflag.FlagSet

	wait             bool
	nameSuffix       string
	reportDir        string
	timeout          time.Duration
	abortOnInterrupt bool
}

const clusterRunHelp = `

With --wait the benchmarks run in the cluster. The TrafficProfiles and Benchmarks of the
files are applied there (server-side, field manager nodrop-cli, without force), followed as
kubectl nodrop watch does, and reported. Other objects of the files are left to those who
own them. An interrupt leaves the benchmarks running, unless --abort-on-interrupt is given.
Of several benchmarks the exit code is the first that one of them has of 2, 5, 3, 4, 7; it
is 6 when one has not ended.`

const clusterRunExample = `
  kubectl nodrop run --wait -f bench/ --name-suffix "$COMMIT" --report-dir reports -n team-routing`

// newClusterRun adds the flags of --wait. Those that the command has already, but shared
// ones, are refused together with it.
func newClusterRun(cmd *cobra.Command, shared ...string) *clusterRun {
	r := &clusterRun{local: pflag.NewFlagSet("local", pflag.ContinueOnError), here: pflag.NewFlagSet("cluster", pflag.ContinueOnError)}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(shared, f.Name) {
			r.local.AddFlag(f)
		}
	})
	separate := &cobra.Command{}
	r.kube = cluster.NewClient(separate)
	flags := separate.Flags()
	flags.StringVar(&r.nameSuffix, "name-suffix", "", "with --wait, applies the benchmarks and profiles under names that end in a dash and this text, such as a commit")
	flags.StringVar(&r.reportDir, "report-dir", "", "with --wait, directory for the reports of each benchmark: NAME.html, NAME.json, NAME.xml (JUnit) and NAME.sarif")
	flags.DurationVar(&r.timeout, "timeout", 0, "with --wait, stop waiting after this time; the benchmarks go on (0: never)")
	flags.BoolVar(&r.abortOnInterrupt, "abort-on-interrupt", false, "with --wait, abort the benchmarks when this command is interrupted")
	r.here.AddFlagSet(flags)
	cmd.Flags().AddFlagSet(flags)
	cmd.Flags().BoolVar(&r.wait, "wait", false, "run in the cluster: apply the benchmarks there, wait for their end, and report")
	return r
}

// wanted reports whether the benchmarks are to run in the cluster. It refuses flags of the other kind of run.
func (r *clusterRun) wanted() (bool, error) {
	others, advice := r.here, "leave it out, or run in the cluster with --wait"
	if r.wait {
		others, advice = r.local, "leave it out: the bed of the cluster decides that"
	}
	var wrong []string
	others.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	switch {
	case len(wrong) == 0:
		return r.wait, nil
	case r.wait:
		return false, hint.With(fmt.Errorf("%s cannot be given with --wait", strings.Join(wrong, ", ")), advice)
	}
	return false, hint.With(fmt.Errorf("%s needs --wait", strings.Join(wrong, ", ")), advice)
}

// run applies the benchmarks, follows them one after the other to their ends, and reports.
func (r *clusterRun) run(cmd *cobra.Command, in *manifestFlags, out *terminal.Output, name string) error {
	set, _, err := in.load(cmd, cmd.InOrStdin())
	if err != nil {
		return err
	}
	objects, err := set.Objects()
	if err != nil {
		return err
	}
	c, namespace, err := r.kube.Connect()
	if err != nil {
		return err
	}
	chosen, err := chooseObjects(objects, namespace, r.kube.HasNamespace(), name)
	if err != nil {
		return err
	}
	if err := chosen.rename(r.nameSuffix); err != nil {
		return err
	}
	if len(chosen.benchmarks) > 1 && (report.Format(out.Format) != report.FormatTable || out.File != "") {
		return hint.With(fmt.Errorf("-o %s and --output-file have the result of one benchmark, and there are %d", out.Format, len(chosen.benchmarks)), "give --report-dir in their place, or name one benchmark")
	}
	if err := makeReportDir(r.reportDir); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	chosen.sayLeftOut(stderr)
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	// An interruption does not stop apply, so that every created benchmark is known.
	applied, err := chosen.apply(context.WithoutCancel(ctx), c, r.nameSuffix != "", stderr)
	if err != nil {
		return err
	}
	ended, err := r.follow(ctx, c, applied, stop, stderr)
	for i, b := range ended {
		if failed := r.report(cmd, c, b, chosen.fileOf(b.Name), out, i > 0); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return err
	}
	return worst(ended)
}

// abortPatience is the maximum time for an aborted benchmark to end, with the cleaning of its
// bed.
const abortPatience = 10 * time.Minute

// follow waits for the end of every benchmark. It returns those that have ended also with an error.
func (r *clusterRun) follow(ctx context.Context, c client.WithWatch, applied []client.ObjectKey, stop func(), stderr io.Writer) ([]*v1alpha1.Benchmark, error) {
	var ended []*v1alpha1.Benchmark
	interrupted := false
	for i, key := range applied {
		l := terminal.NewLive(stderr)
		if len(applied) > 1 {
			l.Keep(fmt.Sprintf("benchmark %s (%d of %d)", key.Name, i+1, len(applied)))
		}
		w := &cluster.Watcher{Client: c, Key: key, Live: l, Retry: time.Second}
		b, err := w.UntilFinished(ctx)
		if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) && r.abortOnInterrupt && !interrupted {
			interrupted = true
			stop() // A second signal has its usual effect.
			l.Keep("interrupted: aborting")
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
			defer cancel()
			if failed := abortAll(ctx, c, applied[i:]); failed != nil {
				l.Clear()
				return ended, failed
			}
			b, err = w.UntilFinished(ctx)
		}
		l.Clear()
		if err != nil {
			timeout := r.timeout
			if interrupted {
				timeout = abortPatience
			}
			return ended, stoppedWatching(ctx, err, key.Name, timeout)
		}
		ended = append(ended, b)
	}
	return ended, nil
}

// abortAll sets spec.abort of benchmarks.
func abortAll(ctx context.Context, c client.Client, keys []client.ObjectKey) error {
	var all []error
	for _, key := range keys {
		b := &v1alpha1.Benchmark{}
		b.Name, b.Namespace = key.Name, key.Namespace
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"abort":true}}`))
		if err := c.Patch(ctx, b, patch, client.FieldOwner(fieldManager)); client.IgnoreNotFound(err) != nil {
			all = append(all, fmt.Errorf("aborting benchmark %s: %w", key.Name, err))
		}
	}
	return errors.Join(all...)
}

// report writes the result of a benchmark to stdout and to the directory of reports.
func (r *clusterRun) report(cmd *cobra.Command, c client.Client, b *v1alpha1.Benchmark, file string, out *terminal.Output, further bool) error {
	document, err := documents.OfBenchmark(cmd.Context(), c, b)
	if err != nil {
		return err
	}
	if file != manifest.Stdin {
		document.Manifest = file
	}
	if err := writeReports(r.reportDir, b.Name, document); err != nil {
		return err
	}
	if further {
		fmt.Fprintln(cmd.OutOrStdout())
	}
	return out.Write(cmd.OutOrStdout(), document)
}

// worst is the outcome of several benchmarks. A device that failed comes before a lab that
// did, since it is what a pipeline must not miss.
func worst(ended []*v1alpha1.Benchmark) error {
	for _, code := range []int{exit.Unfinished, exit.Failed, exit.Error, exit.Invalid, exit.Aborted, exit.Inconclusive} {
		for _, b := range ended {
			if exit.CodeOf(b.Status.Phase) == code {
				return exit.Outcome(b.Status.Phase)
			}
		}
	}
	return nil
}

// makeReportDir makes the directory of reports before anything runs; nothing without one.
func makeReportDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return hint.With(fmt.Errorf("--report-dir: %w", err), "name a directory that you may write to")
	}
	file, err := os.CreateTemp(dir, ".nodrop-")
	if err != nil {
		return hint.With(fmt.Errorf("--report-dir: %w", err), "name a directory that you may write to")
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

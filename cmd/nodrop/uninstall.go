//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/hint"
)

func newUninstallCommand() *cobra.Command {
	u := &uninstaller{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove from a cluster what would block it without the operator: webhooks, finalizers",
		Long: `Remove from a cluster what would block it without the operator. The operator is stopped first
(its Deployment is scaled to 0), then its webhooks are removed, and then the finalizers of
NoDrop from results, benchmarks, beds and Secrets of devices, in this order. It works, and can
be repeated, when the operator or its namespace is gone already; namespaces that could not be
deleted for that reason go then. Afterwards helm uninstall removes the rest of the chart.

It refuses while benchmarks have beds, devices are up, or results are not in the archive yet.
--force ends runs without their results. It stops no device: its output names the nodes.
--crds removes the definitions too, and with them all benchmarks, results and beds.`,
		Example: `  kubectl nodrop uninstall --dry-run
  kubectl nodrop uninstall && helm uninstall nodrop --namespace nodrop-system`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVar(&u.dryRun, "dry-run", false, "only list what would be done")
	f.BoolVar(&u.force, "force", false, "end runs, and give up results that are not in the archive")
	f.BoolVar(&u.crds, "crds", false, "remove the definitions too, and with them all objects of NoDrop")
	f.StringVar(&u.lab, "lab-namespace", operator.DefaultLabNamespace, "namespace of the pods of runs")
	f.DurationVar(&timeout, "timeout", 2*time.Minute, "time to wait for what is being removed")
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if timeout <= 0 {
			return fmt.Errorf("--timeout is %s: give a time of more than 0, such as 2m", timeout)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the timeout of %s is over", timeout))
		defer cancel()
		var err error
		if _, u.client, err = k.Reach(); err != nil {
			return err
		}
		u.out = cmd.OutOrStdout()
		return explainedUninstall(u.run(ctx))
	}
	return cmd
}

// explainedUninstall adds to an error how to go on.
func explainedUninstall(err error) error {
	switch {
	case err == nil || hint.Of(err) != "":
		return err
	case apierrors.IsForbidden(err):
		return hint.With(err, "only an administrator of the cluster (ClusterRole cluster-admin) may uninstall")
	}
	return hint.With(err, "the command can be repeated: it continues with what is left")
}

// run uninstalls in stages, each of which begins when the one before has succeeded.
func (u *uninstaller) run(ctx context.Context) error {
	reasons, err := u.reasons(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(reasons) > 0 && u.dryRun && !u.force:
		fmt.Fprintf(u.out, "would refuse without --force:\n%s", listed(reasons))
	case len(reasons) > 0 && !u.force:
		return hint.With(fmt.Errorf("the lab is in use:\n%s", strings.TrimRight(listed(reasons), "\n")),
			"close the beds (kubectl nodrop cordon), wait for their benchmarks or set their spec.abort, and wait for the archive; or give --force")
	}
	for _, stage := range []func(context.Context) ([]action, error){
		u.operators, u.webhooks, u.runs, u.archived, u.benchmarks, u.beds, u.devices, u.definitions,
	} {
		actions, err := stage(ctx)
		if err != nil {
			return err
		}
		if err := u.act(ctx, actions); err != nil {
			return err
		}
	}
	if u.done == 0 {
		fmt.Fprintln(u.out, "there is nothing to remove")
	}
	left, err := u.left(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	fmt.Fprintf(u.out, "left:\n%s", listed(left))
	return nil
}

// act performs the actions of a stage, or lists them.
func (u *uninstaller) act(ctx context.Context, actions []action) error {
	var failures []error
	for _, a := range actions {
		u.done++
		if u.dryRun {
			fmt.Fprintf(u.out, "would %s %s\n", a.verb.would, a.what)
			continue
		}
		if err := a.do(ctx); err != nil {
			failures = append(failures, fmt.Errorf("%s was not %s: %w", a.what, a.verb.did, err))
			continue
		}
		fmt.Fprintf(u.out, "%s %s\n", a.verb.did, a.what)
	}
	return errors.Join(failures...)
}

// maxListed is the maximum number of lines of a list.
const maxListed = 20

// listed writes one line for each text.
func listed(all []string) string {
	var b strings.Builder
	for _, text := range all[:min(len(all), maxListed)] {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if more := len(all) - maxListed; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

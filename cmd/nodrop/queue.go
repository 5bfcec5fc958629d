//go:build !standalone

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/base/hint"
)

func newQueueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue [BED]",
		Short: "Show which benchmarks wait, at which place, for what, and why, and which reservations come",
		Long: `Show the benchmarks that wait, computed from the objects as they are now in the way
that the operator does. The status of a benchmark that waits has neither its place nor its
expected start, so that others that come and go cause no write.

The first --limit benchmarks of the queue are shown; if more wait, a summary shows how many
wait for each bed, and in each namespace. Below are the reservations of the beds that are in
progress and that come, as the beds have them in their status. A benchmark starts only if it
would end before them.

STARTS IN is an estimate for the first 500 of the queue, from how long benchmarks with the
same tests had beds before, or from their plan, and from how long it takes until the next one
has the bed. It is "?" where nothing is known, such as for a simulated bed on which no
benchmark has ended yet. With a LabPolicy benchmarks come in the order in which their teams
are behind their shares: see docs/sharing.md.

The place is counted on the bed where the fewest come first: 1 comes next. It is
computed from what you may list. Who may list the benchmarks of one namespace only sees
places among those, marked with >=, and for each bed how many wait in all.

A terminal that is too narrow leaves out SINCE, PRIORITY and WAITS FOR, in this order, and
continues WHY in further lines. A pipe gets everything.`,
		Example: `  kubectl nodrop queue
  kubectl nodrop queue access-switch
  kubectl nodrop queue -n team-routing
  kubectl nodrop queue --limit 0 -o json`,
		Args: cobra.MaximumNArgs(1),
	}
	k := cluster.NewClient(cmd)
	var out terminal.Output
	var limit int
	out.AddFormat(cmd, terminal.NamedFormats())
	cmd.Flags().IntVar(&limit, "limit", 50, "number of benchmarks to show; 0 shows all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		if limit < 0 {
			return fmt.Errorf("--limit %d is negative: give a number of benchmarks, or 0 for all", limit)
		}
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		lab, partial, err := listLab(cmd.Context(), c, namespace)
		if err != nil {
			return err
		}
		lab.Now = time.Now()
		v := queueView{places: allocation.Lineup(lab), beds: lab.Beds, partial: partial, now: lab.Now}
		if len(args) > 0 {
			v.bed = args[0]
			if !slices.ContainsFunc(lab.Beds, func(b v1alpha1.TestBed) bool { return b.Name == v.bed }) {
				return hint.With(fmt.Errorf("there is no TestBed %q", v.bed), "kubectl get testbeds lists them")
			}
		}
		if cmd.Flags().Changed("namespace") {
			v.namespace = namespace
		}
		return out.Write(cmd.OutOrStdout(), v.document(limit))
	}
	return cmd
}

// listLab lists what places depend on. It is partial, and has the benchmarks of one
// namespace, where the person may list no others.
func listLab(ctx context.Context, c client.Client, namespace string) (lab allocation.LineupInput, partial bool, _ error) {
	var beds v1alpha1.TestBedList
	if err := c.List(ctx, &beds); err != nil {
		return lab, false, cluster.Unreachable(err)
	}
	var benchmarks v1alpha1.BenchmarkList
	err := c.List(ctx, &benchmarks)
	if apierrors.IsForbidden(err) {
		partial = true
		err = c.List(ctx, &benchmarks, client.InNamespace(namespace))
	}
	if err != nil {
		return lab, partial, cluster.Unreachable(err)
	}
	lab, err = allocation.ReadLineupInput(ctx, c, beds.Items, benchmarks.Items)
	if err != nil {
		return lab, partial, cluster.Unreachable(err)
	}
	return lab, partial, nil
}

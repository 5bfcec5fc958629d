//go:build !standalone

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/team"
)

func newQueueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue [BED]",
		Short: "Show which benchmarks wait, at which place, for what, and why, and which reservations come",
		Long: `Show the benchmarks that wait, computed from the objects as they are now in the way
that the operator does. The status of a benchmark has the same, but is refreshed at a
bounded rate.

Below are the reservations of the beds that are in progress and that come, as the beds
have them in their status. A benchmark starts only if it would end before them.

STARTS IN is the operator's estimate, from how long benchmarks with the same tests had
beds before. With a LabPolicy benchmarks come in the order in which their teams are behind
their shares: see docs/sharing.md.

The place is counted on the bed where the fewest come first: 1 comes next. It is
computed from what you may list. Who may list the benchmarks of one namespace only sees
places among those, marked with >=, and for each bed how many wait in all.`,
		Example: `  kubectl nodrop queue
  kubectl nodrop queue access-switch
  kubectl nodrop queue -n team-routing`,
		Args: cobra.MaximumNArgs(1),
	}
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		return v.print(cmd.OutOrStdout())
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

// queueView contains the queue to print.
type queueView struct {
	places  []allocation.Place
	beds    []v1alpha1.TestBed
	partial bool
	// bed and namespace to which the table is limited; empty means all.
	bed, namespace string
	now            time.Time
}

func (v queueView) shows(p allocation.Place) bool {
	if v.namespace != "" && p.Benchmark.Namespace != v.namespace {
		return false
	}
	return v.bed == "" || slices.Contains(p.Beds, v.bed) || p.Benchmark.Spec.TestBedName == v.bed
}

func (v queueView) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	rows := 0
	for _, p := range v.places {
		if !v.shows(p) {
			continue
		}
		if rows++; rows == 1 {
			fmt.Fprintln(table, "PLACE\tNAMESPACE\tBENCHMARK\tPRIORITY\tWAITS FOR\tSINCE\tSTARTS IN\tWHY")
		}
		b := p.Benchmark
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.place(p), b.Namespace, b.Name, team.PriorityName(b), waitsFor(p),
			duration.HumanDuration(v.now.Sub(b.CreationTimestamp.Time)), v.startsIn(b), strings.ReplaceAll(p.Why, "\n", " "))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the queue: %w", err)
	}
	if rows == 0 {
		fmt.Fprintln(out, "No benchmark waits.")
	}
	if v.partial {
		v.printOthers(out)
	}
	return v.printReservations(out)
}

// startsIn returns the time until a benchmark is expected to get a bed, as the operator
// estimates it; "?" if not known.
func (v queueView) startsIn(b *v1alpha1.Benchmark) string {
	start := b.Status.EstimatedStartTime
	switch {
	case start == nil:
		return "?"
	case !start.After(v.now):
		return "now"
	}
	return "~" + duration.HumanDuration(start.Sub(v.now))
}

// printReservations shows the reservations in progress and those that come.
func (v queueView) printReservations(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	rows := 0
	for _, bed := range v.beds {
		if v.bed != "" && bed.Name != v.bed {
			continue
		}
		for _, r := range bed.Status.Reservations {
			if !r.Until.After(v.now) {
				continue
			}
			if rows++; rows == 1 {
				fmt.Fprintln(table, "\nBED\tRESERVATION\tFROM\tUNTIL\tBEGINS IN")
			}
			begins := "now"
			if wait := r.From.Sub(v.now); wait > 0 {
				begins = duration.HumanDuration(wait)
			}
			name := r.Reservation
			if r.TestBedName != "" {
				name += " (of bed " + r.TestBedName + ", which shares an interface)"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", bed.Name, name, stampOf(r.From.Time), stampOf(r.Until.Time), begins)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the reservations: %w", err)
	}
	return nil
}

func (v queueView) place(p allocation.Place) string {
	switch {
	case !p.Accepted:
		return "-"
	case v.partial:
		return fmt.Sprintf(">=%d", p.Place.Ahead+1)
	}
	return fmt.Sprint(p.Place.Ahead + 1)
}

func waitsFor(p allocation.Place) string {
	switch {
	case !p.Accepted:
		return "-"
	case p.Place.Beds > 1:
		return fmt.Sprintf("%d beds", p.Place.Beds)
	}
	return p.Place.WaitsFor
}

// printOthers prints how many benchmarks of namespaces that cannot be listed wait for each
// bed.
func (v queueView) printOthers(out io.Writer) {
	for _, bed := range v.beds {
		if v.bed != "" && bed.Name != v.bed {
			continue
		}
		own := 0
		for _, p := range v.places {
			if slices.Contains(p.Beds, bed.Name) {
				own++
			}
		}
		if others := int(bed.Status.Queued) - own; others > 0 {
			fmt.Fprintf(out, "About %d of other namespaces, which you may not list, wait for bed %s too.\n", others, bed.Name)
		}
	}
}

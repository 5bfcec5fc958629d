//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/schedule"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newTriggerCommand() *cobra.Command {
	var cells []string
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "trigger SCHEDULE",
		Short: "Make the benchmarks of a schedule now",
		Long: `Make the benchmarks of a BenchmarkSchedule now, from its template and its matrix, with
your own rights: you need to get the schedule, and to create benchmarks in its
namespace. The times of the schedule, spec.suspend and concurrencyPolicy do not matter.
The benchmarks count as a firing of the schedule: for its history limits, for its
condition LastRunPassed, and as earlier ones for its next firing.`,
		Example: `  kubectl nodrop trigger nightly -n team-routing
  kubectl nodrop watch "$(kubectl nodrop trigger nightly --cell image-candidate -o name)"`,
		Args: cobra.ExactArgs(1),
	}
	k := cluster.NewClient(cmd)
	cmd.Flags().StringArrayVar(&cells, "cell", nil, "only this cell of the matrix, by its name (label "+v1alpha1.LabelCell+"); may be repeated")
	out.AddFormat(cmd, terminal.NamedFormats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		s, err := getSchedule(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]})
		if err != nil {
			return err
		}
		firing, err := byHand(s, cells, time.Now())
		if err != nil {
			return err
		}
		created, refused := createAll(cmd.Context(), c, firing)
		return errors.Join(refused, out.Write(cmd.OutOrStdout(), created))
	}
	return cmd
}

// byHand are the benchmarks of a firing by hand: of all cells, or of some.
func byHand(s *v1alpha1.BenchmarkSchedule, names []string, now time.Time) ([]*v1alpha1.Benchmark, error) {
	all := schedule.Cells(&s.Spec)
	var chosen []schedule.Cell
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
		if len(names) == 0 || slices.Contains(names, c.Name) {
			chosen = append(chosen, c)
		}
	}
	for _, name := range names {
		if name == "" || !slices.Contains(known, name) {
			err := fmt.Errorf("--cell is %q, and the schedule %s has no such cell", name, s.Name)
			if s.Spec.Matrix == nil {
				return nil, hint.With(err, "it has no matrix: leave --cell out")
			}
			return nil, hint.With(err, "its cells are "+strings.Join(known, ", "))
		}
	}
	var firing []*v1alpha1.Benchmark
	for _, c := range chosen {
		b := c.Benchmark(s, schedule.HandName(now), len(chosen))
		b.Annotations[v1alpha1.AnnotationTriggeredBy] = "hand"
		firing = append(firing, b)
	}
	return firing, nil
}

// triggered are the created benchmarks in the formats of the command.
type triggered []*v1alpha1.Benchmark

// Write writes a line for each benchmark, or a list of them.
func (t triggered) Write(out io.Writer, format report.Format) error {
	line := "benchmark." + v1alpha1.GroupVersion.Group + "/%s created\n"
	switch format {
	case report.FormatTable:
	case terminal.FormatName:
		line = "%s\n"
	default:
		list := v1alpha1.BenchmarkList{Items: []v1alpha1.Benchmark{}}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BenchmarkList"))
		for _, b := range t {
			list.Items = append(list.Items, *plainObject(b, "Benchmark"))
		}
		return terminal.WriteObject(out, list, format)
	}
	for _, b := range t {
		if _, err := fmt.Fprintf(out, line, b.Name); err != nil {
			return err
		}
	}
	return nil
}

// createAll creates the benchmarks of a firing, and returns the created ones. One that is refused does not
// keep the others.
func createAll(ctx context.Context, c client.Client, firing []*v1alpha1.Benchmark) (created triggered, _ error) {
	var refused []error
	for _, b := range firing {
		err := c.Create(ctx, b)
		switch {
		case apierrors.IsAlreadyExists(err):
			return created, hint.With(fmt.Errorf("benchmark %s exists: the schedule was triggered in this second already", b.Name), "trigger it again if that is meant")
		case apierrors.IsInvalid(err):
			refused = append(refused, hint.With(err, "the template or the matrix of the schedule, or the bed, has to change"))
		case apierrors.IsForbidden(err):
			refused = append(refused, hint.With(err, "ask for the ClusterRole edit (nodrop-edit is part of it) in this namespace"))
		case err != nil:
			return created, cluster.Unreachable(err)
		default:
			created = append(created, b)
		}
	}
	if len(refused) == 0 {
		return created, nil
	}
	return created, hint.With(fmt.Errorf("%d of %d benchmarks were not created: %w", len(refused), len(firing), errors.Join(refused...)), hint.Of(refused[0]))
}

// getSchedule reads a schedule; where there is none of the name, the error has those that
// there are.
func getSchedule(ctx context.Context, c client.Client, key client.ObjectKey) (*v1alpha1.BenchmarkSchedule, error) {
	s := &v1alpha1.BenchmarkSchedule{}
	err := c.Get(ctx, key, s)
	if !apierrors.IsNotFound(err) {
		if err != nil {
			return nil, cluster.Unreachable(err)
		}
		return s, nil
	}
	missing := fmt.Errorf("no BenchmarkSchedule %q in namespace %q", key.Name, key.Namespace)
	var there v1alpha1.BenchmarkScheduleList
	if listing := c.List(ctx, &there, client.InNamespace(key.Namespace)); listing != nil || len(there.Items) == 0 {
		return nil, hint.With(missing, "kubectl get benchmarkschedules -A lists all schedules; choose the namespace with -n")
	}
	var names []string
	for i := range there.Items {
		names = append(names, there.Items[i].Name)
	}
	return nil, hint.With(missing, "there are "+strings.Join(names, ", ")+"; choose another namespace with -n")
}

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// reserveFlags contains the fields of a reservation.
type reserveFlags struct {
	name, selector, from, until, purpose, rule, zone string
	length                                           time.Duration
}

func newReserveCommand() *cobra.Command {
	var f reserveFlags
	cmd := &cobra.Command{
		Use:   "reserve (BED... | -l LABELS) [--from TIME] (--for DURATION | --until TIME)",
		Short: "Reserve beds at a time, once or again and again",
		Long: `Reserve beds for the people of a namespace, or for benchmarks that name the reservation.
No other benchmark starts there that would not end before. In the lab's namespace it is a
maintenance window, in which no benchmark runs.

Times are written as 2026-12-01T22:00:00+01:00, or as 2026-12-01T22:00 in the time zone of
--time-zone. Where another reservation has a bed at a time of this one, a warning says so.`,
		Example: `  kubectl nodrop reserve access-switch --for 2h --purpose "look at the fans"
  kubectl nodrop reserve frr-router --name nightly --from 2026-12-01T22:00 --for 6h \
    --rule FREQ=DAILY --time-zone Europe/Berlin
  kubectl nodrop reserve -n nodrop-lab -l rack=3 --from 2026-12-05T08:00 --for 8h --purpose "new cables"`,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the Reservation; empty: reserved- and some letters")
	flags.StringVarP(&f.selector, "selector", "l", "", "labels of the beds, in place of names")
	flags.StringVar(&f.from, "from", "", "when it begins; empty: now")
	flags.StringVar(&f.until, "until", "", "when it ends")
	flags.DurationVar(&f.length, "for", 0, "how long it takes, in place of --until")
	flags.StringVar(&f.purpose, "purpose", "", "what it is for; only people of the namespace see it")
	flags.StringVar(&f.rule, "rule", "", "how it recurs, as an RRULE of RFC 5545 such as FREQ=WEEKLY;BYDAY=MO,WE")
	flags.StringVar(&f.zone, "time-zone", "UTC", "time zone of times without one, and of the rule")
	var out terminal.Output
	out.AddFormat(cmd, terminal.NamedFormats())
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		r, err := f.reservation(args, time.Now())
		if err != nil {
			return err
		}
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		r.Namespace = namespace
		if err := c.Create(cmd.Context(), r); err != nil {
			return reservationError(err, r)
		}
		if err := out.Write(cmd.OutOrStdout(), reserved{r}); err != nil {
			return err
		}
		if out.Format == string(report.FormatTable) && connected(cmd.Context(), c, r) {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s  kubectl get secret %s -n %s -o yaml\n",
				layout.PaperOf(cmd.OutOrStdout()).Title("While it has its beds, their connection data are in a Secret, if the lab hands them out:"), v1alpha1.ConnectionSecretName, namespace)
		}
		return nil
	}
	return cmd
}

// connected reports whether a bed of a reservation has connection data; false where beds cannot be
// read.
func connected(ctx context.Context, c client.Client, r *v1alpha1.Reservation) bool {
	var beds v1alpha1.TestBedList
	if c.List(ctx, &beds) != nil {
		return false
	}
	return slices.ContainsFunc(beds.Items, func(b v1alpha1.TestBed) bool {
		return b.Spec.Connection != nil && (slices.Contains(r.Spec.TestBedNames, b.Name) || preflight.Selects(r.Spec.TestBedSelector, b.Labels))
	})
}

// reservation makes the object that the flags describe.
func (f reserveFlags) reservation(beds []string, now time.Time) (*v1alpha1.Reservation, error) {
	r := &v1alpha1.Reservation{}
	r.Name = f.name
	if f.name == "" {
		r.GenerateName = "reserved-"
	}
	switch {
	case f.selector != "" && len(beds) > 0:
		return nil, errors.New("beds are given by name and by --selector: give one of them")
	case f.selector == "" && len(beds) == 0:
		return nil, hint.With(errors.New("no bed is given"), "give names of beds, or --selector; kubectl get testbeds lists them")
	case f.selector != "":
		selector, err := metav1.ParseToLabelSelector(f.selector)
		if err != nil {
			return nil, fmt.Errorf("--selector: %w", err)
		}
		r.Spec.TestBedSelector = selector
	default:
		r.Spec.TestBedNames = beds
	}
	zone, err := time.LoadLocation(f.zone)
	if err != nil {
		return nil, hint.With(fmt.Errorf("--time-zone is %q, which is not known", f.zone), "give a name of the IANA database, such as Europe/Berlin")
	}
	from := now.Truncate(time.Second)
	if f.from != "" {
		if from, err = parseTime("--from", f.from, zone); err != nil {
			return nil, err
		}
	}
	var until time.Time
	switch {
	case (f.until == "") == (f.length == 0):
		return nil, errors.New("give --until or --for, and not both")
	case f.length != 0:
		until = from.Add(f.length)
	default:
		if until, err = parseTime("--until", f.until, zone); err != nil {
			return nil, err
		}
	}
	r.Spec.From, r.Spec.Until, r.Spec.Purpose = metav1.NewTime(from), metav1.NewTime(until), f.purpose
	if f.rule != "" {
		r.Spec.Recurrence = &v1alpha1.Recurrence{Rule: f.rule, TimeZone: f.zone}
	}
	if !until.After(from) {
		return nil, fmt.Errorf("the reservation would end at %s, and begin at %s: give a later end", stampOf(until), stampOf(from))
	}
	if problems := reservation.Validate(r); len(problems) > 0 {
		return nil, problems.ToAggregate()
	}
	return r, nil
}

// parseTime reads a time with a zone, or one in the given zone.
func parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is %q: write a time such as 2026-12-01T22:00 or 2026-12-01T22:00:00+01:00", flag, text)
}

// stampOf writes a time as the API does.
func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// reserved is a reservation in the formats of the command.
type reserved struct{ *v1alpha1.Reservation }

// Write writes the reservation; its table has one row.
func (r reserved) Write(out io.Writer, format report.Format) error {
	switch format {
	case report.FormatTable:
	case terminal.FormatName:
		_, err := fmt.Fprintln(out, r.Name)
		return err
	default:
		return terminal.WriteObject(out, plainObject(r.Reservation, "Reservation"), format)
	}
	beds := strings.Join(r.Spec.TestBedNames, ",")
	if r.Spec.TestBedSelector != nil {
		beds = metav1.FormatLabelSelector(r.Spec.TestBedSelector)
	}
	again := "-"
	if r.Spec.Recurrence != nil {
		again = r.Spec.Recurrence.Rule + " " + r.Spec.Recurrence.TimeZone
	}
	table := layout.Grid{Flush: true, Columns: []layout.Column{
		{Name: "NAMESPACE", Left: true, Drop: 2}, {Name: "RESERVATION", Left: true}, {Name: "BEDS", Left: true}, {Name: "FROM", Left: true},
		{Name: "UNTIL", Left: true}, {Name: "RECURS", Left: true, Drop: 1},
	}}
	table.Rows = [][]string{{r.Namespace, r.Name, beds, stampOf(r.Spec.From.Time), stampOf(r.Spec.Until.Time), again}}
	if _, err := io.WriteString(out, table.On(layout.PaperOf(out))); err != nil {
		return fmt.Errorf("printing the reservation: %w", err)
	}
	return nil
}

// plainObject returns an object of ours with its kind, and without the notes of the API server about its fields.
func plainObject[T client.Object](o T, kind string) T {
	o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetManagedFields(nil)
	return o
}

// reservationError adds a hint to the error of a reservation that the API server refused.
func reservationError(err error, r *v1alpha1.Reservation) error {
	switch {
	case apierrors.IsInvalid(err):
		return err //nolint:wrapcheck // It names the field and says what to do.
	case apierrors.IsAlreadyExists(err):
		return hint.With(fmt.Errorf("there is a Reservation %q in namespace %q", r.Name, r.Namespace), "give another --name, or make it longer with kubectl nodrop extend")
	case apierrors.IsNotFound(err):
		return hint.With(fmt.Errorf("no Reservation %q in namespace %q", r.Name, r.Namespace), "kubectl get reservations -A lists them; choose the namespace with -n")
	case apierrors.IsForbidden(err):
		return hint.With(err, "ask for the ClusterRole edit (nodrop-edit is part of it) in this namespace; maintenance windows need the Role nodrop-lab-owner in the lab's namespace")
	}
	return cluster.Unreachable(err)
}

//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

func newReleaseCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "release RESERVATION...",
		Short: "End reservations before their time",
		Long: `End reservations before their time. One that does not recur is deleted. Of one that recurs
the occurrence in progress ends, and the others stay; --all deletes it.`,
		Example: `  kubectl nodrop release fans
  kubectl nodrop release nightly --all`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&all, "all", false, "end also the occurrences that come")
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		for _, name := range args {
			r, err := readReservation(cmd.Context(), c, namespace, name)
			if err != nil {
				return err
			}
			line, err := release(cmd.Context(), c, r, all, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), line)
		}
		return nil
	}
	return cmd
}

func readReservation(ctx context.Context, c client.Client, namespace, name string) (*v1alpha1.Reservation, error) {
	r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
		return nil, reservationError(err, r)
	}
	return r, nil
}

// release ends a reservation, and says what has ended.
func release(ctx context.Context, c client.Client, r *v1alpha1.Reservation, all bool, now time.Time) (string, error) {
	if r.Spec.Recurrence == nil || all {
		if err := c.Delete(ctx, r); err != nil {
			return "", reservationError(err, r)
		}
		return "Reservation " + r.Name + " is deleted", nil
	}
	current, next, err := occurrencesOf(r, now)
	switch {
	case err != nil:
		return "", err
	case current == nil:
		when := ""
		if next != nil {
			when = ", and begins next at " + stampOf(next.From)
		}
		return "", hint.With(fmt.Errorf("reservation %s recurs, and is not in progress%s", r.Name, when), "--all deletes it with all its occurrences")
	}
	before := r.DeepCopy()
	r.Spec.Recurrence.Exceptions = append(r.Spec.Recurrence.Exceptions, metav1.NewTime(current.From))
	if err := c.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return "", reservationError(err, r)
	}
	return "The occurrence of reservation " + r.Name + " " + current.String() + " has ended; the others stay", nil
}

// occurrencesOf returns the occurrence in progress and the next one; nil when there is none.
func occurrencesOf(r *v1alpha1.Reservation, now time.Time) (current, next *reservation.Span, _ error) {
	all, err := reservation.Between(&r.Spec, reservation.Span{From: now, Until: now.Add(reservation.Horizon)})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the recurrence of reservation %s: %w", r.Name, err)
	}
	for i := range all {
		if !all[i].Contains(now) {
			return current, &all[i], nil
		}
		current = &all[i]
	}
	return current, nil, nil
}

func newExtendCommand() *cobra.Command {
	var by time.Duration
	var until, zone string
	cmd := &cobra.Command{
		Use:   "extend RESERVATION (--by DURATION | --until TIME)",
		Short: "Make a reservation longer",
		Long: `Make a reservation longer that has not ended. It is refused where another reservation has
the bed then, and where the grant of the bed does not allow it for so long.`,
		Example: `  kubectl nodrop extend fans --by 1h
  kubectl nodrop extend fans --until 2026-12-01T18:00 --time-zone Europe/Berlin`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().DurationVar(&by, "by", 0, "how much longer it takes")
	cmd.Flags().StringVar(&until, "until", "", "when it ends")
	cmd.Flags().StringVar(&zone, "time-zone", "UTC", "time zone of a time without one")
	var out terminal.Output
	out.AddFormat(cmd, terminal.NamedFormats())
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		if (until == "") == (by == 0) {
			return errors.New("give --by or --until, and not both")
		}
		end, err := extendedUntil(until, zone)
		if err != nil {
			return err
		}
		c, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		r, err := readReservation(cmd.Context(), c, namespace, args[0])
		if err != nil {
			return err
		}
		if until == "" {
			end = r.Spec.Until.Add(by)
		}
		if err := extend(cmd.Context(), c, r, end, time.Now()); err != nil {
			return err
		}
		return out.Write(cmd.OutOrStdout(), reserved{r})
	}
	return cmd
}

func extendedUntil(until, zone string) (time.Time, error) {
	if until == "" {
		return time.Time{}, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, hint.With(fmt.Errorf("--time-zone is %q, which is not known", zone), "give a name of the IANA database, such as Europe/Berlin")
	}
	return parseTime("--until", until, location)
}

// extend makes a reservation end later.
func extend(ctx context.Context, c client.Client, r *v1alpha1.Reservation, end, now time.Time) error {
	switch {
	case r.Spec.Recurrence != nil:
		return hint.With(fmt.Errorf("reservation %s recurs", r.Name),
			"make another reservation for the time after it, or edit spec.until, which makes all occurrences longer")
	case !r.Spec.Until.After(now):
		return hint.With(fmt.Errorf("reservation %s has ended at %s", r.Name, stampOf(r.Spec.Until.Time)), "make another one with kubectl nodrop reserve")
	case !end.After(r.Spec.Until.Time):
		return hint.With(fmt.Errorf("reservation %s ends at %s, and %s is not later", r.Name, stampOf(r.Spec.Until.Time), stampOf(end)),
			"give a later time; kubectl nodrop release ends it now")
	}
	before := r.DeepCopy()
	r.Spec.Until = metav1.NewTime(end)
	if err := c.Patch(ctx, r, client.MergeFrom(before)); err != nil {
		return reservationError(err, r)
	}
	return nil
}

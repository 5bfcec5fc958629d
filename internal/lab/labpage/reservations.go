package labpage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// reservationView is a reservation in the list.
type reservationView struct {
	Namespace, Name, Purpose string
	Phase                    v1alpha1.ReservationPhase
	Tone                     string
	Beds                     []string
	Selector                 bool
	From, Until              time.Time
	Rule, Zone               string
	Message                  string
	Conflict                 string
	Maintenance              bool
	Now                      time.Time
}

type reservationsPage struct {
	frame
	Filter filter
	Rows   []reservationView
	Pager  pager
	// Ended reports whether those are shown which are over.
	Ended bool
}

func (p *Page) listReservations(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	page := reservationsPage{frame: p.frame(q, "reservations", "Reservations", 30), Filter: newFilter(q, v), Ended: q.URL.Query().Get("state") == string(v1alpha1.ReservationEnded)}
	page.Filter.States = nil
	for _, phase := range []v1alpha1.ReservationPhase{v1alpha1.ReservationActive, v1alpha1.ReservationScheduled, v1alpha1.ReservationPending, v1alpha1.ReservationEnded} {
		page.Filter.States = append(page.Filter.States, string(phase))
	}
	var shown []reservationView
	for i := range q.lab.reservations {
		r := &q.lab.reservations[i]
		f := page.Filter
		if !v.reservations.has(r.Namespace) || f.Team != "" && r.Namespace != f.Team || !contains(r.Name, f.Name) ||
			f.State == "" && r.Status.Phase == v1alpha1.ReservationEnded || f.State != "" && string(r.Status.Phase) != f.State {
			continue
		}
		row := reservationOf(r, p.LabNamespace, q.lab.at)
		if f.Bed != "" && !contains(strings.Join(row.Beds, " "), f.Bed) {
			continue
		}
		shown = append(shown, row)
	}
	page.Rows, page.Pager = paged(shown, q.URL.Query(), listSize, "reservation")
	return render("reservations", page)
}

// reservationOf returns a reservation as the list shows it. Reservations in the lab's own namespace
// are maintenance windows.
func reservationOf(r *v1alpha1.Reservation, labNamespace string, now time.Time) reservationView {
	at := occurrence(r)
	row := reservationView{
		Namespace: r.Namespace, Name: r.Name, Purpose: r.Spec.Purpose, Phase: r.Status.Phase, From: at.From.Time, Until: at.Until.Time,
		Message: r.Status.Message, Maintenance: r.Namespace == labNamespace, Now: now, Tone: "wait",
	}
	switch r.Status.Phase {
	case v1alpha1.ReservationActive:
		row.Tone = "held"
	case v1alpha1.ReservationPending:
		row.Tone = "open"
	case "":
		row.Phase = v1alpha1.ReservationPending
	}
	for _, bed := range r.Status.Beds {
		row.Beds = append(row.Beds, bed.Name)
	}
	if len(row.Beds) == 0 {
		row.Beds, row.Selector = r.Spec.TestBedNames, r.Spec.TestBedSelector != nil
	}
	if c := r.Spec.Recurrence; c != nil {
		row.Rule, row.Zone = c.Rule, c.TimeZone
	}
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionConflict); c != nil && c.Status == metav1.ConditionTrue {
		row.Conflict = c.Message
	}
	return row
}

// scheduleView is a schedule in the list.
type scheduleView struct {
	Namespace, Name string
	Cron, Zone      string
	Suspended       bool
	Next, Last      time.Time
	// Active is the number of its unfinished benchmarks.
	Active int
	// Run is the result of the last firing.
	Run, RunTone, RunText string
	Problem               string
	Now                   time.Time
}

type schedulesPage struct {
	frame
	Filter filter
	Rows   []scheduleView
	Pager  pager
}

func (p *Page) listSchedules(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	page := schedulesPage{frame: p.frame(q, "schedules", "Schedules", 30), Filter: newFilter(q, v)}
	page.Filter.States = nil
	var shown []scheduleView
	for i := range q.lab.schedules {
		s := &q.lab.schedules[i]
		if f := page.Filter; !v.schedules.has(s.Namespace) || f.Team != "" && s.Namespace != f.Team || !contains(s.Name, f.Name) {
			continue
		}
		shown = append(shown, schedule(s, q.lab.at))
	}
	page.Rows, page.Pager = paged(shown, q.URL.Query(), listSize, "schedule")
	return render("schedules", page)
}

func schedule(s *v1alpha1.BenchmarkSchedule, now time.Time) scheduleView {
	row := scheduleView{Namespace: s.Namespace, Name: s.Name, Cron: s.Spec.Schedule, Zone: s.Spec.TimeZone, Suspended: s.Spec.Suspend, Active: int(s.Status.ActiveCount), Now: now}
	if t := s.Status.NextScheduleTime; t != nil && !s.Spec.Suspend {
		row.Next = t.Time
	}
	if t := s.Status.LastScheduleTime; t != nil {
		row.Last = t.Time
	}
	if r := s.Status.LastRun; r != nil {
		row.Run, row.RunTone, row.RunText = "Passed", "good", count(int(r.Benchmarks), "benchmark")+" passed"
		if r.Passed < r.Benchmarks {
			row.Run, row.RunTone, row.RunText = "Failed", "bad", fmt.Sprintf("%d of %s passed", r.Passed, count(int(r.Benchmarks), "benchmark"))
		}
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.ReasonSuspended {
		row.Problem = c.Message
	}
	return row
}

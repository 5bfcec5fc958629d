package schedules

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// clockSlack is the difference between the clocks of two operators that is not reported.
const clockSlack = 5 * time.Minute

// scheduled is the message of a schedule that waits for its next firing.
const scheduled = "the next firing is at status.nextScheduleTime"

// due decides what the schedule does now. It returns true when a firing is in hand, whose
// benchmarks have to be made.
func (t *Timetable) due() bool {
	timing, err := schedule.TimingOf(t.BenchmarkSchedule)
	switch {
	case err != nil:
		t.Status.NextScheduleTime = nil
		t.Ready(metav1.ConditionFalse, v1alpha1.ReasonScheduleInvalid, fmt.Sprintf("the schedule %q in %s cannot be read: %v", t.Spec.Schedule, t.Spec.TimeZone, err))
		return false
	case t.Spec.Suspend:
		t.Status.Effective, t.Status.NextScheduleTime, t.Status.Firing = nil, nil, nil
		t.Ready(metav1.ConditionTrue, v1alpha1.ReasonSuspended, "spec.suspend is set: nothing is fired until it is not, nor made up for then")
		return false
	}
	t.timing = timing
	t.observe()
	after := t.doneUntil()
	due := timing.Due(after, t.Now)
	next := after
	if due.Firing.After(next) {
		next = due.Firing
	}
	t.Status.NextScheduleTime = nil
	_, at := timing.Next(next, t.Now)
	if !at.IsZero() {
		t.Status.NextScheduleTime = &metav1.Time{Time: at}
		t.wakeAt(at)
	}
	if after.After(t.Now.Add(clockSlack)) {
		t.wakeAt(t.Now.Add(clockSlack))
		t.Ready(metav1.ConditionFalse, v1alpha1.ReasonClockBehind, fmt.Sprintf(
			"the last firing was at %s, and it is %s: a clock was set. The schedule fires again after that time; to begin anew, delete it and apply it again", kit.Stamp(after), kit.Stamp(t.Now)))
		return t.Status.Firing != nil
	}
	t.abandon(due)
	if t.Status.Firing != nil {
		return true
	}
	return t.begin(due)
}

// observe notes since when the schedule is in force that the spec has.
func (t *Timetable) observe() {
	if e := t.Status.Effective; e != nil && e.Schedule == t.Spec.Schedule && e.TimeZone == t.Spec.TimeZone {
		return
	}
	t.Status.Effective = &v1alpha1.EffectiveSchedule{Schedule: t.Spec.Schedule, TimeZone: t.Spec.TimeZone, Since: metav1.NewTime(t.Now)}
}

// doneUntil is the time up to which nothing has to be fired any more.
func (t *Timetable) doneUntil() time.Time {
	until := t.Status.Effective.Since.Time
	if last := t.Status.LastScheduleTime; last != nil && last.After(until) {
		until = last.Time
	}
	return until
}

// abandon gives up a firing in hand, some of whose benchmarks were refused, when its starting
// deadline has passed or the next one is due.
func (t *Timetable) abandon(due schedule.Due) {
	if t.Status.Firing == nil {
		return
	}
	firing := t.Status.Firing.ScheduleTime.Time
	why := "the next one is due"
	if due.Firing.IsZero() {
		if until := t.timing.Until(firing); until.IsZero() || !t.Now.After(until) {
			return
		}
		why = "its starting deadline has passed"
	}
	t.Status.Firing = nil
	t.event(corev1.EventTypeWarning, v1alpha1.EventFiringsMissed, "Fire", "not all benchmarks of the firing at %s were made: %s", kit.Stamp(firing), why)
}

// begin takes the latest firing that is due in hand, unless it is too late or has to wait.
func (t *Timetable) begin(due schedule.Due) bool {
	switch {
	case due.Firing.IsZero():
		t.Ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled, scheduled)
		return false
	case due.TooLate:
		t.missed(due.Missed+1, due.Firing, fmt.Sprintf("it is later than startingDeadlineSeconds (%d) after the last of them", *t.Spec.StartingDeadlineSeconds))
		t.Status.Effective.Since = metav1.NewTime(due.Firing)
		t.Ready(metav1.ConditionTrue, v1alpha1.ReasonScheduled, scheduled)
		return false
	case t.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyForbid && len(t.Active) > 0:
		t.Ready(metav1.ConditionTrue, v1alpha1.ReasonWaitingForEarlier, fmt.Sprintf(
			"the firing at %s waits, by concurrencyPolicy Forbid, for %s", kit.Stamp(due.Firing), listed(t.Active)))
		if !due.Until.IsZero() {
			t.wakeAt(due.Until)
		}
		return false
	}
	if due.Missed > 0 {
		t.missed(due.Missed, due.Firing, "only the latest is made up for")
	}
	t.Status.Firing = &v1alpha1.Firing{ScheduleTime: metav1.NewTime(due.Firing)}
	t.Status.LastScheduleTime = &metav1.Time{Time: due.Firing}
	return true
}

// missed reports that firings were left out.
func (t *Timetable) missed(n int, until time.Time, why string) {
	count := fmt.Sprint(n)
	if n >= schedule.MaxMissed {
		count = fmt.Sprintf("%d or more", schedule.MaxMissed)
	}
	t.event(corev1.EventTypeWarning, v1alpha1.EventFiringsMissed, "Fire", "firings missed up to %s: %s: %s", kit.Stamp(until), count, why)
}

// listed names some of many benchmarks.
func listed(all []*v1alpha1.Benchmark) string {
	const most = 3
	text := ""
	for i, b := range all[:min(len(all), most)] {
		if i > 0 {
			text += ", "
		}
		text += b.Name
		if b.Status.Phase != "" {
			text += " (" + string(b.Status.Phase) + ")"
		}
	}
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

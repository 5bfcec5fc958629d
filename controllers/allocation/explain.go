package allocation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// explainer describes to people where each benchmark waits, and why.
type explainer struct {
	view      *view
	deadlines kit.Deadlines
}

// status describes what the status of a benchmark that waits shows. It depends on the benchmark, its
// gang and its beds, and not on others that wait, so that these cause no write. Lineup has the rest
// on request: the place, the expected start, and who has the beds.
func (e *explainer) status(w *waiter) kit.Explanation {
	if x, other := e.unqueued(w); other {
		return x
	}
	beds := kit.BedsFor(w.b, w.class.beds)
	x := kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonQueued, Message: waitsFor(beds[0], len(beds))}
	switch own := kit.ReservationOf(w.b); {
	case own != (queue.Key{}) && !e.view.calendar.knows(own):
		x.Reason, x.Message = v1alpha1.ReasonReserved, missesReservation(own, beds[0])
	case slices.ContainsFunc(beds, func(name string) bool { return kit.IsOpen(e.view.inventory.bed(name)) }):
		x.Message += "; kubectl nodrop queue shows its place, and when it is expected to start"
	default:
		x.Reason, x.Message = whileClosed(x.Message, e.view.inventory.bed(beds[0]), len(beds))
	}
	return e.gang(w, kit.ExplainResumption(w.b, x))
}

// explain describes where and why a benchmark waits, at its place among all others.
func (e *explainer) explain(w *waiter, place queue.Place, s queue.Snapshot) kit.Explanation {
	if x, other := e.unqueued(w); other {
		return x
	}
	if place.Spent {
		t := e.view.teams.teamOf(w.b.Namespace)
		return kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonLimitReached, Message: fmt.Sprintf(
			"its team %s has had beds for %s within the last week, and may have them for %d hours (maxBedHoursPerWeek of LabPolicy %s)",
			t.Name, human.Duration(e.view.shares.bedHours(s.Now)[t.Name].Truncate(time.Minute)), t.MaxBedHoursPerWeek, v1alpha1.LabPolicyName)}
	}
	if place.Obstacle != nil {
		return e.gang(w, kit.ExplainResumption(w.b, e.obstacle(w.b, place, s.Now)))
	}
	return e.gang(w, kit.ExplainResumption(w.b, explainPlace(place, e.view.inventory.bed, s)))
}

// unqueued describes why a benchmark is not in the queue; other reports whether that is so.
func (e *explainer) unqueued(w *waiter) (_ kit.Explanation, other bool) {
	switch {
	case len(w.class.beds) == 0:
		return kit.Explanation{Reason: v1alpha1.ReasonNotAccepted, Message: kit.Bounded(e.view.judge.problemOf(w.class))}, true
	case len(kit.BedsFor(w.b, w.class.beds)) == 0:
		return kit.Explanation{Reason: v1alpha1.ReasonNotAccepted, Message: kit.Bounded(kit.CannotResume(w.b))}, true
	case !w.retry.IsZero():
		return kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonQueued, Message: "its bed could not be leased; the operator tries again, see its log"}, true
	}
	return kit.Explanation{}, false
}

// gang describes what a member waits for together with others.
func (e *explainer) gang(w *waiter, x kit.Explanation) kit.Explanation {
	if w.b.Spec.Gang == nil || x.Reason == v1alpha1.ReasonPreempted {
		return x
	}
	g := e.view.gangs.named(gangOf(w.b))
	if g.hasBegun(w.b) {
		return x
	}
	gang := w.b.Spec.Gang
	held, _ := e.view.gangs.holding(g)
	ready := map[string]bool{}
	for _, other := range held {
		ready[other.b.Spec.Gang.Role] = true
	}
	for key, other := range g.members {
		if e.view.line.queue.Has(key) {
			ready[other.b.Spec.Gang.Role] = true
		}
	}
	if n := len(ready); n < int(gang.Members) {
		x.Reason = v1alpha1.ReasonGangIncomplete
		x.Message = kit.Bounded(fmt.Sprintf("gang %s has %d of its %d members ready to start (%s): create the others, and see the status of those that are not ready",
			gang.Name, n, gang.Members, strings.Join(slices.Sorted(maps.Keys(ready)), ", ")))
		return x
	}
	x.Message = kit.Bounded(fmt.Sprintf("gang %s gets its %d beds at once; this member %s", gang.Name, gang.Members, x.Message))
	return x
}

// explainPlace describes what the benchmark at a place waits for.
func explainPlace(place queue.Place, bedOf func(string) *v1alpha1.TestBed, s queue.Snapshot) kit.Explanation {
	e := kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonQueued}
	bed := bedOf(place.WaitsFor)
	what := waitsFor(place.WaitsFor, place.Beds)
	switch {
	case bed == nil:
		what = "waits for a bed"
	case place.Limit != nil:
		e.Reason = v1alpha1.ReasonLimitReached
		what += limitReached(place.Limit)
	case !kit.IsOpen(bed):
		e.Reason, what = whileClosed(what, bed, place.Beds)
	case place.Beds == 1 && bed.Status.Lease != nil:
		what += ", which " + bed.Status.Lease.Holder + " has"
	case place.Beds == 1:
		if other, shared := kit.Conflicting(bed, s.Beds[bed.Name].Conflicts, bedOf); other != nil {
			what += fmt.Sprintf(", whose %s bed %s has too, which %s has", shared, other.Name, other.Status.Lease.Holder)
		}
	}
	switch place.Ahead {
	case 0:
		what += "; comes next"
	case 1:
		what += "; 1 benchmark comes first"
	default:
		what += fmt.Sprintf("; %d benchmarks come first", place.Ahead)
	}
	e.Message = kit.Bounded(what)
	return e
}

func waitsFor(bed string, beds int) string {
	if beds > 1 {
		return fmt.Sprintf("waits for one of %d beds", beds)
	}
	return "waits for bed " + bed
}

// whileClosed adds to what is waited for that a bed is closed, and all others are where there are
// several.
func whileClosed(what string, bed *v1alpha1.TestBed, beds int) (reason, message string) {
	reason, why := v1alpha1.ReasonBedNotReady, "is not ready: "+notReady(bed)
	if bed.Spec.Unschedulable {
		reason, why = v1alpha1.ReasonBedUnschedulable, "takes no new benchmarks (spec.unschedulable): kubectl nodrop uncordon "+bed.Name
	}
	if beds > 1 {
		return reason, kit.Bounded(what + ", none of which takes benchmarks now; bed " + bed.Name + " " + why)
	}
	return reason, kit.Bounded(what + ", which " + why)
}

func missesReservation(own queue.Key, bed string) string {
	return fmt.Sprintf("waits for reservation %s, which does not have bed %s: see kubectl get reservations -n %s; apply it, or name another", own, bed, own.Namespace)
}

// limitReached describes which limit is reached.
func limitReached(l *queue.Limit) string {
	if name, of := strings.CutPrefix(l.Key, teamLimit); of {
		return fmt.Sprintf("; its team %s may have %d beds at once (maxRunning of LabPolicy %s)", name, l.Max, v1alpha1.LabPolicyName)
	}
	return fmt.Sprintf(", of which its namespace may have %d at once (spec.access.maxRunning of the bed)", l.Max)
}

func notReady(bed *v1alpha1.TestBed) string {
	c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != bed.Generation {
		return "the operator has not checked it yet"
	}
	return c.Message
}

// obstacle describes the reservation that a benchmark waits for, and the time for which
// that has the bed. It names the reservation, but not its purpose.
func (e *explainer) obstacle(b *v1alpha1.Benchmark, place queue.Place, now time.Time) kit.Explanation {
	o := place.Obstacle
	x := kit.Explanation{Accepted: true, Reason: v1alpha1.ReasonReserved}
	own := kit.ReservationOf(b)
	var hooks time.Duration
	if bed := e.view.inventory.bed(o.Bed); bed != nil {
		hooks = bed.Spec.Hooks.TimeAfterLease()
	}
	takes := fmt.Sprintf("it may have the bed for %s (activeDeadlineSeconds %d, and %s to start and to clean up)",
		human.Duration(e.deadlines.HoldOf(b)+hooks), b.Spec.ActiveDeadlineSeconds, human.Duration(e.deadlines.CleanUp+kit.LeaseMargin+hooks))
	switch {
	case o.Slice == nil && e.view.calendar.knows(own):
		x.Message = fmt.Sprintf("reservation %s does not have bed %s now or later: see its status, or leave reservationName out", own, o.Bed)
	case o.Slice == nil:
		x.Message = missesReservation(own, o.Bed)
	case own == (queue.Key{}) && !o.Slice.From.After(now):
		x.Message = fmt.Sprintf("reservation %s has bed %s %s", o.Slice.Reservation, reservedBed(o), span(o.Slice))
	case own == (queue.Key{}):
		x.Message = fmt.Sprintf("reservation %s has bed %s %s, and the benchmark would not end before: %s; a lower activeDeadlineSeconds lets it start",
			o.Slice.Reservation, reservedBed(o), span(o.Slice), takes)
	case o.Short:
		x.Message = fmt.Sprintf("reservation %s has bed %s %s, and the benchmark would not end before its end: %s; give a lower activeDeadlineSeconds, or extend the reservation",
			own, o.Bed, span(o.Slice), takes)
	default:
		x.Message = fmt.Sprintf("waits for reservation %s, which has bed %s %s", own, o.Bed, span(o.Slice))
	}
	if place.Beds > 1 {
		x.Message = fmt.Sprintf("waits for one of %d beds: %s", place.Beds, x.Message)
	}
	x.Message = kit.Bounded(x.Message)
	return x
}

func reservedBed(o *queue.Obstacle) string {
	if o.Slice.Via == "" {
		return o.Bed
	}
	return fmt.Sprintf("%s, which shares an interface or a device with %s,", o.Slice.Via, o.Bed)
}

func span(s *queue.Slice) string { return reservation.Span{From: s.From, Until: s.Until}.String() }

package controllers_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestReservations keeps beds for their time.
func TestReservations(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"before, during and after":      aroundAReservation,
		"over a running benchmark":      overARun,
		"two of the same bed":           overlappingReservations,
		"a maintenance window":          maintenanceWindow,
		"a bed that does not allow it":  reservationWithoutGrant,
		"an operator that was replaced": reservationSurvives,
		"aborted while it waits for it": abortedBeforeReservation,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// booked reserves the bed sim for a time from now on.
func booked(w *world, namespace, name string, from, until time.Duration) *v1alpha1.Reservation {
	now := time.Now().Add(time.Duration(w.ahead.Load())).Truncate(time.Second)
	return &v1alpha1.Reservation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ReservationSpec{
			TestBedNames: []string{"sim"}, From: metav1.NewTime(now.Add(from)), Until: metav1.NewTime(now.Add(until)), Purpose: "secret plans",
		},
	}
}

// limitedTo gives a benchmark a deadline.
func limitedTo(d time.Duration) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.ActiveDeadlineSeconds = int64(d / time.Second) }
}

func within(reservation string) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.ReservationName = reservation }
}

// passAndWake lets the operator's clock jump. Its timers run by the real one, so that
// something has to happen for it to see that.
func (w *world) passAndWake(d time.Duration) {
	w.t.Helper()
	w.pass(d)
	bed := w.bed("sim")
	before := bed.DeepCopy()
	metav1.SetMetaDataLabel(&bed.ObjectMeta, "ahead", fmt.Sprint(w.ahead.Load()))
	w.Expect(w.c.Patch(w.t.Context(), bed, client.MergeFrom(before))).To(Succeed())
}

// reservation reads a reservation of the team.
func (w *world) reservation(name string) *v1alpha1.Reservation {
	r := &v1alpha1.Reservation{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: team, Name: name}, r)).To(Succeed())
	return r
}

func (w *world) reservationBecomes(name string, phase v1alpha1.ReservationPhase) *v1alpha1.Reservation {
	w.t.Helper()
	w.Eventually(func() v1alpha1.ReservationPhase { return w.reservation(name).Status.Phase }).Should(Equal(phase), "the phase of %s", name)
	return w.reservation(name)
}

// messageOf returns status, reason and message of a condition of a reservation.
func (w *world) messageOf(name, kind string) string {
	c := meta.FindStatusCondition(w.reservation(name).Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func aroundAReservation(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile())
	nightly := booked(w, team, "nightly", time.Hour, 3*time.Hour)
	create(w.t, w.c, nightly)
	times := "from " + nightly.Spec.From.UTC().Format(time.RFC3339) + " until " + nightly.Spec.Until.UTC().Format(time.RFC3339)
	w.Expect(w.reservationBecomes("nightly", v1alpha1.ReservationScheduled).Status.Beds).To(HaveLen(1))
	w.Eventually(func() []v1alpha1.BedReservation { return w.bed("sim").Status.Reservations }).
		Should(ConsistOf(HaveField("Reservation", "team-routing/nightly")))

	create(w.t, w.c, benchmark("long", "sim", limitedTo(2*time.Hour)))
	w.waitsBecause(named("long"), v1alpha1.ReasonReserved, "reservation")
	message := w.place(named("long")).Why
	w.Expect(message).To(HavePrefix("reservation team-routing/nightly has bed sim " + times + ", and the benchmark would not end before: it may have the bed for 2h3m"))
	w.Expect(message).NotTo(ContainSubstring("secret"))
	create(w.t, w.c, benchmark("short", "sim", limitedTo(10*time.Minute)))
	w.runners.report(w.reaches("short", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("short", v1alpha1.PhaseMeasured)
	create(w.t, w.c, benchmark("inside", "sim", limitedTo(time.Hour), within("nightly")))
	w.waitsBecause(named("inside"), v1alpha1.ReasonReserved, "waits for reservation team-routing/nightly, which has bed sim "+times)

	w.passAndWake(50 * time.Minute)
	w.remindedOf("nightly", v1alpha1.ReasonBeginsSoon)
	w.passAndWake(11 * time.Minute)
	w.runners.report(w.reaches("inside", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("inside", v1alpha1.PhaseMeasured)
	active := w.reservationBecomes("nightly", v1alpha1.ReservationActive)
	w.Expect(active.Status.Beds[0].Current).NotTo(BeNil())
	w.remindedOf("nightly", v1alpha1.ReasonBegun)
	w.waitsBecause(named("long"), v1alpha1.ReasonReserved, "")
	w.Expect(w.bed("sim").Status.Lease).To(BeNil(), "the bed during the reservation")
	w.passAndWake(110 * time.Minute)
	w.remindedOf("nightly", v1alpha1.ReasonEndsSoon)

	w.passAndWake(10 * time.Minute)
	w.runners.report(w.reaches("long", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("long", v1alpha1.PhaseMeasured)
	w.reservationBecomes("nightly", v1alpha1.ReservationEnded)
	w.remindedOf("nightly", v1alpha1.ReasonOccurrencesEnded)
	w.Eventually(func() []v1alpha1.BedReservation { return w.bed("sim").Status.Reservations }).Should(BeEmpty())
}

// remindedOf waits for an event of a reservation.
func (w *world) remindedOf(name, reason string) {
	w.t.Helper()
	uid := w.reservation(name).UID
	w.Eventually(func() []string {
		var list eventsv1.EventList
		w.Expect(w.c.List(w.t.Context(), &list, client.InNamespace(team))).To(Succeed())
		var reasons []string
		for _, e := range list.Items {
			if e.Regarding.UID == uid {
				reasons = append(reasons, e.Reason)
			}
		}
		return reasons
	}).Should(ContainElement(reason))
}

func overARun(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("running", "sim", limitedTo(2*time.Hour)))
	running := w.reaches("running", v1alpha1.PhaseRunning)
	create(w.t, w.c, booked(w, team, "now", 0, time.Hour), benchmark("next", "sim", limitedTo(2*time.Hour)))
	r := w.reservationBecomes("now", v1alpha1.ReservationActive)
	w.Expect(r.Status.Beds[0].OccupiedBy).To(Equal("team-routing/running"))
	w.Expect(w.messageOf("now", v1alpha1.ConditionActive)).To(And(HavePrefix("True BedOccupied: benchmark team-routing/running has had bed sim since before"), ContainSubstring("and is not stopped")))
	w.waitsBecause(named("next"), v1alpha1.ReasonReserved, "")
	w.Expect(w.benchmark("running").Status.Phase).To(Equal(v1alpha1.PhaseRunning))
	w.runners.report(running, measured(row(64)))
	w.reaches("running", v1alpha1.PhaseMeasured)
	w.Eventually(func() string { return w.messageOf("now", v1alpha1.ConditionActive) }).Should(HavePrefix("True Begun: "))
	w.Expect(w.benchmark("next").Status.Phase).To(Equal(v1alpha1.PhaseQueued))
	w.Expect(w.c.Delete(w.t.Context(), r)).To(Succeed())
	w.runners.report(w.reaches("next", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("next", v1alpha1.PhaseMeasured)
}

func overlappingReservations(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), booked(w, team, "a", time.Hour, 2*time.Hour))
	// Of two that were created in the same second, the first by name has the bed.
	create(w.t, w.c, booked(w, team, "b", 90*time.Minute, 3*time.Hour))
	w.Eventually(func() string { return w.messageOf("b", v1alpha1.ConditionConflict) }).
		Should(And(HavePrefix("True Overlap: reservation team-routing/a has bed sim from "), HaveSuffix("it was created earlier: choose another time or bed, or ask its owners to release theirs")))
	w.Eventually(func() string { return w.messageOf("a", v1alpha1.ConditionConflict) }).Should(HavePrefix("False NoOverlap"))
	b := w.reservation("b")
	w.Expect(b.Status.Beds[0].Next.From.Equal(&w.reservation("a").Spec.Until)).To(BeTrue(), "what is left of it: %+v", b.Status.Beds[0].Next)
	w.Expect(w.c.Delete(w.t.Context(), w.reservation("a"))).To(Succeed())
	w.Eventually(func() string { return w.messageOf("b", v1alpha1.ConditionConflict) }).Should(HavePrefix("False NoOverlap"))
}

func maintenanceWindow(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), booked(w, labNamespace, "repair", -time.Hour, 100*time.Hour))
	create(w.t, w.c, benchmark("waits", "sim", limitedTo(time.Minute)))
	w.waitsBecause(named("waits"), v1alpha1.ReasonReserved, "reservation nodrop-lab/repair has bed sim from")
	w.passAndWake(101 * time.Hour)
	w.runners.report(w.reaches("waits", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("waits", v1alpha1.PhaseMeasured)
}

// A reservation that its bed does not allow any more holds nothing.
func reservationWithoutGrant(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), booked(w, "team-other", "greedy", 0, time.Hour), booked(w, team, "long", 0, 25*time.Hour))
	w.Eventually(func() string { return w.messageOf("long", v1alpha1.ConditionAccepted) }).
		Should(HavePrefix("False NotAccepted: the grant of namespace team-routing on TestBed sim has the bed for at most 24h, and the reservation takes 25h"))
	w.Expect(w.messageOf("long", v1alpha1.ConditionStalled)).To(HavePrefix("True NotAccepted"))
	create(w.t, w.c, benchmark("runs", "sim"))
	w.runners.report(w.reaches("runs", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("runs", v1alpha1.PhaseMeasured)
}

// A reservation that was made while there was no operator holds for the next one at once.
func reservationSurvives(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile())
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed("sim").Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue())
	w.stop()
	create(w.t, w.c, booked(w, team, "now", 0, time.Hour), benchmark("waits", "sim"), benchmark("inside", "sim", limitedTo(time.Minute), within("now")))
	w.start()
	w.runners.report(w.reaches("inside", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("inside", v1alpha1.PhaseMeasured)
	w.waitsBecause(named("waits"), v1alpha1.ReasonReserved, "")
	w.Expect(w.benchmark("waits").Status.StartTime).To(BeNil())
}

// A benchmark that waits for a reservation, which may never come, can be aborted.
func abortedBeforeReservation(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("waits", "sim", limitedTo(time.Minute), within("never")))
	w.Expect(w.says("waits", v1alpha1.ConditionBedLeased, v1alpha1.ReasonReserved).Message).
		To(HavePrefix("waits for reservation team-routing/never, which does not have bed sim"))
	b := w.benchmark("waits")
	b.Spec.Abort = true
	w.Expect(w.c.Update(w.t.Context(), b)).To(Succeed())
	w.reaches("waits", v1alpha1.PhaseAborted)
}

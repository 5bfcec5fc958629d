package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
)

// TestSchedules fires schedules on a real API server by a clock that the test sets. Where
// nothing depends on how a benchmark runs there is no bed, and the test ends it.
func TestSchedules(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]struct {
		clock string
		run   func(*world)
	}{
		"on the day with a missing hour":     {"2027-03-28T00:29:00Z", scheduleMissingHour},
		"on the day with a doubled hour":     {"2027-10-31T00:29:00Z", scheduleDoubledHour},
		"forbid waits":                       {"2027-01-01T01:59:00Z", scheduleForbid},
		"forbid up to the deadline":          {"2027-01-01T01:59:00Z", scheduleForbidDeadline},
		"allow":                              {"2027-01-01T01:59:00Z", scheduleAllow},
		"replace":                            {"2027-01-01T01:59:00Z", scheduleReplace},
		"an operator that was away":          {"2027-01-01T01:59:00Z", scheduleAway},
		"an operator that was away too long": {"2027-01-01T01:59:00Z", scheduleAwayTooLong},
		"an operator that dies in a firing":  {"2027-01-01T01:59:00Z", scheduleRestart},
		"a benchmark that is refused":        {"2027-01-01T01:59:00Z", scheduleRefused},
		"two operators":                      {"2027-01-01T01:59:00Z", scheduleTwoOperators},
		"suspended":                          {"2027-01-01T01:59:00Z", scheduleSuspended},
		"changed times":                      {"2027-01-01T01:59:00Z", scheduleChanged},
		"history limits":                     {"2027-01-01T01:59:00Z", scheduleHistory},
		"history waits for the archive":      {"2027-01-01T01:59:00Z", scheduleHistoryArchive},
		"deleted and created again":          {"2027-01-01T01:59:00Z", scheduleAgain},
		"a clock that was set back":          {"2027-01-01T01:59:00Z", scheduleClock},
		"what cannot be read":                {"2027-01-01T01:59:00Z", scheduleUnreadable},
		"by hand":                            {"2027-01-01T01:59:00Z", scheduleByHand},
		"a matrix":                           {"2027-01-01T01:59:00Z", scheduleMatrix},
	} {
		t.Run(name, func(t *testing.T) {
			tc.run(newWorld(t, server, func(w *world) {
				w.change = func(o *kit.Options) { o.Sweep = 50 * time.Millisecond }
				w.setClock(tc.clock)
			}))
		})
	}
}

// setClock sets the clock of the operator; it goes on from there.
func (w *world) setClock(text string) {
	w.t.Helper()
	to, err := time.Parse(time.RFC3339, text)
	w.Expect(err).NotTo(HaveOccurred())
	w.ahead.Store(int64(time.Until(to)))
}

// nightly is a schedule at 2:00 UTC.
func nightly(change ...func(*v1alpha1.BenchmarkScheduleSpec)) *v1alpha1.BenchmarkSchedule {
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "nightly"}}
	s.Spec.Schedule = "0 2 * * *"
	s.Spec.BenchmarkTemplate.Spec = benchmark("", "sim").Spec
	for _, c := range change {
		c(&s.Spec)
	}
	return s
}

func every(expression, zone string) func(*v1alpha1.BenchmarkScheduleSpec) {
	return func(s *v1alpha1.BenchmarkScheduleSpec) { s.Schedule, s.TimeZone = expression, zone }
}

func policy(p v1alpha1.ConcurrencyPolicy) func(*v1alpha1.BenchmarkScheduleSpec) {
	return func(s *v1alpha1.BenchmarkScheduleSpec) { s.ConcurrencyPolicy = p }
}

func startWithin(seconds int64) func(*v1alpha1.BenchmarkScheduleSpec) {
	return func(s *v1alpha1.BenchmarkScheduleSpec) { s.StartingDeadlineSeconds = &seconds }
}

func onBeds(names ...string) func(*v1alpha1.BenchmarkScheduleSpec) {
	return func(s *v1alpha1.BenchmarkScheduleSpec) {
		s.Matrix = &v1alpha1.BenchmarkMatrix{TestBedNames: names}
	}
}

func keeping(passed, failed int32) func(*v1alpha1.BenchmarkScheduleSpec) {
	return func(s *v1alpha1.BenchmarkScheduleSpec) {
		s.SuccessfulHistoryLimit, s.FailedHistoryLimit = &passed, &failed
	}
}

// schedules creates a schedule and waits until the operator has seen it.
func (w *world) schedules(s *v1alpha1.BenchmarkSchedule) {
	w.t.Helper()
	create(w.t, w.c, s)
	w.Eventually(func() *v1alpha1.EffectiveSchedule { return w.schedule().Status.Effective }).ShouldNot(BeNil(), "the operator sees the schedule")
}

func (w *world) schedule() *v1alpha1.BenchmarkSchedule {
	s := &v1alpha1.BenchmarkSchedule{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: team, Name: "nightly"}, s)).To(Succeed())
	return s
}

func (w *world) changeSchedule(change func(*v1alpha1.BenchmarkScheduleSpec)) {
	w.t.Helper()
	w.Eventually(func() error {
		s := w.schedule()
		change(&s.Spec)
		return w.c.Update(w.t.Context(), s)
	}).Should(Succeed())
	w.Eventually(func() bool {
		s := w.schedule()
		return s.Status.ObservedGeneration == s.Generation
	}).Should(BeTrue(), "the operator sees the change")
}

// made are the names of all benchmarks, without that of the schedule.
func (w *world) made() []string {
	var all v1alpha1.BenchmarkList
	w.Expect(w.c.List(w.t.Context(), &all, client.InNamespace(team))).To(Succeed())
	var names []string
	for _, b := range all.Items {
		names = append(names, strings.TrimPrefix(b.Name, "nightly-"))
	}
	slices.Sort(names)
	return names
}

// fires lets time pass and waits until exactly these benchmarks are there and the firing is
// done.
func (w *world) fires(after time.Duration, want ...string) {
	w.t.Helper()
	w.pass(after)
	w.Eventually(w.made).Should(Equal(want))
	w.Eventually(func() *v1alpha1.Firing { return w.schedule().Status.Firing }).Should(BeNil(), "the firing is done")
}

// looks waits until the operator has looked at the schedule some times.
func (w *world) looks() {
	w.t.Helper()
	seen := w.asked.Load()
	w.Eventually(w.asked.Load).Should(BeNumerically(">", seen+5), "the operator reads its clock")
}

// idle checks that nothing is made while the operator looks at the schedule.
func (w *world) idle(want ...string) {
	w.t.Helper()
	w.looks()
	w.Expect(w.made()).To(Equal(want))
}

// ended ends a benchmark in a phase, as if it had run.
func (w *world) ended(name string, phase v1alpha1.BenchmarkPhase) {
	w.t.Helper()
	w.Eventually(func() error {
		b := w.benchmark("nightly-" + name)
		b.Status.Phase, b.Status.Outcome = phase, phase
		at := metav1.NewTime(time.Now().Add(time.Duration(w.ahead.Load())))
		b.Status.CompletionTime, b.Status.ObservedGeneration = &at, b.Generation
		return w.c.Status().Update(w.t.Context(), b)
	}).Should(Succeed())
}

// scheduleSays waits until a condition of the schedule has a reason, and returns it.
func (w *world) scheduleSays(kind, reason string) *metav1.Condition {
	w.t.Helper()
	var c *metav1.Condition
	w.Eventually(func() string {
		if c = meta.FindStatusCondition(w.schedule().Status.Conditions, kind); c == nil {
			return ""
		}
		return c.Reason
	}).Should(Equal(reason), "the reason of %s", kind)
	return c
}

// events are the events of the schedule that is there now, with a reason.
func (w *world) events(reason string) []string {
	var all corev1.EventList
	w.Expect(w.c.List(w.t.Context(), &all, client.InNamespace(team))).To(Succeed())
	uid := w.schedule().UID
	var messages []string
	for _, e := range all.Items {
		if e.InvolvedObject.UID == uid && e.Reason == reason {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func (w *world) next() string {
	next := w.schedule().Status.NextScheduleTime
	if next == nil {
		return ""
	}
	return next.UTC().Format(time.RFC3339)
}

func scheduleMissingHour(w *world) {
	w.schedules(nightly(every("30 1-3 * * *", "Europe/Berlin"), policy(v1alpha1.ConcurrencyAllow)))
	w.Eventually(w.next).Should(Equal("2027-03-28T00:30:00Z"), "1:30 in winter")
	w.idle()
	w.fires(time.Minute, "20270328-0030")
	w.Eventually(w.next).Should(Equal("2027-03-28T01:30:00Z"), "3:30 in summer, as there is no 2:30")
	w.fires(time.Hour, "20270328-0030", "20270328-0130")
	w.Expect(w.schedule().Status.LastScheduleTime.UTC().Format(time.RFC3339)).To(Equal("2027-03-28T01:30:00Z"))
	w.Eventually(func() []string { return w.events(v1alpha1.EventFired) }).Should(HaveLen(2))
	w.Expect(w.events(v1alpha1.EventFiringsMissed)).To(BeEmpty())
	b := w.benchmark("nightly-20270328-0030")
	w.Expect(b.OwnerReferences).To(BeEmpty(), "the result outlives the schedule")
	w.Expect(b.Spec.HistoryName).To(Equal("nightly"), "all nights are one history")
}

func scheduleDoubledHour(w *world) {
	w.schedules(nightly(every("30 2 * * *", "Europe/Berlin"), policy(v1alpha1.ConcurrencyAllow)))
	w.fires(time.Minute, "20271031-0030")
	w.Eventually(w.next).Should(Equal("2027-10-31T01:30:00Z"), "the second 2:30")
	w.fires(time.Hour, "20271031-0030", "20271031-0130")
	w.Eventually(w.next).Should(Equal("2027-11-01T01:30:00Z"))
}

func scheduleForbid(w *world) {
	w.schedules(nightly())
	w.Expect(w.schedule().Spec.ConcurrencyPolicy).To(Equal(v1alpha1.ConcurrencyForbid), "the default")
	w.Expect(w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonNoRun).Status).To(Equal(metav1.ConditionUnknown))
	w.fires(time.Minute, "20270101-0200")
	w.Eventually(func() []v1alpha1.ActiveBenchmark { return w.schedule().Status.Active }).Should(Equal(
		[]v1alpha1.ActiveBenchmark{{Name: "nightly-20270101-0200", UID: string(w.benchmark("nightly-20270101-0200").UID)}}))
	w.pass(48 * time.Hour)
	c := w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForEarlier)
	w.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	w.Expect(c.Message).To(ContainSubstring("the firing at 2027-01-03T02:00:00Z waits, by concurrencyPolicy Forbid, for nightly-20270101-0200"))
	w.idle("20270101-0200")
	w.ended("20270101-0200", v1alpha1.PhaseFailed)
	w.fires(0, "20270101-0200", "20270103-0200")
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringsMissed) }).Should(ConsistOf(
		"firings missed up to 2027-01-03T02:00:00Z: 1: only the latest is made up for"))

	c = w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunFailed)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(Equal("0 of 1 benchmarks of the firing 20270101-0200 passed: nightly-20270101-0200 (Failed)"))
	w.Eventually(func() []string { return w.events(v1alpha1.EventRunFailed) }).Should(ConsistOf(c.Message))
	w.Expect(w.schedule().Status.LastSuccessfulTime).To(BeNil())
	w.ended("20270103-0200", v1alpha1.PhaseMeasured)
	w.Expect(w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed).Status).To(Equal(metav1.ConditionTrue))
	status := w.schedule().Status
	w.Expect(status.LastSuccessfulTime.Equal(w.benchmark("nightly-20270103-0200").Status.CompletionTime)).To(BeTrue())
	w.Expect(status.ActiveCount).To(BeZero())
	w.Expect(status.LastRun).To(HaveField("Passed", BeEquivalentTo(1)))
	w.Expect(meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)).To(BeNil())
}

func scheduleForbidDeadline(w *world) {
	w.schedules(nightly(startWithin(3600)))
	w.fires(time.Minute, "20270101-0200")
	w.pass(24*time.Hour + 30*time.Minute)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForEarlier)
	w.pass(time.Hour)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringsMissed) }).Should(ConsistOf(
		"firings missed up to 2027-01-02T02:00:00Z: 1: it is later than startingDeadlineSeconds (3600) after the last of them"))
	w.ended("20270101-0200", v1alpha1.PhaseMeasured)
	w.idle("20270101-0200")
	w.Expect(w.events(v1alpha1.EventFiringsMissed)).To(HaveLen(1), "it is said once")
	w.fires(23*time.Hour, "20270101-0200", "20270103-0200")
}

func scheduleAllow(w *world) {
	w.schedules(nightly(policy(v1alpha1.ConcurrencyAllow)))
	w.fires(time.Minute, "20270101-0200")
	w.fires(24*time.Hour, "20270101-0200", "20270102-0200")
	w.Eventually(func() int32 { return w.schedule().Status.ActiveCount }).Should(BeEquivalentTo(2))
}

// scheduleReplace has a benchmark that measures: it is aborted, and keeps its row.
func scheduleReplace(w *world) {
	w.modelledBed()
	w.schedules(nightly(policy(v1alpha1.ConcurrencyReplace)))
	w.fires(time.Minute, "20270101-0200")
	first := w.reaches("nightly-20270101-0200", v1alpha1.PhaseRunning)
	w.runners.report(first, measuring(rate(64, 1000)))
	w.Eventually(func() int { return len(w.rows(first)) }).Should(Equal(1))
	// activeDeadlineSeconds counts the time that the clock of the operator jumps.
	w.changeSchedule(every("10 2 * * *", ""))
	w.fires(10*time.Minute, "20270101-0200", "20270101-0210")
	first = w.reaches(first.Name, v1alpha1.PhaseAborted)
	w.Expect(w.rows(first)).To(HaveLen(1))
	w.runners.report(w.reaches("nightly-20270101-0210", v1alpha1.PhaseRunning), measured(rate(64, 1000), rate(128, 1000)))
	w.reaches("nightly-20270101-0210", v1alpha1.PhaseMeasured)
	w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed)
	w.Eventually(func() []string { return w.events(v1alpha1.EventReplaced) }).Should(ConsistOf(ContainSubstring("aborted to make room, by concurrencyPolicy Replace: nightly-20270101-0200")))
}

func scheduleAway(w *world) {
	w.schedules(nightly())
	w.stop()
	w.pass(72*time.Hour + 2*time.Minute)
	w.start()
	w.fires(0, "20270104-0200")
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringsMissed) }).Should(ConsistOf(
		"firings missed up to 2027-01-04T02:00:00Z: 3: only the latest is made up for"))
	w.idle("20270104-0200")
}

func scheduleAwayTooLong(w *world) {
	w.schedules(nightly(every("*/5 * * * *", ""), startWithin(60)))
	w.stop()
	w.pass(48*time.Hour - 2*time.Minute)
	w.start()
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringsMissed) }).Should(ConsistOf(HavePrefix(
		"firings missed up to 2027-01-03T01:55:00Z: 100 or more: ")))
	w.idle()
	w.fires(3*time.Minute, "20270103-0200")
}

// scheduleRestart has an operator that died when it had decided to fire, and one that died
// when it had made one of two benchmarks.
func scheduleRestart(w *world) {
	w.schedules(nightly(onBeds("a", "b")))
	w.stop()
	dies := func(at string) {
		w.t.Helper()
		s := w.schedule()
		moment, err := time.Parse(time.RFC3339, at)
		w.Expect(err).NotTo(HaveOccurred())
		s.Status.Firing = &v1alpha1.Firing{ScheduleTime: metav1.NewTime(moment)}
		s.Status.LastScheduleTime = &s.Status.Firing.ScheduleTime
		w.Expect(w.c.Status().Update(w.t.Context(), s)).To(Succeed())
	}
	dies("2027-01-01T02:00:00Z")
	w.pass(time.Hour)
	w.start()
	w.fires(0, "20270101-0200-a", "20270101-0200-b")
	before := w.benchmark("nightly-20270101-0200-a")
	w.stop()
	dies("2027-01-01T02:00:00Z")
	w.Expect(w.c.Delete(w.t.Context(), w.benchmark("nightly-20270101-0200-b"))).To(Succeed())
	w.pass(time.Hour)
	w.start()
	w.fires(0, "20270101-0200-a", "20270101-0200-b")
	w.Expect(w.benchmark(before.Name).UID).To(Equal(before.UID), "what was made is not made again")
}

// scheduleRefused has a benchmark of another origin in the place of one that is to be made.
func scheduleRefused(w *world) {
	obstacle := benchmark("nightly-20270101-0200-b", "sim")
	create(w.t, w.c, obstacle)
	w.schedules(nightly(onBeds("a", "b")))
	w.pass(time.Minute)
	c := w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonFiringRefused)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(HavePrefix("of the firing at 2027-01-01T02:00:00Z, 1 of 2 benchmarks were refused: a benchmark of that name is not of this schedule"))
	w.Expect(meta.IsStatusConditionTrue(w.schedule().Status.Conditions, v1alpha1.ConditionStalled)).To(BeTrue())
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringRefused) }).Should(ConsistOf(c.Message))
	w.Expect(w.c.Delete(w.t.Context(), obstacle)).To(Succeed())
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.fires(0, "20270101-0200-a", "20270101-0200-b")

	// Given up when the next one is due, whose benchmarks are all made.
	w.ended("20270101-0200-a", v1alpha1.PhaseMeasured)
	w.ended("20270101-0200-b", v1alpha1.PhaseMeasured)
	w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed)
	obstacle = benchmark("nightly-20270102-0200-b", "sim")
	create(w.t, w.c, obstacle)
	w.pass(24 * time.Hour)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonFiringRefused)
	w.ended("20270102-0200-a", v1alpha1.PhaseMeasured)
	w.pass(24 * time.Hour)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.Eventually(func() []string { return w.events(v1alpha1.EventFiringsMissed) }).Should(ConsistOf(
		"not all benchmarks of the firing at 2027-01-02T02:00:00Z were made: the next one is due"))
	c = w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunFailed)
	w.Expect(c.Message).To(Equal("1 of 2 benchmarks of the firing 20270102-0200 passed: the others do not exist"))
}

// scheduleTwoOperators has two operators that both believe to lead.
func scheduleTwoOperators(w *world) {
	w.stop()
	w.crowded = true
	w.start()
	second := w.startOperator()
	defer second()
	var beds []string
	for i := range 6 {
		beds = append(beds, fmt.Sprint("bed", i))
	}
	w.schedules(nightly(onBeds(beds...)))
	var want []string
	for day := range 3 {
		for _, bed := range beds {
			want = append(want, fmt.Sprintf("202701%02d-0200-%s", day+1, bed))
		}
		w.fires([]time.Duration{time.Minute, 24 * time.Hour, 24 * time.Hour}[day], want...)
		for _, bed := range beds {
			w.ended(fmt.Sprintf("202701%02d-0200-%s", day+1, bed), v1alpha1.PhaseMeasured)
		}
		w.Eventually(func() int32 { return w.schedule().Status.ActiveCount }).Should(BeZero())
	}
	w.idle(want...)
	w.Expect(w.events(v1alpha1.EventFiringsMissed)).To(BeEmpty())
}

func scheduleSuspended(w *world) {
	w.schedules(nightly())
	w.fires(time.Minute, "20270101-0200")
	w.changeSchedule(func(s *v1alpha1.BenchmarkScheduleSpec) { s.Suspend = true })
	c := w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	w.Expect(c.Status).To(Equal(metav1.ConditionTrue), "nothing is wrong")
	w.Expect(w.next()).To(BeEmpty())
	w.ended("20270101-0200", v1alpha1.PhaseMeasured)
	w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed)
	w.pass(36 * time.Hour)
	w.changeSchedule(func(s *v1alpha1.BenchmarkScheduleSpec) { s.Suspend = false })
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.idle("20270101-0200")
	w.fires(24*time.Hour, "20270101-0200", "20270103-0200")
}

// scheduleChanged gives other times: those of today that have passed are not fired.
func scheduleChanged(w *world) {
	w.schedules(nightly())
	w.pass(-10 * time.Minute)
	w.changeSchedule(every("0 1 * * *", "UTC"))
	w.Eventually(w.next).Should(Equal("2027-01-02T01:00:00Z"))
	w.idle()
	w.changeSchedule(every("0 3 * * *", "Europe/Berlin"))
	w.Eventually(w.next).Should(Equal("2027-01-01T02:00:00Z"))
	w.fires(15*time.Minute, "20270101-0200")
}

func scheduleHistory(w *world) {
	w.schedules(nightly(onBeds("a", "b"), keeping(2, 1), policy(v1alpha1.ConcurrencyAllow)))
	phases := map[int][2]v1alpha1.BenchmarkPhase{
		1: {v1alpha1.PhaseMeasured, v1alpha1.PhaseMeasured}, 2: {v1alpha1.PhaseFailed, v1alpha1.PhaseMeasured},
		3: {v1alpha1.PhaseMeasured, v1alpha1.PhaseMeasured}, 4: {v1alpha1.PhaseError, v1alpha1.PhaseMeasured},
	}
	w.pass(time.Minute - 24*time.Hour)
	var kept []string
	for day := 1; day <= 4; day++ {
		a, b := fmt.Sprintf("202701%02d-0200-a", day), fmt.Sprintf("202701%02d-0200-b", day)
		kept = append(kept, a, b)
		w.fires(24*time.Hour, kept...)
		w.ended(a, phases[day][0])
		w.looks()
		w.Expect(w.made()).To(ContainElements(a, b), "while the firing is not finished")
		w.ended(b, phases[day][1])
		// Of a: passed 1 and 3, failed 4. Of b: passed 3 and 4.
		kept = map[int][]string{
			1: kept, 2: kept,
			3: {"20270101-0200-a", "20270102-0200-a", "20270102-0200-b", "20270103-0200-a", "20270103-0200-b"},
			4: {"20270101-0200-a", "20270103-0200-a", "20270103-0200-b", "20270104-0200-a", "20270104-0200-b"},
		}[day]
		w.Eventually(w.made).Should(Equal(kept))
	}
	w.changeSchedule(keeping(0, 0))
	w.Eventually(w.made).Should(BeEmpty())
	c := w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunFailed)
	w.Expect(c.Message).To(HavePrefix("1 of 2 benchmarks of the firing 20270104-0200 passed"), "what is known stays")
}

// scheduleHistoryArchive deletes only what is archived.
func scheduleHistoryArchive(w *world) {
	d := w.archiving()
	d.goesAway()
	w.modelledBed()
	w.schedules(nightly(every("*/10 * * * *", ""), keeping(0, 0)))
	w.fires(time.Minute, "20270101-0200")
	b := w.reaches("nightly-20270101-0200", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches(b.Name, v1alpha1.PhaseMeasured)
	w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed)
	w.stays(b)
	d.comesBack()
	w.vanishes(b)
	w.Expect(d.documents()).To(HaveLen(1))
}

// scheduleAgain deletes a schedule, as a pipeline that makes all anew from its repository:
// what is there stays, is not made twice, and counts for the history.
func scheduleAgain(w *world) {
	w.schedules(nightly(keeping(1, 1)))
	w.fires(time.Minute, "20270101-0200")
	w.Expect(w.c.Delete(w.t.Context(), w.schedule())).To(Succeed())
	w.Expect(w.made()).To(Equal([]string{"20270101-0200"}))
	w.pass(-2 * time.Minute)
	w.schedules(nightly(keeping(1, 1)))
	w.pass(2 * time.Minute)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForEarlier)
	w.ended("20270101-0200", v1alpha1.PhaseMeasured)
	w.fires(24*time.Hour, "20270101-0200", "20270102-0200")
	w.ended("20270102-0200", v1alpha1.PhaseMeasured)
	w.Eventually(w.made).Should(Equal([]string{"20270102-0200"}))
}

func scheduleClock(w *world) {
	w.schedules(nightly())
	w.fires(time.Minute, "20270101-0200")
	w.ended("20270101-0200", v1alpha1.PhaseMeasured)
	w.pass(-30 * time.Hour)
	c := w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonClockBehind)
	w.Expect(c.Message).To(HavePrefix("the last firing was at 2027-01-01T02:00:00Z, and it is 2026-12-30T20:"))
	w.pass(24 * time.Hour) // Past another 2:00.
	w.idle("20270101-0200")
	w.pass(30 * time.Hour)
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.idle("20270101-0200", "20270102-0200")
}

// scheduleUnreadable has what admission refuses, as if it had been stored before.
func scheduleUnreadable(w *world) {
	create(w.t, w.c, nightly(every("0 2 * *", "UTC")))
	c := w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduleInvalid)
	w.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	w.Expect(c.Message).To(HavePrefix(`the schedule "0 2 * *" in UTC cannot be read: it is not a cron expression: expected exactly 5 fields`))
	w.changeSchedule(every("0 2 * * *", "UTC"))
	w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
	w.fires(time.Minute, "20270101-0200")
}

// scheduleByHand has a benchmark that a person made from the schedule: it is one of its
// firings, for the policy and for the last run.
func scheduleByHand(w *world) {
	w.schedules(nightly())
	b := benchmark("nightly-20270101-015907", "sim")
	b.Labels = map[string]string{v1alpha1.LabelSchedule: "nightly", v1alpha1.LabelFiring: "20270101-015907"}
	create(w.t, w.c, b)
	w.Eventually(func() int32 { return w.schedule().Status.ActiveCount }).Should(Equal(int32(1)), "the operator has seen the benchmark")
	w.pass(time.Minute)
	w.Expect(w.scheduleSays(v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForEarlier).Message).To(ContainSubstring(b.Name))
	w.ended("20270101-015907", v1alpha1.PhaseMeasured)
	w.scheduleSays(v1alpha1.ConditionLastRunPassed, v1alpha1.ReasonRunPassed)
	w.fires(0, "20270101-015907", "20270101-0200")
}

// scheduleMatrix makes a benchmark for each image and frame size, and each has its own history.
func scheduleMatrix(w *world) {
	bed := virtual("frr")
	bed.Spec.Device.Containerlab.AllowedImages = []string{"router:*"}
	create(w.t, w.c, bed)
	s := nightly()
	s.Spec.BenchmarkTemplate.Spec.TestBedName = "frr"
	s.Spec.Matrix = &v1alpha1.BenchmarkMatrix{DeviceImages: []v1alpha1.DeviceImage{"router:1", "router:2"}, FrameSizes: []v1alpha1.FrameSize{64, 1518}}
	w.schedules(s)
	w.fires(time.Minute, "20270101-0200-router-1-1518", "20270101-0200-router-1-64", "20270101-0200-router-2-1518", "20270101-0200-router-2-64")
	b := w.benchmark("nightly-20270101-0200-router-2-1518")
	w.Expect(b.Spec.DeviceImage).To(BeEquivalentTo("router:2"))
	w.Expect(b.Spec.FrameSizes).To(Equal([]v1alpha1.FrameSize{1518}))
	w.Expect(b.Spec.HistoryName).To(Equal("nightly-router-2-1518"))
	w.Expect(b.Labels).To(HaveKeyWithValue(v1alpha1.LabelCell, "router-2-1518"))
}

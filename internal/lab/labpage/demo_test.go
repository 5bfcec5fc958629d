package labpage

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// demoPages are the pages of the demo by the names of their pictures.
var demoPages = map[string]string{
	"table": "/table", "teams": "/teams", "wall": "/wall", "overview": "/", "timeline": "/timeline", "timeline-week": "/timeline?hours=168", "bed": "/beds/access-1", "running": "/benchmarks", "waiting": "/benchmarks?view=waiting",
	"finished": "/benchmarks?view=finished", "benchmark": "/benchmarks/team-routing/nightly-0412", "failed": "/benchmarks/team-routing/nightly-0411",
	"reservations": "/reservations", "schedules": "/schedules", "report": "/results/team-routing/nightly-0411",
}

// docsPages are the pages whose pictures are in the documentation, by the names of these.
var docsPages = map[string]string{
	"beds": "/", "timeline": "/timeline?hours=168", "bed": "/beds/access-1", "running": "/benchmarks/team-routing/nightly-0412", "benchmark": "/benchmarks/team-routing/nightly-0411",
	"waiting": "/benchmarks?view=waiting", "reservations": "/reservations", "schedules": "/schedules", "teams": "/teams", "table": "/table", "wall": "/wall",
}

// demo is a lab of a few teams as one person sees it, who may see all but one of them.
func demo(t testing.TB, lab ...client.Object) *Page {
	t.Helper()
	if len(lab) == 0 {
		lab = demoLab()
	}
	return newPage(t, fakeAccess("team-routing", "team-switching", "team-optics", "nodrop-lab"), lab...)
}

func demoLab() []client.Object {
	var all []client.Object
	add := func(o ...client.Object) { all = append(all, o...) }
	reserve := func(of string, from, until int) func(*v1alpha1.TestBed) {
		return func(b *v1alpha1.TestBed) {
			b.Status.Reservations = append(b.Status.Reservations, v1alpha1.BedReservation{Reservation: of, From: at(from), Until: at(until)})
		}
	}
	both := func(changes ...func(*v1alpha1.TestBed)) func(*v1alpha1.TestBed) {
		return func(b *v1alpha1.TestBed) {
			for _, change := range changes {
				change(b)
			}
		}
	}
	queued := func(n int32) func(*v1alpha1.TestBed) { return func(b *v1alpha1.TestBed) { b.Status.Queued = n } }
	ready := func(reason, message string) func(*v1alpha1.TestBed) {
		return func(b *v1alpha1.TestBed) {
			b.Status.Conditions[0].Status, b.Status.Conditions[0].Reason, b.Status.Conditions[0].Message = metav1.ConditionFalse, reason, message
		}
	}
	add(
		bed("access-1", both(leased("team-routing/nightly-0412"), queued(7), known("pool", "access"), calibratedBy("loop-1"), healthy(true), nights, reserve("nodrop-lab/firmware", 1200, 1320))),
		bed("access-2", both(leased("team-switching/imix-ab12"), queued(2), known("pool", "access"), calibratedBy("loop-1"), healthy(true))),
		bed("access-3", both(reserve("team-switching/fan-noise", -40, 80), known("pool", "access"), calibratedBy("loop-2"), healthy(true))),
		loop("loop-1", 3), loop("loop-2", 41),
		bed("core-1", both(leased("team-vendor/acceptance"), queued(1), reserve("team-vendor/visit", 240, 480))),
		bed("core-2", both(known("pool", "core"), healthy(true))),
		bed("edge-frr", leased("team-optics/rfc2544-long")),
		bed("edge-old", func(b *v1alpha1.TestBed) { b.Spec.Unschedulable = true }),
		bed("lab-new", ready("ResourcesMissing", "node lab-4 offers no intel.com/dut_p1: install the SR-IOV network device plugin there")),
		bed("spine-1", both(queued(3), func(b *v1alpha1.TestBed) {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue, Reason: "CleanUpFailed", LastTransitionTime: at(-20), Message: "the device was not removed in 2m; look at it, then: kubectl annotate testbed spine-1 nodrop.dev/release-quarantine=yes"})
		})),
		bed("spine-2", reserve("nodrop-lab/recabling", 120, 300)),
	)
	run := func(namespace, name, bed string, done int32, left int64, trial string) *v1alpha1.Benchmark {
		return benchmark(namespace, name, v1alpha1.PhaseRunning, func(b *v1alpha1.Benchmark) {
			running(bed)(b)
			b.Status.Message = "trials run"
			b.Status.Progress.RowTrials = []v1alpha1.ProgressTrial{{LoadPPM: 1_000_000, Verdict: v1alpha1.TrialFailed}, {LoadPPM: 25_000, Verdict: v1alpha1.TrialPassed}, {LoadPPM: 500_000, Verdict: v1alpha1.TrialPassed}, {LoadPPM: 750_000, Verdict: v1alpha1.TrialFailed}}
			b.Status.Progress.Rates = &v1alpha1.ProgressRates{SentFramesPerSecond: 58_735_360 - left, ReceivedFramesPerSecond: 58_735_360 - 2*left, InHand: left < 3600}
			b.Status.Progress.TrialsDone, b.Status.Progress.SecondsLeft, b.Status.Progress.Trial = done, left, trial
			b.Status.Conditions = []metav1.Condition{
				{Type: "Accepted", Status: "True", Reason: "Accepted", LastTransitionTime: at(-90), Message: "profile and bed fit the tests"},
				{Type: "BedLeased", Status: "True", Reason: "BedLeased", LastTransitionTime: at(-30), Message: "bed " + bed + " is leased"},
				{Type: "DeviceReady", Status: "True", Reason: "DeviceReady", LastTransitionTime: at(-29), Message: "the device is up"},
				{Type: "TrafficReady", Status: "True", Reason: "TrafficReady", LastTransitionTime: at(-29), Message: "2 agents hold their ports"},
				{Type: "Measured", Status: "False", Reason: "Measuring", LastTransitionTime: at(-28), Message: "3/7 rows, 41%, 25m left"},
			}
			b.Status.Results = &v1alpha1.ResultSummary{Rows: 3, Validity: []v1alpha1.ValidityCount{{Validity: "Valid", Rows: 3}}, Headlines: []v1alpha1.Headline{{Test: "throughput", Text: "64 B 58%, 128 B 92%, 256 B 100%"}}}
			b.Spec.Tests = append(b.Spec.Tests, v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{}})
			b.Spec.Gates = []v1alpha1.Gate{{Name: "floor"}}
		})
	}
	add(run("team-routing", "nightly-0412", "access-1", 41, 1500, "throughput 512 B: 62.5% for 10s"), run("team-switching", "imix-ab12", "access-2", 87, 240, "latency IMIX: 90% for 60s"),
		run("team-optics", "rfc2544-long", "edge-frr", 12, 7*3600, "throughput 64 B: 50% for 60s"), run("team-vendor", "acceptance", "core-1", 60, 3600, "soak"))
	for i := range 5 {
		add(benchmark("team-routing", fmt.Sprintf("regression-%d", i+1), v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) {
			b.Spec.TestBedName = "access-1"
			b.Status.Conditions = []metav1.Condition{{Type: "BedLeased", Status: "False", Reason: "Queued", LastTransitionTime: at(-60), Message: "waits for bed access-1, which team-routing/nightly-0412 has; " + []string{"comes next", "1 benchmark comes first", "2 benchmarks come first", "3 benchmarks come first", "4 benchmarks come first"}[i]}}
		}))
	}
	add(benchmark("team-switching", "mesh-any", v1alpha1.PhasePending, func(b *v1alpha1.Benchmark) {
		b.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"speed": "400G"}}
		b.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: "False", Reason: "NotAccepted", LastTransitionTime: at(-60), Message: "no bed has the labels speed=400G: kubectl get testbeds --show-labels lists them"}}
	}))
	phases := []v1alpha1.BenchmarkPhase{v1alpha1.PhaseFailed, v1alpha1.PhasePassed, v1alpha1.PhasePassed, v1alpha1.PhaseInconclusive, v1alpha1.PhasePassed, v1alpha1.PhaseAborted, v1alpha1.PhaseError}
	for i, phase := range phases {
		add(benchmark("team-routing", fmt.Sprintf("nightly-04%02d", 11-i), phase, func(b *v1alpha1.Benchmark) {
			began, ended := at(-100-70*i), at(-45-70*i)
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = "access-1", &began, &ended
			b.Status.Message = "all rows were measured"
			b.Status.Results = &v1alpha1.ResultSummary{Rows: 7, Validity: []v1alpha1.ValidityCount{{Validity: "Valid", Rows: 7}}, Headlines: []v1alpha1.Headline{{Test: "throughput", Text: "64 B 51%, 512 B 100%, 1518 B 100%"}}}
			b.Spec.HistoryName, b.CreationTimestamp = "nightly", at(-110-70*i)
			b.Labels = map[string]string{v1alpha1.LabelSchedule: "nightly"}
			if phase == v1alpha1.PhaseFailed {
				b.Status.Message = "gate floor failed: throughput 64 B is 51%, and at least 55% is asked for"
				b.Spec.Gates = []v1alpha1.Gate{{Name: "floor"}, {Name: "trend"}}
				b.Status.Gates = []v1alpha1.GateStatus{{Name: "floor", Verdict: v1alpha1.GateFailed, Passed: 6, Failed: 1, Message: "throughput 64 B: 51% is below 55%"}, {Name: "trend", Verdict: v1alpha1.GatePassed, Passed: 7}}
				b.Status.Conditions = []metav1.Condition{{Type: "GatesPassed", Status: "False", Reason: "GateFailed", LastTransitionTime: at(-46), Message: "gate floor failed"}, {Type: "Succeeded", Status: "False", Reason: "Failed", LastTransitionTime: at(-45), Message: b.Status.Message}}
			}
		}))
	}
	add(pastWeek()...)
	add(demoPolicy())
	reservation := func(namespace, name, purpose string, phase v1alpha1.ReservationPhase, from, until int, rule string, beds ...string) {
		r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		r.Spec = v1alpha1.ReservationSpec{TestBedNames: beds, From: at(from), Until: at(until), Purpose: purpose}
		r.Status.Phase = phase
		for _, bed := range beds {
			r.Status.Beds = append(r.Status.Beds, v1alpha1.ReservedBed{Name: bed})
		}
		if rule != "" {
			r.Spec.Recurrence = &v1alpha1.Recurrence{Rule: rule, TimeZone: "Europe/Berlin"}
		}
		add(r)
	}
	reservation("team-routing", "night", "the nightly run", v1alpha1.ReservationScheduled, 600, 960, "FREQ=DAILY", "access-1")
	reservation("team-switching", "fan-noise", "look at the fans", v1alpha1.ReservationActive, -40, 80, "", "access-3")
	reservation("nodrop-lab", "firmware", "firmware of the card", v1alpha1.ReservationScheduled, 1200, 1320, "", "access-1")
	reservation("nodrop-lab", "recabling", "", v1alpha1.ReservationScheduled, 120, 300, "", "spine-2")
	next, last := at(620), at(-820)
	add(&v1alpha1.BenchmarkSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: "nightly"}, Spec: v1alpha1.BenchmarkScheduleSpec{Schedule: "20 23 * * *", TimeZone: "Europe/Berlin"},
		Status: v1alpha1.BenchmarkScheduleStatus{NextScheduleTime: &next, LastScheduleTime: &last, LastRun: &v1alpha1.ScheduledRun{Name: "x", CompletionTime: at(-45), Benchmarks: 4, Passed: 3}},
	}, &v1alpha1.BenchmarkSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-optics", Name: "weekly-soak"}, Spec: v1alpha1.BenchmarkScheduleSpec{Schedule: "@weekly", TimeZone: "UTC", Suspend: true},
	}, &v1alpha1.BenchmarkSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-switching", Name: "imix"}, Spec: v1alpha1.BenchmarkScheduleSpec{Schedule: "0 */6 * * *", TimeZone: "UTC"},
		Status: v1alpha1.BenchmarkScheduleStatus{NextScheduleTime: &next, LastScheduleTime: &last, ActiveCount: 1, LastRun: &v1alpha1.ScheduledRun{Name: "x", CompletionTime: at(-300), Benchmarks: 2, Passed: 2}},
	})
	return all
}

// known gives a bed a label, and speeds to its ports.
func known(key, value string) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		b.Labels = map[string]string{key: value}
		for i := range b.Spec.Ports {
			b.Spec.Ports[i].Speed = "100G"
		}
	}
}

func calibratedBy(bed string) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) { b.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: bed} }
}

// loop is a bed without a device that was measured some days ago.
func loop(name string, days int) *v1alpha1.TestBed {
	return bed(name, func(b *v1alpha1.TestBed) {
		known("pool", "calibration")(b)
		b.Spec.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}}
		b.Status.Calibration = &v1alpha1.CalibrationStatus{Time: at(-24 * 60 * days), Benchmark: "nodrop-lab/loop", TestBedName: name}
	})
}

func healthy(is bool) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		c := metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHealthy, LastTransitionTime: at(-5)}
		if !is {
			c.Status, c.Message = metav1.ConditionFalse, "node lab-1 has no link at eth2"
		}
		probed := at(-5)
		b.Status.Conditions = append(b.Status.Conditions, c)
		b.Status.Health = &v1alpha1.BedHealth{Interfaces: "x", ProbeTime: &probed}
	}
}

// nights reserves a bed for as many nights as the status of a bed can have times, the reservation of the firmware included.
func nights(b *v1alpha1.TestBed) {
	for i := range maxPublished - 1 {
		b.Status.Reservations = append(b.Status.Reservations, v1alpha1.BedReservation{Reservation: "team-routing/night", From: at(600 + 1440*i), Until: at(960 + 1440*i)})
	}
}

// pastWeek has benchmarks that ended in the last week.
func pastWeek() (all []client.Object) {
	for i := range 40 {
		team := []string{"team-routing", "team-switching", "team-optics", "team-vendor"}[i/6%4]
		all = append(all, benchmark(team, fmt.Sprintf("week-%02d", i), v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) {
			began, ended := at(-1500-i*200), at(-1500-i*200+40+i*7%300)
			b.Status.TestBedName = []string{"access-1", "access-2", "access-3", "core-1", "core-2", "edge-frr"}[i%6]
			b.Status.StartTime, b.Status.CompletionTime, b.Status.Message = &began, &ended, "all rows were measured"
		}))
	}
	return all
}

// demoPolicy has the standings of four teams.
func demoPolicy() *v1alpha1.LabPolicy {
	p := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	p.Spec.Window = metav1.Duration{Duration: 6 * time.Hour}
	for i, name := range []string{"team-routing", "team-switching", "team-optics", "team-vendor"} {
		hours := func(n float64) metav1.Duration {
			return metav1.Duration{Duration: time.Duration(n * float64(time.Hour))}
		}
		p.Status.Teams = append(p.Status.Teams, v1alpha1.TeamStanding{
			Name: name, Weight: int32(1 + i%2), Running: 1, Queued: int32(5 - i), BedHoursInWeek: int32(61 - 13*i),
			Pools: []v1alpha1.PoolStanding{{Due: hours(5.5), Had: hours(4 + float64(i)), Behind: hours(1.5 - float64(i))}},
		})
	}
	return p
}

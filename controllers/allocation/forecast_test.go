package allocation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// outlookLab is a lab of one team whose expected starts are computed.
type outlookLab struct{ LineupInput }

var outlookNow = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

var grant = v1alpha1.AccessGrant{Names: []string{"team"}, MaxPriority: 100, MaxDuration: metav1.Duration{Duration: 12 * time.Hour}}

// ago is a time in the past of the lab, in seconds.
func ago(seconds int) *metav1.Time {
	return &metav1.Time{Time: outlookNow.Add(-time.Duration(seconds) * time.Second)}
}

func newOutlookLab(beds ...*v1alpha1.TestBed) *outlookLab {
	l := &outlookLab{LineupInput{
		Now:        outlookNow,
		Namespaces: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "team"}}},
		Profiles:   []v1alpha1.TrafficProfile{*objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64, 128))},
	}}
	for _, b := range beds {
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		b.Finalizers = []string{v1alpha1.FinalizerLeased}
		l.Beds = append(l.Beds, *b)
	}
	return l
}

func simulatedBed(name string) *v1alpha1.TestBed {
	return objects.TestBed(name, objects.Labels(map[string]string{"kind": "lab"}), objects.Simulated("model", "model.csv"), objects.Engine(v1alpha1.EngineSim),
		objects.Ports(objects.Port("p1", "198.18.1.2/24", "198.18.1.1"), objects.Port("p2", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(grant))
}

func routerBed(name string) *v1alpha1.TestBed {
	return objects.TestBed(name, objects.Containerlab("router"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(objects.HostPort("p1", "node1", "198.18.1.2/24", "198.18.1.1"), objects.HostPort("p2", "node1", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(grant))
}

// benchmark adds a benchmark, which waits unless it is changed.
func (l *outlookLab) benchmark(name, bed string, change ...func(*v1alpha1.Benchmark)) {
	b := objects.Benchmark("team", name, objects.UID(types.UID(name)), objects.BedName(bed), objects.ProfileName("pairs"), objects.Deadline(3600),
		objects.Tests(objects.QuickThroughput(time.Second)), objects.Created(*ago(9000)))
	for _, c := range change {
		c(b)
	}
	l.Benchmarks = append(l.Benchmarks, *b)
}

// ran lets a benchmark have had its bed.
func ran(from, until int) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) {
		b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhaseMeasured, StartTime: ago(from), CompletionTime: ago(until), TestBedName: b.Spec.TestBedName}
	}
}

// has lets a benchmark have a bed since a time.
func (l *outlookLab) has(name, bed string, since int) {
	for i := range l.Beds {
		if l.Beds[i].Name == bed {
			l.Beds[i].Status.Lease = &v1alpha1.BedLease{Holder: "team/" + name, UID: name, AcquireTime: *ago(since)}
		}
	}
	l.benchmark(name, bed, func(b *v1alpha1.Benchmark) {
		b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhaseRunning, StartTime: ago(since), TestBedName: bed}
	})
}

// startsIn checks the expected starts of waiting benchmarks in seconds from now; -1 is one that is
// not known.
func (l *outlookLab) startsIn(t *testing.T, want map[string]float64) {
	t.Helper()
	seen := 0
	for _, p := range Lineup(l.LineupInput) {
		in := -1.0
		if !p.Start.IsZero() {
			in = p.Start.Sub(outlookNow).Seconds()
		}
		if w, is := want[p.Benchmark.Name]; is {
			seen++
			if in != w {
				t.Errorf("%s is expected to start in %v s, want %v: %s", p.Benchmark.Name, in, w, p.Why)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d benchmarks wait", seen, len(want))
	}
}

// A bed on which each benchmark takes 16 s, and 4 s until the next one has it, is free every 20 s, also if the
// one that has it takes a bit longer.
func TestStartsFollowTheTurnoverOfABed(t *testing.T) {
	for had, left := range map[int]float64{5: 15, 21: 2, 50: 30} {
		t.Run(fmt.Sprintf("%d seconds", had), func(t *testing.T) {
			l := newOutlookLab(simulatedBed("sim"))
			for i := range 3 {
				l.benchmark(fmt.Sprint("past-", i), "sim", ran(1000-20*i, 984-20*i))
			}
			l.has("running", "sim", had)
			l.benchmark("a", "sim")
			l.benchmark("b", "sim")
			l.startsIn(t, map[string]float64{"a": left, "b": left + 20})
		})
	}
}

// What a benchmark takes does not depend on how its bed was chosen.
func TestThePastOfOtherBedsCounts(t *testing.T) {
	l := newOutlookLab(simulatedBed("sim-1"), simulatedBed("sim-2"))
	l.benchmark("past", "sim-2", ran(1000, 900))
	l.has("running", "sim-1", 10)
	l.has("other", "sim-2", 30)
	anywhere := func(b *v1alpha1.Benchmark) {
		b.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "lab"}}
	}
	l.benchmark("a", "", anywhere)
	l.benchmark("b", "", anywhere)
	l.startsIn(t, map[string]float64{"a": 70, "b": 90})
}

// What a benchmark takes does not depend on the team that measures with the same tests and traffic.
func TestThePastOfOtherTeamsCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		traffic *v1alpha1.TrafficProfile
		known   bool
	}{
		"same traffic":  {objects.TrafficProfile("other", "pairs of other", objects.IPv4Pairs(64, 128)), true},
		"other traffic": {objects.TrafficProfile("other", "pairs of other", objects.IPv4Pairs(64, 256)), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newOutlookLab(routerBed("frr"), simulatedBed("sim"))
			l.Namespaces = append(l.Namespaces, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			l.Profiles = append(l.Profiles, *tc.traffic)
			l.benchmark("past", "sim", ran(10000, 1000), func(b *v1alpha1.Benchmark) {
				b.Namespace, b.Spec.TrafficProfileName = "other", tc.traffic.Name
			})
			l.has("running", "frr", 0)
			l.benchmark("waits", "frr")
			places := Lineup(l.LineupInput)
			if len(places) != 1 || places[0].Start.IsZero() {
				t.Fatalf("places %+v, want one with an expected start", places)
			}
			if got, want := places[0].Start.Sub(outlookNow), 9000*time.Second; (got == want) != tc.known {
				t.Errorf("it is expected to start in %s; the benchmark of the other team took %s", got, want)
			}
		})
	}
}

// Without a past of the same work there is the plan, with what benchmarks took longer than their plans.
func TestWithoutAPast(t *testing.T) {
	other := func(b *v1alpha1.Benchmark) { b.Spec.FrameSizes = []v1alpha1.FrameSize{128} }
	l := newOutlookLab(routerBed("frr"), simulatedBed("sim"))
	l.has("first", "frr", 0)
	l.benchmark("second", "frr")
	l.has("other", "sim", 0)
	l.benchmark("never ran", "sim")
	sample := func(name string) time.Duration {
		for i := range l.Benchmarks {
			if b := &l.Benchmarks[i]; b.Name == name {
				return planned(b, &l.Profiles[0], &l.Beds[0])
			}
		}
		return 0
	}
	plan := sample("second")
	if plan <= 0 {
		t.Fatalf("a plan of %s", plan)
	}
	l.startsIn(t, map[string]float64{"second": plan.Seconds(), "never ran": -1})

	l.benchmark("past", "frr", other, ran(1000+int(sample("past").Seconds()), 1000))
	of := sample("past")
	last := &l.Benchmarks[len(l.Benchmarks)-1]
	last.Status.StartTime = &metav1.Time{Time: last.Status.CompletionTime.Add(-of - 40*time.Second)}
	l.startsIn(t, map[string]float64{"second": plan.Seconds() + 40})
}

// A bed that is reserved until tomorrow is not expected to be there now.
func TestReservedUntilTomorrow(t *testing.T) {
	l := newOutlookLab(simulatedBed("sim"))
	until := outlookNow.Add(20 * time.Hour)
	l.Beds[0].Status.Reservations = []v1alpha1.BedReservation{{Reservation: "team/hands-on", From: *ago(600), Until: metav1.NewTime(until)}}
	l.benchmark("past", "sim", ran(1000, 900))
	l.benchmark("waits", "sim")
	l.startsIn(t, map[string]float64{"waits": until.Sub(outlookNow).Seconds()})
	p := Lineup(l.LineupInput)[0]
	if p.Reason != v1alpha1.ReasonReserved || !strings.Contains(p.Why, "2026-01-06") {
		t.Errorf("it waits: %s: %s", p.Reason, p.Why)
	}
}

// A bed whose benchmark has ended is free soon, after the typical time until the next one has it.
func TestABedThatIsBeingReturned(t *testing.T) {
	l := newOutlookLab(simulatedBed("sim"))
	for i := range 3 {
		l.benchmark(fmt.Sprint("past-", i), "sim", ran(76-20*i, 60-20*i))
	}
	l.has("ended", "sim", 16)
	last := &l.Benchmarks[len(l.Benchmarks)-1]
	last.Status.Phase, last.Status.CompletionTime = v1alpha1.PhaseMeasured, ago(1)
	l.benchmark("a", "sim")
	l.benchmark("b", "sim")
	l.startsIn(t, map[string]float64{"a": 3, "b": 23})
}

// A team is not charged for a bed that its finished benchmark is about to return as for one that it keeps.
func TestATeamReturnsABed(t *testing.T) {
	l := newOutlookLab(simulatedBed("sim"))
	l.Policy = &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	l.Policy.Spec.Window.Duration = 6 * time.Hour
	l.has("ended", "sim", 16)
	last := &l.Benchmarks[len(l.Benchmarks)-1]
	last.Status.Phase, last.Status.CompletionTime = v1alpha1.PhaseMeasured, ago(1)
	l.benchmark("waits", "sim")

	behind := func() time.Duration {
		v, _ := viewOf(l.LineupInput, nil)
		standings := v.snapshot(outlookNow).Standings
		if len(standings) != 1 {
			t.Fatalf("standings of %d teams, want one", len(standings))
		}
		for _, s := range standings {
			return s.Behind
		}
		return 0
	}
	returning := behind()
	l.Beds[0].Status.Lease = nil
	if charge := behind() - returning; charge > 2*time.Second {
		t.Errorf("the team is charged %s for the bed until it is returned, want at most 2 s", charge)
	}
}

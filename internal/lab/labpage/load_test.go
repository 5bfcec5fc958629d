package labpage

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// fakeCaches are lists in memory, which are copied as caches copy them where they need not
// copy what is in them. TestMeasurePage has real ones.
type fakeCaches struct {
	client.Reader
	lists map[reflect.Type]client.ObjectList
}

func (c fakeCaches) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	policies, _ := c.lists[reflect.TypeFor[*v1alpha1.LabPolicyList]()].(*v1alpha1.LabPolicyList)
	if policy, wanted := object.(*v1alpha1.LabPolicy); wanted && policies != nil {
		for i := range policies.Items {
			if policies.Items[i].Name == key.Name {
				policies.Items[i].DeepCopyInto(policy)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c fakeCaches) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if from := c.lists[reflect.TypeOf(list)]; from != nil {
		items := reflect.ValueOf(from).Elem().FieldByName("Items")
		to := reflect.MakeSlice(items.Type(), items.Len(), items.Len())
		reflect.Copy(to, items)
		reflect.ValueOf(list).Elem().FieldByName("Items").Set(to)
	}
	return nil
}

// largeLab has 1,000 beds, nine of ten of which are in use, with 15,000 benchmarks of 40 teams that wait and 5,000 that have ended.
func largeLab() (beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) {
	return labOf(1000, 15_000, 5000)
}

// labOf has beds that are ready, nine of ten of which are in use, with benchmarks of 40 teams that wait and that have ended. Of those
// that wait a third names a bed, a third selects one of ten pools, and a third can use every bed.
func labOf(allBeds, waiting, ended int) (beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) {
	team := func(i int) string { return fmt.Sprintf("team-%02d", i%40) }
	var teams []string
	for i := range 40 {
		teams = append(teams, team(i))
	}
	for i := range allBeds {
		b := bed(fmt.Sprintf("bed-%03d", i), func(b *v1alpha1.TestBed) {
			b.Status.Queued = 15
			b.Finalizers, b.UID, b.Generation = []string{v1alpha1.FinalizerLeased}, types.UID(b.Name), 1
			b.Status.Conditions[0].ObservedGeneration = 1
			objects.Access(v1alpha1.AccessGrant{Names: teams, MaxPriority: 100, MaxRunning: 50, MaxDuration: metav1.Duration{Duration: 24 * time.Hour}})(b)
			objects.Sim(2, "100G")(b)
			objects.Simulated("m", "k")(b)
			known("pool", fmt.Sprintf("pool-%d", i%10))(b)
			b.Spec.Ports = nil // The engine has them.
			calibratedBy(fmt.Sprintf("loop-%02d", i%20))(b)
			for day := range maxPublished {
				b.Status.Reservations = append(b.Status.Reservations, v1alpha1.BedReservation{Reservation: team(i) + "/" + team(i) + "-night", From: at(600 + 1440*day), Until: at(900 + 1440*day)})
			}
			switch i % 100 {
			case 1:
				b.Status.Conditions[0].Status = metav1.ConditionFalse
			case 3:
				b.Spec.Unschedulable = true
			}
		})
		if i%10 != 1 {
			leased(fmt.Sprintf("%s/run-%d", team(i), i))(b)
			benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("run-%d", i), v1alpha1.PhaseRunning, running(b.Name)))
			benchmarks[len(benchmarks)-1].Generation = 1
			benchmarks[len(benchmarks)-1].Status.Progress.RowTrials = []v1alpha1.ProgressTrial{{LoadPPM: 1_000_000, Verdict: v1alpha1.TrialFailed}, {LoadPPM: 500_000, Verdict: v1alpha1.TrialPassed}}
		}
		beds = append(beds, *b)
	}
	for i := range waiting {
		benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("waits-%d", i), v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) {
			realistic(b)
			b.Generation = 1
			b.CreationTimestamp, b.Spec.Priority = at(-i%3000), int32(i%7)
			what := "one of 100 beds"
			switch i % 3 {
			case 0:
				b.Spec.TestBedName = fmt.Sprintf("bed-%03d", i%allBeds)
				what = "bed " + b.Spec.TestBedName
			case 1:
				b.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": fmt.Sprintf("pool-%d", i%10)}}
			default:
				b.Spec.TestBedSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: metav1.LabelSelectorOpExists}}}
			}
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBedLeased, Status: metav1.ConditionFalse, Reason: "Queued", Message: fmt.Sprintf("waits for %s; %d benchmarks come first", what, i/allBeds), LastTransitionTime: at(-60)}}
		}))
	}
	for i := range ended {
		phase := v1alpha1.PhasePassed
		if i%20 == 0 {
			phase = v1alpha1.PhaseFailed
		}
		benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("done-%d", i), phase, func(b *v1alpha1.Benchmark) {
			realistic(b)
			began, ended := at(-60-2*i), at(-30-2*i)
			b.Generation = 1
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = fmt.Sprintf("bed-%03d", i%allBeds), &began, &ended
		}))
	}
	return beds, benchmarks
}

// realistic gives a benchmark pauses and a test whose duration is known by its plan.
func realistic(b *v1alpha1.Benchmark) {
	objects.Pauses(time.Second, time.Second)(b)
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{TrialDuration: metav1.Duration{Duration: time.Minute}, SearchTrialDuration: metav1.Duration{Duration: time.Second}}}}
}

// largeOthers are the other objects of the large lab: beds that calibrate, a nightly reservation of 25 beds for each of 40 teams, a
// schedule for each, and their standings.
func largeOthers() (loops []v1alpha1.TestBed, reservations []v1alpha1.Reservation, schedules []v1alpha1.BenchmarkSchedule, policy v1alpha1.LabPolicy) {
	for i := range 20 {
		loops = append(loops, *loop(fmt.Sprintf("loop-%02d", i), i*2))
	}
	policy = *demoPolicy()
	standing := policy.Status.Teams[0]
	policy.Status.Teams = nil
	for i := range 40 {
		team := fmt.Sprintf("team-%02d", i)
		r := v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: team + "-night"}}
		r.Spec.From, r.Spec.Until, r.Spec.Purpose = at(600), at(900), "the nightly run"
		r.Spec.Recurrence = &v1alpha1.Recurrence{Rule: "FREQ=DAILY", TimeZone: "UTC"}
		r.Status.Phase = v1alpha1.ReservationScheduled
		for bed := i; bed < 1000; bed += 40 {
			r.Spec.TestBedNames = append(r.Spec.TestBedNames, fmt.Sprintf("bed-%03d", bed))
			r.Status.Beds = append(r.Status.Beds, v1alpha1.ReservedBed{Name: fmt.Sprintf("bed-%03d", bed)})
		}
		reservations = append(reservations, r)
		next := at(60 * i)
		s := v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "nightly"}}
		s.Spec.Schedule, s.Status.NextScheduleTime = "20 23 * * *", &next
		schedules = append(schedules, s)
		standing.Name = team
		policy.Status.Teams = append(policy.Status.Teams, standing)
	}
	return loops, reservations, schedules, policy
}

// largeViews are the views of the large lab that are measured, by their names.
var largeViews = []struct{ Name, Path string }{
	{"beds, the first 100", "/"}, {"beds, page 10", "/?page=10"}, {"all beds as a table", "/table"}, {"wall", "/wall"}, {"timeline, 24 hours", "/timeline"}, {"timeline, 7 days", "/timeline?hours=168"},
	{"one bed", "/beds/bed-000"}, {"running", "/benchmarks"}, {"waiting, the first 100", "/benchmarks?view=waiting"}, {"waiting, page 75", "/benchmarks?view=waiting&page=75"}, {"finished", "/benchmarks?view=finished"},
	{"one benchmark", "/benchmarks/team-00/run-0"}, {"reservations", "/reservations"}, {"schedules", "/schedules"}, {"teams", "/teams"},
}

// largeLists are the lists of caches of the large lab.
func largeLists(beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) map[reflect.Type]client.ObjectList {
	_, reservations, schedules, policy := largeOthers()
	lists := map[reflect.Type]client.ObjectList{}
	for _, list := range []client.ObjectList{
		&v1alpha1.TestBedList{Items: beds}, &v1alpha1.BenchmarkList{Items: benchmarks}, &v1alpha1.ReservationList{Items: reservations},
		&v1alpha1.BenchmarkScheduleList{Items: schedules}, &v1alpha1.LabPolicyList{Items: []v1alpha1.LabPolicy{policy}}, &v1alpha1.TrafficProfileList{Items: largeProfiles()}, &corev1.NamespaceList{Items: largeNamespaces()},
	} {
		lists[reflect.TypeOf(list)] = list
	}
	return lists
}

// halfOfTeams are the teams that the person may see who asks for pages of the large lab.
func halfOfTeams() (teams []string) {
	for i := range 20 {
		teams = append(teams, fmt.Sprintf("team-%02d", 2*i))
	}
	return teams
}

// largeNamespaces are the namespaces of the teams.
func largeNamespaces() (namespaces []corev1.Namespace) {
	for i := range 40 {
		namespaces = append(namespaces, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%02d", i)}})
	}
	return namespaces
}

// largeProfiles are the traffic profiles of the teams.
func largeProfiles() (profiles []v1alpha1.TrafficProfile) {
	for i := range 40 {
		profiles = append(profiles, *objects.TrafficProfile(fmt.Sprintf("team-%02d", i), "ipv4", objects.IPv4Pairs(64, 512, 1518)))
	}
	return profiles
}

// BenchmarkPage measures how long the server takes for each page of a large lab, for a person
// who may see half of the teams, with a new snapshot for each request.
func BenchmarkPage(b *testing.B) {
	beds, benchmarks := largeLab()
	loops, _, _, _ := largeOthers()
	beds = append(beds, loops...)
	caches := fakeCaches{lists: largeLists(beds, benchmarks)}
	clock := noon
	p := New(Options{Reader: caches, Results: caches, Access: fakeAccess(halfOfTeams()...), Now: func() time.Time { clock = clock.Add(time.Minute); return clock }, Log: logr.Discard(),
		Waiting: allocation.WaitingFrom(caches, allocation.LineupInput{}, func() time.Time { return clock })})
	for _, view := range largeViews {
		path := view.Path
		b.Run(view.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				status, text, _ := get(b, p, path)
				if status != 200 {
					b.Fatal(text)
				}
				b.ReportMetric(float64(len(text)), "bytes/page")
			}
		})
	}
}

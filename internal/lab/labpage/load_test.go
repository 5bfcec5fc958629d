package labpage

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
)

// fakeCaches are lists in memory, which are copied as caches copy them where they need not
// copy what is in them. TestMeasurePage has real ones.
type fakeCaches struct {
	client.Reader
	lists map[reflect.Type]client.ObjectList
}

func (c fakeCaches) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
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

// largeLab has 1,000 beds, half of which are in use, with 15,000 benchmarks of 40 teams that
// wait for them and 5,000 that have ended.
func largeLab() (beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) {
	team := func(i int) string { return fmt.Sprintf("team-%02d", i%40) }
	for i := range 1000 {
		b := bed(fmt.Sprintf("bed-%03d", i), func(b *v1alpha1.TestBed) {
			b.Status.Queued = 15
			b.Status.Reservations = []v1alpha1.BedReservation{{Reservation: team(i) + "/night", From: at(600), Until: at(900)}}
		})
		if i%2 == 0 {
			leased(fmt.Sprintf("%s/run-%d", team(i), i))(b)
			benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("run-%d", i), v1alpha1.PhaseRunning, running(b.Name)))
		}
		beds = append(beds, *b)
	}
	for i := range 15_000 {
		benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("waits-%d", i), v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) {
			b.Spec.TestBedName, b.CreationTimestamp, b.Spec.Priority = fmt.Sprintf("bed-%03d", i%1000), at(-i%3000), int32(i%7)
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBedLeased, Status: metav1.ConditionFalse, Reason: "Queued", Message: fmt.Sprintf("waits for bed bed-%03d; %d benchmarks come first", i%1000, i/1000), LastTransitionTime: at(-60)}}
		}))
	}
	for i := range 5000 {
		benchmarks = append(benchmarks, *benchmark(team(i), fmt.Sprintf("done-%d", i), v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) {
			began, ended := at(-60-i), at(-30-i)
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = fmt.Sprintf("bed-%03d", i%1000), &began, &ended
		}))
	}
	return beds, benchmarks
}

// BenchmarkPage measures how long the server takes for each page of a large lab, for a person
// who may see half of the teams, with a new snapshot for each request.
func BenchmarkPage(b *testing.B) {
	beds, benchmarks := largeLab()
	caches := fakeCaches{lists: map[reflect.Type]client.ObjectList{
		reflect.TypeFor[*v1alpha1.TestBedList](): &v1alpha1.TestBedList{Items: beds}, reflect.TypeFor[*v1alpha1.BenchmarkList](): &v1alpha1.BenchmarkList{Items: benchmarks},
	}}
	var teams []string
	for i := range 20 {
		teams = append(teams, fmt.Sprintf("team-%02d", 2*i))
	}
	clock := noon
	p := New(Options{Reader: caches, Results: caches, Access: fakeAccess(teams...), Now: func() time.Time { clock = clock.Add(time.Hour); return clock }, Log: logr.Discard(),
		Waiting: allocation.WaitingFrom(caches, allocation.LineupInput{}, func() time.Time { return clock })})
	for name, path := range map[string]string{"beds": "/", "timeline": "/timeline", "waiting": "/benchmarks?view=waiting", "last": "/benchmarks?view=waiting&page=75", "bed": "/beds/bed-000", "finished": "/benchmarks?view=finished"} {
		b.Run(name, func(b *testing.B) {
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

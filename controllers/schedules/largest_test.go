package schedules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestLargestSchedule bounds the status of a schedule with thousands of benchmarks.
func TestLargestSchedule(t *testing.T) {
	now := metav1.Now()
	at := now.UTC().Truncate(time.Minute)
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: longest("ns", 63), Name: longest("s", 52)}}
	zone := longest("z", 63)
	s.Status = v1alpha1.BenchmarkScheduleStatus{
		Effective: &v1alpha1.EffectiveSchedule{Schedule: longest("0", 253), TimeZone: zone, Since: now}, Firing: &v1alpha1.Firing{ScheduleTime: now},
		LastScheduleTime: &now, NextScheduleTime: &now, LastSuccessfulTime: &now,
	}
	table := &Timetable{BenchmarkSchedule: s, Before: s.DeepCopy(), Now: now.Time}
	add := func(firing time.Time, phase v1alpha1.BenchmarkPhase) {
		for i := range 3000 {
			b := objects.Benchmark("", longest(fmt.Sprint("b", i), 253), objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
			b.Labels = map[string]string{v1alpha1.LabelSchedule: s.Name, v1alpha1.LabelFiring: firing.Format("20060102-1504")}
			b.Status.Phase = phase
			table.Made = append(table.Made, b)
			if !phase.Finished() {
				table.Active = append(table.Active, b)
			}
		}
	}
	add(at.Add(-time.Hour), v1alpha1.PhaseInconclusive)
	add(at, v1alpha1.PhaseRunning)
	table.Record()
	table.Ready(metav1.ConditionFalse, v1alpha1.ReasonWaitingForEarlier, strings.Repeat("m", 5000))
	text, err := json.Marshal(s.Status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the largest status of a schedule has %d bytes", len(text))
	if len(text) > 32<<10 || s.Status.LastRun == nil || s.Status.ActiveCount != 3000 {
		t.Errorf("%d bytes, %d active, last run %+v", len(text), s.Status.ActiveCount, s.Status.LastRun)
	}
}

// longest returns a name as long as the schema allows.
func longest(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }

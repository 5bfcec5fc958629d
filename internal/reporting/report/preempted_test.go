package report

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func TestPreemptedNote(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2027, 1, 2, hour, 0, 0, 0, time.UTC)) }
	b := objects.Benchmark("", "")
	b.Status.Preemptions = 2
	b.Status.Resumption = &v1alpha1.Resumption{TestBedName: "frr", Rows: 3}
	b.Status.EarlierRuns = []v1alpha1.EarlierRun{
		{TestBedName: "frr", From: at(1), Until: at(2), Rows: 1, By: "team/urgent", Discarded: "spec.ports of the bed changed"},
		{TestBedName: "frr", From: at(3), Until: at(4), Rows: 3, By: "team/urgent"},
	}
	d := New(Content{Benchmark: b})
	want := []string{"the benchmark was preempted 2 times: 1 row from 2027-01-02 01:00:00 until 2027-01-02 02:00:00 UTC on bed frr " +
		"(not counted: spec.ports of the bed changed); 3 rows from 2027-01-02 03:00:00 until 2027-01-02 04:00:00 UTC on bed frr"}
	if !slices.Equal(d.Notes, want) || d.TestBed != "frr" || len(d.EarlierRuns) != 2 {
		t.Errorf("%q on bed %q", d.Notes, d.TestBed)
	}
	resumed := at(5)
	b.Status.TestBedName, b.Status.LeaseTime = "frr", &resumed
	if note, rest := preempted(&b.Status), "; the rest from 2027-01-02 05:00:00 UTC on bed frr"; note != want[0]+rest {
		t.Error(note)
	}
	b.Status.Preemptions = 9
	if note := preempted(&b.Status); note[:len("the benchmark was preempted 9 times: the last 2 runs before were ")] != "the benchmark was preempted 9 times: the last 2 runs before were " {
		t.Error(note)
	}
}

package record_test

import (
	"encoding/json"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/record"
)

// TestALogIsBounded adds more trials than a row may have. The trials that decided the row, those
// at its loads and the sums of the others stay.
func TestALogIsBounded(t *testing.T) {
	var log record.Log
	const n = 2000
	for i := range int64(n) {
		r := log.Add(v1alpha1.TrialRecord{LoadPPM: 1000 + i, Verdict: v1alpha1.TrialPassed, DurationNs: 1e9, SendingNs: 2e9, Intended: 1e9, Sent: 1e9, Expected: 1e9, Received: 1e9})
		var figures record.Figures
		figures.Add("fig", i)
		r.Figures = figures
		r.Decides = i == 3
	}
	got, err := log.Compact(time.Hour, 1007)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > record.MaxBytes+1024 {
		t.Errorf("%d bytes, at most %d are allowed", len(text), record.MaxBytes)
	}
	sum, kept := int64(0), map[int32]bool{}
	for _, r := range got.Trials {
		kept[r.Number] = true
		sum += r.Figures[0].Sum
	}
	for _, number := range []int32{4, 8, n} {
		if !kept[number] {
			t.Errorf("trial %d is not in the log: it decided, is at a load of the row, or was the last", number)
		}
	}
	if len(got.Trials)+int(got.Omitted) != n || got.OmittedSendingNs != int64(got.Omitted)*1e9 {
		t.Errorf("%d trials and %d omitted with %d ns, want %d trials in all", len(got.Trials), got.Omitted, got.OmittedSendingNs, n)
	}
	if all := sum + got.OmittedFigures[0].Sum; all != n*(n-1)/2 {
		t.Errorf("the figures sum up to %d, want %d", all, n*(n-1)/2)
	}
}

func TestBucketsArePairs(t *testing.T) {
	got := record.Buckets([]uint64{0, 0, 7, 0, 1})
	want := []int64{2, 7, 2, 1}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

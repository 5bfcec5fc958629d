package gate

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// series runs a benchmark with a gate of a trend again and again.
type series struct {
	gate v1alpha1.Gate
	runs []Run
	// newest is the number of runs that an archive returns.
	newest int
}

// night is the begin of run n.
func night(n int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).Add(time.Duration(n) * 24 * time.Hour))
}

// next measures a throughput, and returns the verdict.
func (s *series) next(n int64) v1alpha1.GateVerdict {
	h := NewHistory(&s.gate, &specOf().Tests[0])
	for _, r := range s.runs[max(0, len(s.runs)-s.newest):] {
		h.Add(r)
	}
	at := night(len(s.runs))
	run := Run{Gates: []v1alpha1.Gate{*s.gate.DeepCopy()}, Of: BaselineIdentity{Benchmark: "nightly", UID: fmt.Sprintf("%04d", len(s.runs)), Time: &at}, Rows: []v1alpha1.ResultRow{row(64, v1alpha1.ValidityValid, n)}}
	j := Judge(Input{Spec: specOf(s.gate), Rows: run.Rows, Baselines: map[string]Baseline{s.gate.Name: h.Baseline()}})
	run.Judged = j.Gates
	s.runs = append(s.runs, run)
	return j.Verdict
}

func newSeries() *series {
	s := &series{gate: within("5%", ""), newest: trend.MaxValues}
	s.gate.Relative.Baseline = v1alpha1.GateBaseline{Trend: &v1alpha1.TrendBaseline{MinRuns: 3}}
	return s
}

// TestALastingRegressionFails measures a drop of 10 % that stays: no number of runs makes it
// the baseline.
func TestALastingRegressionFails(t *testing.T) {
	s := newSeries()
	for i := range int64(20) {
		s.next(1000 + i%5)
	}
	for i := range int64(40) {
		if v := s.next(900 + i%5); v != v1alpha1.GateFailed {
			t.Fatalf("run %d after the drop: %s, want Failed", i+1, v)
		}
	}
	if v := s.next(1000); v != v1alpha1.GatePassed {
		t.Errorf("after the repair: %s", v)
	}
}

// TestASlowDriftFails loses 1 % every ten runs: each step is within the tolerance, and the
// sum is not.
func TestASlowDriftFails(t *testing.T) {
	s := newSeries()
	for i := range int64(100) {
		v := s.next(1000 - i/10*10 + i%3)
		if lost := i / 10; lost > 6 && v != v1alpha1.GateFailed {
			t.Fatalf("run %d, %d %% below the beginning: %s, want Failed", i+1, lost, v)
		}
	}
}

// TestALevelIsAccepted accepts the level after a drop, once: the runs before the acceptance
// are the baseline, and the next drop fails.
func TestALevelIsAccepted(t *testing.T) {
	s := newSeries()
	for range 10 {
		s.next(1000)
	}
	for range 4 {
		if v := s.next(900); v != v1alpha1.GateFailed {
			t.Fatalf("a drop: %s", v)
		}
	}
	s.gate.Relative.Baseline.Trend.Accepted = &v1alpha1.BaselineAcceptance{User: "alice", Time: night(len(s.runs)), Reason: "release 24.2 encrypts"}
	if v := s.next(899); v != v1alpha1.GatePassed {
		t.Errorf("the accepted level: %s", v)
	}
	s.gate.Relative.Baseline.Trend.Accepted = nil // What a result had need not be repeated.
	s.gate.Name = "renamed"
	for i := range 300 {
		if v := s.next(898); v != v1alpha1.GatePassed {
			t.Fatalf("run %d at the accepted level: %s", i, v)
		}
		if v := s.next(850); v != v1alpha1.GateFailed {
			t.Fatalf("run %d below the accepted level: %s", i, v)
		}
	}
	of := s.runs[len(s.runs)-1].Judged[0].Baseline
	if of.Accepted == nil || of.Accepted.User != "alice" || of.Runs != 3 || !of.From.Equal(new(night(11))) || !of.Time.Equal(new(night(13))) {
		t.Errorf("the baseline is %+v", of)
	}
	if got := (&Judgement{Gates: s.runs[len(s.runs)-1].Judged}).Status()[0].Accepted; got == nil || got.Reason != "release 24.2 encrypts" {
		t.Errorf("the status says %+v", got)
	}
}

// TestTheFirstRunsStayTheBaseline lets more runs pass than an archive returns.
func TestTheFirstRunsStayTheBaseline(t *testing.T) {
	s := newSeries()
	s.newest = 20
	for range 5 {
		s.next(1000)
	}
	for i := range 60 {
		if v := s.next(940); v != v1alpha1.GateFailed {
			t.Fatalf("run %d: %s", i, v)
		}
	}
}

package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func owner() *v1alpha1.Benchmark {
	b := objects.Benchmark("team", "b", objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	for _, name := range []string{"throughput", "latency", "soak"} {
		b.Spec.Tests = append(b.Spec.Tests, v1alpha1.Test{Name: name})
	}
	return b
}

// row of a test, with a message of so many bytes.
func row(test string, frameSize, bytes int) v1alpha1.ResultRow {
	return v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: test, Method: v1alpha1.MethodSoak, FrameSize: int32(frameSize)},
		Validity: v1alpha1.ValidityValid, Message: strings.Repeat("x", bytes),
		Series: &v1alpha1.RateSeries{Samples: 1},
	}
}

// api is a fake API server: it keeps parts by name and refuses what is outdated.
type api struct {
	parts map[string]*v1alpha1.BenchmarkResult
	// crash, when not 0, is the number of writes after which all fail.
	crash, writes int
}

var errCrash = errors.New("the operator is gone")

func (a *api) write(part *v1alpha1.BenchmarkResult) error {
	if a.writes++; a.crash != 0 && a.writes >= a.crash {
		return errCrash
	}
	there := a.parts[part.Name]
	switch {
	case there == nil && part.ResourceVersion != "", there != nil && there.ResourceVersion != part.ResourceVersion:
		return errors.New("conflict")
	case there != nil && there.Spec.Complete:
		return errors.New("a complete part was changed")
	}
	part.ResourceVersion = fmt.Sprint(a.writes)
	a.parts[part.Name] = part.DeepCopy()
	return nil
}

func (a *api) list() []v1alpha1.BenchmarkResult {
	var parts []v1alpha1.BenchmarkResult
	for n := int32(1); a.parts[stored.PartName(owner(), n)] != nil; n++ {
		parts = append(parts, *a.parts[stored.PartName(owner(), n)].DeepCopy())
	}
	return parts
}

// each passes parts on in the order of their names, as an API server does: 10 comes before 2.
func each(parts []v1alpha1.BenchmarkResult) iter.Seq2[*v1alpha1.BenchmarkResult, error] {
	slices.SortFunc(parts, func(a, b v1alpha1.BenchmarkResult) int { return strings.Compare(a.Name, b.Name) })
	return func(yield func(*v1alpha1.BenchmarkResult, error) bool) {
		for i := range parts {
			if !yield(&parts[i], nil) {
				return
			}
		}
	}
}

func (a *api) open(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open(owner(), each(a.list()))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPartsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct{ rows, bytes, parts int }{
		"few small rows":      {10, 100, 1},
		"many small rows":     {2*fullRows + 1, 10, 3},
		"rows with series":    {64, 30 << 10, 22},
		"the largest rows":    {5, maxRow - 1000, 5},
		"a part that is full": {7, 16 << 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}
			l := a.open(t)
			for i := range tc.rows {
				_, err := l.Add(row("soak", 64+i, tc.bytes))
				must(t, err)
				must(t, l.Write(a.write))
			}
			must(t, l.Close())
			must(t, l.Write(a.write))
			parts := a.list()
			if len(parts) != tc.parts {
				t.Errorf("%d parts, want %d", len(parts), tc.parts)
			}
			var digests []string
			for _, p := range parts {
				text, err := json.Marshal(p)
				must(t, err)
				if len(text) > 128<<10 || !p.Spec.Complete || len(p.Spec.Rows) > fullRows {
					t.Errorf("%s: %d bytes, %d rows, complete %v", p.Name, len(text), len(p.Spec.Rows), p.Spec.Complete)
				}
				digest, err := stored.PartDigest(&p.Spec)
				must(t, err)
				if digest != p.Spec.Digest {
					t.Errorf("%s: digest %s, want %s", p.Name, p.Spec.Digest, digest)
				}
				digests = append(digests, digest)
			}
			var s v1alpha1.ResultSummary
			l.Summarize(&s)
			if int(s.Rows) != tc.rows || int(s.Parts) != tc.parts || s.Digest != stored.Digest(digests) {
				t.Errorf("%+v", s)
			}
			if got := stored.Join(owner(), parts); !got.Complete || got.Digest != s.Digest || len(got.Rows) != tc.rows {
				t.Errorf("read back: %d rows, complete %v, %s", len(got.Rows), got.Complete, got.Digest)
			}
		})
	}
}

// A part is complete once rows of another test come; later rows of its test go into
// another part, and readers get them in the order of the tests.
func TestPartsByTestAndVariant(t *testing.T) {
	a := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}
	l := a.open(t)
	l.SetEnvironment(&v1alpha1.ResultEnvironment{NoDropVersion: "1"})
	fast := row("latency", 64, 1)
	fast.Variant = "fast"
	_, err := l.Add(row("throughput", 64, 1), row("latency", 64, 1), fast, row("throughput", 128, 1))
	must(t, err)
	l.SetEnvironment(&v1alpha1.ResultEnvironment{NoDropVersion: "2"})
	must(t, l.Write(a.write))
	var got []string
	for _, p := range a.list() {
		got = append(got, fmt.Sprintf("%d %s/%s %d %v %v", p.Spec.Part, p.Labels[v1alpha1.LabelTest], p.Labels[v1alpha1.LabelVariant],
			len(p.Spec.Rows), p.Spec.Complete, p.Spec.Environment != nil))
	}
	want := []string{"1 / 0 false true", "2 throughput/ 1 true false", "3 latency/ 1 true false", "4 latency/fast 1 true false", "5 throughput/ 1 false false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	read := stored.Join(owner(), a.list())
	var names []string
	for _, r := range read.Rows {
		names = append(names, r.Name())
	}
	if diff := cmp.Diff([]string{"throughput 64 B", "throughput 128 B", "latency 64 B", "latency (fast) 64 B"}, names); diff != "" {
		t.Error(diff)
	}
	if read.Complete || read.Environment.NoDropVersion != "2" {
		t.Errorf("%+v", read)
	}
}

// After an operator dies at any write, the next one loses no row and stores none twice.
func TestNoCrashLosesOrDoublesARow(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		var all []v1alpha1.ResultRow
		for i := range 20 + r.IntN(60) {
			all = append(all, row([]string{"throughput", "latency", "soak"}[i/27], 64+i, r.IntN(20<<10)))
		}
		a := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}
		l := a.open(t)
		for sent := 0; ; {
			a.crash = 0
			if r.IntN(3) == 0 {
				a.crash = a.writes + 1 + r.IntN(3)
			}
			// A runner sends again what was not stored, and sometimes more.
			from, to := max(0, sent-r.IntN(3)), min(sent+1+r.IntN(8), len(all))
			_, err := l.Add(all[from:to]...)
			must(t, err)
			l.SetEnvironment(&v1alpha1.ResultEnvironment{NoDropVersion: "1"})
			if to == len(all) {
				must(t, l.Close())
			}
			switch err := l.Write(a.write); {
			case err == nil && to == len(all):
			case err == nil:
				sent = to
				continue
			case errors.Is(err, errCrash):
				l = a.open(t)
				continue
			default:
				t.Fatalf("seed %d: %v", seed, err)
			}
			break
		}
		got := stored.Join(owner(), a.list())
		if diff := cmp.Diff(all, got.Rows); diff != "" || !got.Complete {
			t.Fatalf("seed %d: complete %v: %s", seed, got.Complete, diff)
		}
	}
}

func TestAMissingPartIsSeen(t *testing.T) {
	second := stored.NewPart(owner(), 2, "soak", "")
	if _, err := Open(owner(), each([]v1alpha1.BenchmarkResult{*second})); err == nil || !strings.Contains(err.Error(), "part 1") {
		t.Errorf("%v", err)
	}
}

// TestTrialsBeyondTheBound leaves the trials out of rows that make a result larger than preflight
// allows, also after the ledger was opened again. Their number and the time of their sending stay.
func TestTrialsBeyondTheBound(t *testing.T) {
	store := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}
	b := owner()
	const rows, bound = 40, 2 << 20
	total, without := 0, 0
	for i := range rows {
		if i%(rows/2) == 0 { // as after a restart of the operator
			l, err := Open(b, each(store.list()))
			if err != nil {
				t.Fatal(err)
			}
			l.bound = bound
			for k := range rows / 2 {
				r := row("soak", 64+i+k, 1000)
				r.TrialRecords = &v1alpha1.TrialLog{Omitted: 1, OmittedSendingNs: 5, Trials: []v1alpha1.TrialRecord{
					{Role: strings.Repeat("x", 100_000), SendingNs: 9, DurationNs: 7, Verdict: v1alpha1.TrialPassed},
				}}
				if _, err := l.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(l.Close(), l.Write(store.write)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range store.parts {
		for _, r := range p.Spec.Rows {
			n, err := size(r)
			if err != nil {
				t.Fatal(err)
			}
			total += n
			if log := r.TrialRecords; len(log.Trials) == 0 {
				without++
				if log.Omitted != 2 || log.OmittedSendingNs != 12 {
					t.Fatalf("%d trials with %d ns are omitted, want 2 with 12 ns", log.Omitted, log.OmittedSendingNs)
				}
			}
		}
	}
	if without == 0 || without == rows || total > bound+rows*2000 {
		t.Errorf("%d of %d rows have no trials, and all have %d bytes; the bound is %d", without, rows, total, bound)
	}
}

// TestEnding stores how a measurement ended with the last part that is not complete. It is read again,
// and changes no digest.
func TestEnding(t *testing.T) {
	end := v1alpha1.ResultEnding{Attempt: 2, Outcome: v1alpha1.PhaseMeasured, Condition: v1alpha1.ConditionMeasured, Reason: v1alpha1.ReasonAllMeasured}
	digests := map[bool]string{}
	for _, ends := range []bool{false, true} {
		a, l := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}, New(owner())
		// The second row makes the part of the first complete.
		if _, err := l.Add(row("throughput", 64, 10), row("latency", 64, 10)); err != nil {
			t.Fatal(err)
		}
		finish := l.Close
		if ends {
			finish = func() error {
				has, err := l.End(end)
				if !has {
					t.Error("no part took the end")
				}
				return err
			}
		}
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		if err := l.Write(a.write); err != nil {
			t.Fatal(err)
		}
		again, err := Open(owner(), each(a.list()))
		if err != nil {
			t.Fatal(err)
		}
		var s v1alpha1.ResultSummary
		again.Summarize(&s)
		digests[ends] = s.Digest
		for attempt, want := range map[int32]bool{1: false, 2: ends} {
			if got := again.Ending(attempt); (got != nil) != want || want && *got != end {
				t.Errorf("with an end %v, the end of attempt %d is %+v", ends, attempt, got)
			}
		}
		if has, err := again.End(end); has || err != nil {
			t.Errorf("a complete result took an end: %v, %v", has, err)
		}
	}
	if digests[true] != digests[false] || digests[true] == "" {
		t.Errorf("the digests are %v", digests)
	}
}

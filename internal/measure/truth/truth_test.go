package truth

import (
	"context"
	"os"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method"
)

// pairsOf returns the number of pairs of each method, and the seed of the first. In full length it
// returns the pairs of the table in docs/design/ground-truth.md.
func pairsOf() (pairs int, first uint64) {
	if testing.Short() {
		return 20, 1
	}
	return 1000, 1
}

// At most one in a thousand rows is wrong and not marked.
func TestRowsAreRightOrMarked(t *testing.T) {
	pairs, first := pairsOf()
	var lines []Line
	for _, name := range Methods() {
		t.Run(string(name), func(t *testing.T) {
			line, err := Measure(context.Background(), name, first, pairs, manifest.Default)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
			if len(line.Wrong) > line.Allowed() {
				for _, text := range line.Wrong {
					t.Error(text)
				}
			}
			if line.Pairs[Right] == 0 {
				t.Errorf("no pair is right: %v of %d are inconclusive", line.Pairs, pairs)
			}
		})
	}
	if err := Print(os.Stdout, lines); err != nil {
		t.Error(err)
	}
}

// Pairs by which defects were found stay right or inconclusive. Each found a defect of its own.
func TestPairsThatFoundDefects(t *testing.T) {
	for _, tc := range []struct {
		method v1alpha1.Method
		seed   uint64
		defect string
	}{
		{v1alpha1.MethodRouteCapacity, 12, "a port of the tester dropped every probe: the device held no route"},
		{v1alpha1.MethodRouteCapacity, 177, "the card did not send the probes"},
		{v1alpha1.MethodBGPRestart, 299, "frames that the tester dropped prolonged the outage"},
		{v1alpha1.MethodFIBTruth, 124, "a tester that is late sends frames to each route less often than resolutionNs states"},
		{v1alpha1.MethodFIBTruth, 232, "a clock was set while the delays were measured"},
		{v1alpha1.MethodConvergence, 473, "damaged frames prolonged the announcement"},
		{v1alpha1.MethodConvergence, 100733, "the tester paused for longer than samplingInterval"},
		{v1alpha1.MethodRouteFlap, 150, "the tester dropped frames at the port of a further path"},
		{v1alpha1.MethodRouteFlap, 191, "frames that the tester dropped prolonged the announcement"},
		{v1alpha1.MethodRouteFlap, 261, "frames in flight hid missing frames, since frames on further paths were not timed"},
		{v1alpha1.MethodRouteFlap, 100248, "the engine sim counted wrongly while the tester paused and routes changed"},
	} {
		pair, out, err := measure(context.Background(), tc.method, tc.seed, manifest.Default)
		if err != nil {
			t.Fatal(err)
		}
		if out.Verdict == Wrong {
			t.Errorf("%s: %s\n%v", tc.defect, pair, out.Reasons)
		}
	}
}

// Every method has a ground truth, including its further rows.
func TestEveryMethodHasAGroundTruth(t *testing.T) {
	for _, d := range method.All() {
		for _, name := range append(d.Further, d.Name) {
			if methods[name] == nil {
				t.Errorf("method %s has no ground truth: add it to methods.go", name)
			}
		}
	}
}

// The same seed makes the same pair, and the same rows.
func TestPairsAreRepeatable(t *testing.T) {
	for _, name := range Methods() {
		first, a, err := measure(context.Background(), name, 7, manifest.Default)
		if err != nil {
			t.Fatal(err)
		}
		second, b, err := measure(context.Background(), name, 7, manifest.Default)
		if err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() || a.Verdict != b.Verdict || len(a.State.Rows) != len(b.State.Rows) {
			t.Errorf("%s: %s and %s", name, first, second)
		}
	}
}

// A claim holds if its interval and the truth overlap.
func TestClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		claim Claim
		holds bool
	}{
		"within":           {Claim{Low: 1, High: 3, TrueLow: 2, TrueHigh: 2}, true},
		"below":            {Claim{Low: 1, High: 3, TrueLow: 0.9, TrueHigh: 0.9}, false},
		"above":            {Claim{Low: 1, High: 3, TrueLow: 3.1, TrueHigh: 4}, false},
		"overlapping":      {Claim{Low: 1, High: 3, TrueLow: 3, TrueHigh: 4}, true},
		"no loss":          {ppm("", 0, 0, 0, 0), true},
		"one lost frame":   {ppm("", 1, 0.001, 0.001, 0), true},
		"none, but a loss": {ppm("", 0, 1, 1, 0.5), false},
		"all but a frame":  {ppm("", million-1, million-0.001, million-0.001, 0), true},
	} {
		if got := tc.claim.holds(); got != tc.holds {
			t.Errorf("%s: %v", name, got)
		}
	}
}

package workload

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// rounds makes times around a center, by round.
func rounds(r *rand.Rand, center func(round int) float64, spread float64) (all [][]time.Duration) {
	for n := range Rounds {
		one := make([]time.Duration, 50)
		for i := range one {
			one[i] = time.Duration(center(n) + spread*r.ExpFloat64())
		}
		all = append(all, one)
	}
	return all
}

func TestIntervalContainsTheShare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times, share = 2000, 100_000
	contains := 0
	for range times {
		drift := func(n int) float64 { return 1000 * float64(n) } // of the machine, which both see
		e := Share(rounds(r, func(n int) float64 { return drift(n) + 50_000 + share }, 5000), rounds(r, func(n int) float64 { return drift(n) + 50_000 }, 5000))
		if e.Low > e.Value || e.Value > e.High {
			t.Fatalf("%+v is not in order", e)
		}
		if e.Low <= share && share <= e.High {
			contains++
		}
		if e.High-e.Low > 5000 {
			t.Fatalf("the interval %+v is as wide as the drift", e)
		}
	}
	// 95.8 % of 2,000 are 1,917, with a standard deviation of 9.
	if contains < 1880 {
		t.Errorf("%d of %d intervals contain the share", contains, times)
	}
}

func TestMedianOfRounds(t *testing.T) {
	var all [][]time.Duration
	for n := range Rounds {
		all = append(all, []time.Duration{time.Duration(n + 1), time.Duration(n + 1), time.Hour})
	}
	if got := Median(all); got != (Estimate{15, 6, 15}) { // the 30th of 60, and the medians 1 to 20 of the rounds
		t.Errorf("%+v", got)
	}
	if got := Median([][]time.Duration{{7}}); got != (Estimate{7, 7, 7}) {
		t.Errorf("one time: %+v", got)
	}
}

func TestRequestsThatNoEngineRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*RPCRequest)
		want   string
	}{
		"few requests": {func(r *RPCRequest) { r.Requests = 19 }, "19 requests were asked for: give 20 or more"},
		"no bytes":     {func(r *RPCRequest) { r.Bytes = 0 }, "give 1 or more"},
		"one port":     {func(r *RPCRequest) { r.Server = "p1" }, "client and server are on port p1"},
		"all is well":  {func(*RPCRequest) {}, ""},
	} {
		r := RPCRequest{Client: "p1", Server: "p2", Bytes: 1, Requests: 20}
		tc.change(&r)
		if err := r.Validate(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	sum := 0
	for n := range Rounds {
		sum += (RPCRequest{Requests: 1003}).Round(n)
	}
	if sum != 1003 {
		t.Errorf("rounds of %d requests together", sum)
	}
}

func TestPerMille(t *testing.T) {
	var all []time.Duration
	for i := range 2000 {
		all = append(all, time.Duration(2000-i))
	}
	for n, want := range map[int]time.Duration{0: 1, 500: 1000, 999: 1998, 1000: 2000} {
		if got := PerMille(all, n); got != want {
			t.Errorf("%d of 1,000: %d, want %d", n, got, want)
		}
	}
	if got := PerMille(nil, 999); got != 0 {
		t.Errorf("of none: %d", got)
	}
}

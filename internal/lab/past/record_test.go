package past

import (
	"math/rand/v2"
	"testing"
	"time"
)

var begin = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

// ran is a run that waited from the begin.
func ran(work, bed string, from, until int) Run {
	return Run{Work: work, Bed: bed, Created: begin, From: at(from), Until: at(until), Length: at(until).Sub(at(from))}
}

func recordOf(all ...Run) *Record {
	r := NewRecord()
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(all)) {
		r.Add(all[i])
	}
	return r
}

func TestLength(t *testing.T) {
	cut := ran("a", "bed", 900, 901)
	cut.Cut = true
	other := ran("b", "bed", 0, 30)
	other.Like = "as a"
	for name, tc := range map[string]struct {
		runs []Run
		want time.Duration
	}{
		"nothing":                        {nil, 0},
		"other work":                     {[]Run{ran("b", "bed", 0, 50)}, 0},
		"the same for another team":      {[]Run{other}, 30 * time.Second},
		"own work and of another team":   {[]Run{other, ran("a", "other", 0, 50)}, 50 * time.Second},
		"one run on another bed":         {[]Run{ran("a", "other", 0, 50)}, 50 * time.Second},
		"one that ended early":           {[]Run{ran("a", "bed", 0, 50), cut}, 50 * time.Second},
		"too few on this bed":            {[]Run{ran("a", "bed", 0, 10), ran("a", "bed", 10, 20), ran("a", "other", 0, 40)}, 20 * time.Second},
		"enough on this bed":             {[]Run{ran("a", "bed", 0, 10), ran("a", "bed", 10, 20), ran("a", "bed", 20, 30), ran("a", "other", 0, 40)}, 10 * time.Second},
		"one that is far off":            {[]Run{ran("a", "bed", 0, 10), ran("a", "bed", 10, 20), ran("a", "bed", 20, 30), ran("a", "bed", 30, 9000)}, 10 * time.Second},
		"times in whole seconds average": {[]Run{ran("a", "bed", 0, 1), ran("a", "bed", 1, 1), ran("a", "bed", 2, 3), ran("a", "bed", 3, 3)}, 500 * time.Millisecond},
		"the last ones": {[]Run{
			ran("a", "bed", 0, 50), ran("a", "bed", 50, 100), ran("a", "bed", 100, 150), ran("a", "bed", 150, 200),
			ran("a", "bed", 200, 202), ran("a", "bed", 202, 204), ran("a", "bed", 204, 206), ran("a", "bed", 206, 208),
			ran("a", "bed", 208, 210), ran("a", "bed", 210, 212), ran("a", "bed", 212, 214),
		}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := recordOf(tc.runs...).Length("a", "as a", "bed"); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestTurnover(t *testing.T) {
	came := ran("a", "bed", 100, 110)
	came.Created = at(90)
	r := recordOf(ran("a", "bed", 0, 10), ran("a", "bed", 12, 20), ran("a", "bed", 24, 30), came, ran("b", "other", 500, 600))
	if got := r.Turnover(); got != 3*time.Second {
		t.Errorf("%s from the end of one until the next has the bed, want 3s: nothing waited before the last one", got)
	}
}

// Of the first ones to end, most are short.
func TestAverageCountsThoseThatRun(t *testing.T) {
	r := recordOf(ran("a", "sim-1", 0, 10), ran("b", "sim-2", 0, 20), ran("a", "router", 0, 9000))
	all := func(bed string) bool { return bed != "router" }
	if got := r.Average(all, 30*time.Second); got != 30*time.Second {
		t.Errorf("an average of %s, want 30s: two have ended, and all had beds for 60s", got)
	}
	if got := NewRecord().Average(all, 30*time.Second); got != 0 {
		t.Errorf("an average of %s, and none has ended", got)
	}
}

func TestForget(t *testing.T) {
	r := recordOf(ran("a", "bed", 0, 10), ran("b", "bed", 10, 20))
	r.Forget(at(15))
	if a, b := r.Length("a", "", "bed"), r.Length("b", "", "bed"); a != 0 || b != 10*time.Second {
		t.Errorf("a took %s and b %s, want a to be forgotten", a, b)
	}
}

func TestLeft(t *testing.T) {
	for _, tc := range []struct{ expected, had, want time.Duration }{
		{20, 5, 15}, {20, 20, 2}, {20, 21, 2}, {20, 50, 30},
	} {
		if got := Left(tc.expected, tc.had); got != tc.want {
			t.Errorf("expected %d, had %d: %d left, want %d", tc.expected, tc.had, got, tc.want)
		}
	}
}

package labsim

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
)

// busyAndSmall returns the trace of a lab with 20 beds, in which one team always has benchmarks waiting, and another one with four
// times its weight has three benchmarks every hour. Benchmarks take run, and up to a tenth more or less.
func busyAndSmall(run time.Duration) *trace {
	t := &trace{beds: map[string]queue.Bed{}, teams: []string{"busy", "small"}, weights: map[string]float64{"busy": 1, "small": 4}}
	var beds []string
	for i := range 20 {
		name := fmt.Sprintf("bed-%02d", i)
		beds = append(beds, name)
		t.beds[name] = queue.Bed{Name: name, Open: true}
	}
	add := func(team string, at time.Duration, n int) {
		for i := range n {
			j := &job{run: time.Duration(float64(run) * (0.9 + 0.2*float64(i%7)/6)), arrival: at, start: -1}
			j.Entry = queue.Entry{
				Key: queue.Key{Namespace: team, Name: fmt.Sprintf("b-%s-%d", at, i)}, Team: team, Created: begin.Add(at),
				Expected: run, Hold: holdFor(deadline * run), Beds: beds,
			}
			t.jobs = append(t.jobs, j)
		}
	}
	const hours = 6
	add("busy", 0, int(hours*time.Hour/run)*len(beds))
	for hour := 1; hour < hours; hour++ {
		add("small", time.Duration(hour)*time.Hour, 3)
	}
	return t
}

// TestSmallTeamDoesNotWait gives a team that wants few beds the next ones that are free, however much another team wants.
func TestSmallTeamDoesNotWait(t *testing.T) {
	for _, run := range []time.Duration{time.Minute, 10 * time.Minute, 30 * time.Minute} {
		c := Config{Beds: 20, Window: 6 * time.Hour}
		trace := busyAndSmall(run)
		l := newSimulation(c, trace, newDecider(Fair, c, trace.weights))
		l.run()
		longest := time.Duration(0)
		for _, j := range trace.jobs {
			if j.Team == "small" {
				longest = max(longest, j.start-j.arrival)
			}
		}
		t.Logf("with benchmarks of %s, one of the small team waits for at most %s", run, longest)
		if longest > run/2 {
			t.Errorf("with benchmarks of %s, one of the small team waits for %s, want at most %s", run, longest, run/2)
		}
	}
}

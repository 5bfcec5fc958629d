package honestteams

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/hostileteam"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// Limits of a measurement: the rate of honest teams next to the hostile team as a share of that without
// it, and the memory of the operator.
const (
	minRatio       = 0.8
	maxOperatorMiB = 400
	// Next to several hostile teams, 512 MiB are the limit at which the garbage collector works more, and a tenth is not heap.
	maxOperatorNextToTeamsMiB = 563
)

// Run is the result of one run.
type Run struct {
	Hostile bool
	// Measured is the number of benchmarks that ended as measured in Length.
	Measured int
	Length   time.Duration
	// Wrong are benchmarks that did not end as measured, Refused requests of honest teams that failed, and
	// Held beds that stay leased or are quarantined.
	Wrong, Refused, Held []string
	// Wait is the time from the creation of a benchmark to its end, and Create the time until the API server has made one.
	Wait, Create []time.Duration
	// Operator is the most memory that the operator has had in MiB; Memory and CPU contain the figures of the
	// API server and of etcd, in MiB and in seconds.
	Operator    float64
	Memory, CPU map[string]float64
	// Restarts is the number of operators that ended by themselves.
	Restarts int64
	Attack   hostileteam.Report
}

// Rate returns the number of benchmarks per second.
func (r *Run) Rate() float64 { return float64(r.Measured) / r.Length.Seconds() }

// Plan contains what the environment asks to measure.
type Plan struct {
	Length time.Duration
	Rounds int
	// Unlimited leaves requests of users without the limits of fairness.enabled of the chart.
	Unlimited bool
	// Teams is the number of hostile teams.
	Teams int
}

// maxTeams is the maximum number of hostile teams.
const maxTeams = 50

// ReadPlan reads NODROP_HOSTILE: the time of each run and how often both are repeated, such as 60s,2. Two more parts may follow: with
// unlimited, requests of users are not limited, and a number is the one of hostile teams, 1 by default. Without the variable the test is skipped.
func ReadPlan(t *testing.T) Plan {
	t.Helper()
	text := os.Getenv("NODROP_HOSTILE")
	if text == "" {
		t.Skip("NODROP_HOSTILE is not set: make hostile, or make hostile-cluster")
	}
	p, err := parsePlan(text)
	if err != nil {
		t.Fatalf("NODROP_HOSTILE is %q: give the time of a run and a number of rounds, such as 60s,2, and unlimited or a number of hostile teams, such as 60s,2,5: %v", text, err)
	}
	return p
}

func parsePlan(text string) (Plan, error) {
	parts := append(strings.Split(text, ","), "")
	length, err := time.ParseDuration(parts[0])
	rounds, err2 := strconv.Atoi(cmp.Or(parts[1], "2"))
	switch err := errors.Join(err, err2); {
	case err != nil:
		return Plan{}, err
	case length < time.Second || rounds < 1:
		return Plan{}, errors.New("at least 1s and one round are needed")
	}
	p := Plan{Length: length, Rounds: rounds, Teams: 1}
	for _, part := range parts[2:] {
		switch n, err := strconv.Atoi(part); {
		case part == "":
		case part == "unlimited":
			p.Unlimited = true
		case err != nil || n < 1 || n > maxTeams:
			return Plan{}, fmt.Errorf("%q is neither \"unlimited\" nor a number of teams, 1 to %d", part, maxTeams)
		default:
			p.Teams = n
		}
	}
	return p, nil
}

// Measure measures without and with the hostile team, alternating, logs a table after each run, and fails the test
// if a limit is exceeded.
func (p Plan) Measure(t *testing.T, measure func(t *testing.T, attacked bool, r *Run)) {
	t.Helper()
	var all []Run
	for range p.Rounds {
		for _, attacked := range []bool{false, true} {
			r := Run{Hostile: attacked, Length: p.Length}
			t.Run(fmt.Sprintf("hostile=%v", attacked), func(t *testing.T) { measure(t, attacked, &r) })
			all = append(all, r)
			var text strings.Builder
			if err := table(&text, all); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + text.String())
		}
	}
	most := float64(maxOperatorMiB)
	if p.Teams > 1 {
		most = maxOperatorNextToTeamsMiB
	}
	for _, breach := range breaches(all, most) {
		t.Error(breach)
	}
}

// breaches describes the limits that runs exceeded, of which one is the memory of the operator in MiB.
func breaches(all []Run, mostOperatorMiB float64) (texts []string) {
	for _, r := range all {
		if r.Operator >= mostOperatorMiB {
			texts = append(texts, fmt.Sprintf("the operator had %.0f MiB, at most %.0f are allowed", r.Operator, mostOperatorMiB))
		}
		if len(r.Wrong) > 0 || len(r.Held) > 0 {
			texts = append(texts, fmt.Sprintf("honest benchmarks that were not measured: %v; held beds: %v", r.Wrong, r.Held))
		}
	}
	if got := ratio(all); !(got >= minRatio) { // NaN if nothing was measured.
		texts = append(texts, fmt.Sprintf("honest teams got %.2f of the rate without the hostile team, at least %.2f are required", got, minRatio))
	}
	return texts
}

// ratio is the median rate with the hostile team as a share of the one without it; NaN unless both were measured.
func ratio(all []Run) float64 {
	rates := map[bool][]float64{}
	for _, r := range all {
		rates[r.Hostile] = append(rates[r.Hostile], r.Rate())
	}
	if len(rates[true]) == 0 || len(rates[false]) == 0 {
		return math.NaN()
	}
	return trend.Median(rates[true]) / trend.Median(rates[false])
}

// table has one line for each run, and what the hostile team reached in the last one.
func table(w io.Writer, all []Run) error {
	fmt.Fprintf(w, "%-8s%10s%14s%10s%10s%15s%10s%7s%9s%6s%9s%14s%19s%17s\n", "hostile", "measured", "benchmarks/s", "wait p50", "wait p99", "create s p50", "p99", "wrong", "refused", "held", "restarts",
		"operator MiB", "API server MiB, s", "etcd MiB, s")
	for _, r := range all {
		slices.Sort(r.Wait)
		slices.Sort(r.Create)
		fmt.Fprintf(w, "%-8v%10d%14.2f%10.1f%10.1f%15.2f%10.2f%7d%9d%6d%9d%14.0f%12.0f%7.1f%10.0f%7.1f\n", r.Hostile, r.Measured, r.Rate(), Quantile(r.Wait, 0.5), Quantile(r.Wait, 0.99), Quantile(r.Create, 0.5), Quantile(r.Create, 0.99),
			len(r.Wrong), len(r.Refused), len(r.Held), r.Restarts, r.Operator, r.Memory["kube-apiserver"], r.CPU["kube-apiserver"], r.Memory["etcd"], r.CPU["etcd"])
	}
	last := all[len(all)-1]
	if last.Hostile {
		fmt.Fprintf(w, "\nratio of the median rates: %.2f\n\n", ratio(all))
		if err := last.Attack.Print(w); err != nil {
			return err
		}
	}
	for _, s := range [][]string{last.Wrong, last.Refused, last.Held} {
		if len(s) > 0 {
			fmt.Fprintf(w, "%d, such as %s\n", len(s), s[0])
		}
	}
	return nil
}

// Quantile returns a quantile of sorted times in seconds; 0 of no values.
func Quantile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)].Seconds()
}

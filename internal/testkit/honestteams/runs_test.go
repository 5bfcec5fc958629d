package honestteams

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestPlan reads what the environment asks for.
func TestPlan(t *testing.T) {
	for text, want := range map[string]Plan{
		"60s":                {Length: time.Minute, Rounds: 2, Teams: 1},
		"45s,1":              {Length: 45 * time.Second, Rounds: 1, Teams: 1},
		"2m,3,unlimited":     {Length: 2 * time.Minute, Rounds: 3, Unlimited: true, Teams: 1},
		"60s,2,5":            {Length: time.Minute, Rounds: 2, Teams: 5},
		"60s,2,unlimited,20": {Length: time.Minute, Rounds: 2, Unlimited: true, Teams: 20},
		"60s,2,0":            {},
		"60s,2,51":           {},
		"60s,0":              {},
		"10ms,1":             {},
		"60,2":               {},
		"60s,2,limited":      {},
		"60s,two":            {},
		"60s,2,Unlimited":    {},
	} {
		if got, err := parsePlan(text); got != want || (err != nil) != (want == Plan{}) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestBreaches finds the limits that runs exceed, and the median of an even number of rounds.
func TestBreaches(t *testing.T) {
	g := NewWithT(t)
	runs := func(change func([]Run)) []Run {
		all := []Run{{Measured: 100}, {Hostile: true, Measured: 70}, {Measured: 100}, {Hostile: true, Measured: 90}}
		for i := range all {
			all[i].Length, all[i].Operator = 50*time.Second, 399
		}
		change(all)
		return all
	}
	good := runs(func([]Run) {})
	g.Expect(breaches(good, maxOperatorMiB)).To(BeEmpty())
	g.Expect(ratio(good)).To(BeNumerically("~", 0.8, 1e-9))
	for want, change := range map[string]func([]Run){
		"honest teams got 0.79":    func(all []Run) { all[3].Measured = 88 },
		"honest teams got NaN":     func(all []Run) { clear(all) },
		"the operator had 400 MiB": func(all []Run) { all[0].Operator = 400 },
		"not measured: [b Error]":  func(all []Run) { all[1].Wrong = []string{"b Error"} },
		"held beds: [bed]":         func(all []Run) { all[1].Held = []string{"bed"} },
	} {
		g.Expect(breaches(runs(change), maxOperatorMiB)).To(ConsistOf(ContainSubstring(want)))
	}
	var text strings.Builder
	g.Expect(table(&text, good)).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("ratio of the median rates: 0.80"))
	g.Expect(text.String()).To(ContainSubstring("false          100          2.00"))
}

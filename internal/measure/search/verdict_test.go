package search

import "testing"

// What a goal allows to be lost may be lost by anybody; what it does not allow, and a
// load that was not offered, exceed it.
func TestExceeds(t *testing.T) {
	const ratio = 10_000 // 1 %
	for name, tc := range map[string]struct {
		v     Verdict
		ratio int64
		want  bool
	}{
		"nothing lost":                        {Verdict{Passed: true, Intended: 100, Sent: 100}, ratio, false},
		"as much as is allowed":               {Verdict{Intended: 100, Sent: 100, Lost: 1}, ratio, false},
		"more":                                {Verdict{Intended: 100, Sent: 100, Lost: 2}, ratio, true},
		"without a ratio":                     {Verdict{Intended: 100, Sent: 100, Lost: 1}, 0, true},
		"the tester may have lost as much":    {Verdict{Intended: 100, Sent: 100, Lost: 1, GeneratorBound: true, TesterLoss: true}, ratio, false},
		"the tester may have lost more":       {Verdict{Intended: 100, Sent: 100, Lost: 2, GeneratorBound: true, TesterLoss: true}, ratio, true},
		"the tester's counters contradict":    {Verdict{Intended: 100, Sent: 100, Lost: 1, GeneratorBound: true}, ratio, true},
		"the tester sent less":                {Verdict{Intended: 100, Sent: 99, GeneratorBound: true}, ratio, true},
		"several receivers lost as much":      {Verdict{Intended: 100, Sent: 100, Expected: 300, Lost: 3}, ratio, false},
		"several receivers lost more":         {Verdict{Intended: 100, Sent: 100, Expected: 300, Lost: 4}, ratio, true},
		"less was sent, and as much was lost": {Verdict{Intended: 100, Sent: 99, Lost: 1}, ratio, true},
	} {
		if got := tc.v.exceeds(tc.ratio); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

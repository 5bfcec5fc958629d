package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// TestRunCollectives measures the sample collectives-linux, whose port p4 has a tenth of the rate, and the same bed without the
// fault: rows name the port only with it. With -short messages over the slow port have a quarter of the size.
func TestRunCollectives(t *testing.T) {
	needsRoot(t)
	// Slow, so that a busy machine is not the limit.
	sample := changedSample(t, "collectives-linux", "rate: 200M", "rate: 50M", "rate: 20M", "rate: 5M", "[1000000]", "[800000]", "repetitions: 20", "repetitions: 2")
	slowly := sample
	if testing.Short() {
		slowly = strings.ReplaceAll(sample, "[800000]", "[200000]")
	}
	for name, tc := range map[string]struct{ sample, rate, slow string }{"one port is slow": {slowly, "5M", "p4"}, "no port is slow": {sample, "50M", ""}} {
		t.Run(name, func(t *testing.T) {
			document := runText(t, strings.Replace(tc.sample, "rate: 5M", "rate: "+tc.rate, 1))
			rows := byMethod(t, document, map[v1alpha1.Method]int{v1alpha1.MethodCollectives: 2})[v1alpha1.MethodCollectives]
			for _, row := range rows {
				s := row.Collectives
				t.Logf("%s: %s, %d bit/s, %s %q", row.Name(), row.Message, s.BusBitsPerSecond, row.Validity, row.ValidityReasons)
				if tc.slow == "" && devicesample.LimitedByTester(row) {
					continue // The hosts may have made a link slow.
				}
				if s.SlowPort != tc.slow || s.SlowestLink == nil || s.SlowestLink.Slow != (tc.slow != "") || tc.slow != "" && s.SlowestLink.ToPort != tc.slow {
					t.Errorf("%s: port %q, %+v", row.Name(), s.SlowPort, s.SlowestLink)
				}
				if s.WrongResults != 0 || s.Repetitions != 2 || s.Hosts != 8 || s.LocalPPM != 0 || s.CongestionControl != "reno" {
					t.Errorf("%s: %+v", row.Name(), s)
				}
				// No link carries more than its rate.
				if s.BusBitsPerSecond > 50_000_000 || s.BusBitsPerSecond == 0 || len(s.StepP50Ns) != map[string]int{"ring": 14, "all-to-all": 7}[row.Test] {
					t.Errorf("%s: %d bit/s in %d steps", row.Name(), s.BusBitsPerSecond, len(s.StepP50Ns))
				}
			}
			recomputes(t, document)
		})
	}
}

package v1alpha1

import "testing"

func TestLoadAmounts(t *testing.T) {
	tests := map[Load]struct {
		want int64
		unit LoadUnit
		ok   bool
	}{
		"50%":             {500_000, LoadShare, true},
		"5Mpps":           {5_000_000, LoadFrames, true},
		"14.880952Mpps":   {14_880_952, LoadFrames, true},
		"999pps":          {999, LoadFrames, true},
		"1.5kpps":         {1500, LoadFrames, true},
		"2.5Gbps":         {2_500_000_000, LoadBits, true},
		"64000bps":        {64_000, LoadBits, true},
		"2500.000001Mbps": {2_500_000_001, LoadBits, true},
		"1.5pps":          {},
		"0Mpps":           {},
		"5mpps":           {},
		"5 Mpps":          {},
		"0%":              {},
		"101%":            {},
		"throughput":      {},
		"":                {},
	}
	for load, tc := range tests {
		t.Run(string(load), func(t *testing.T) {
			got, unit, err := load.Amount()
			if (err == nil) != tc.ok || tc.ok && (got != tc.want || unit != tc.unit) {
				t.Errorf("%d %s, %v", got, unit, err)
			}
			if tc.ok {
				again := FormatLoad(got, unit)
				if n, u, err := again.Amount(); err != nil || n != got || u != unit || len(again) > len(load) {
					t.Errorf("written as %s", again)
				}
			}
			if want := tc.ok && tc.unit != LoadShare; load.IsRate() != want && tc.ok {
				t.Errorf("a rate: %t", load.IsRate())
			}
		})
	}
}

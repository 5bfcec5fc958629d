package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

func TestScaleTicks(t *testing.T) {
	tests := map[string]struct {
		low, high float64
		log       bool
		want      []string
	}{
		"linear from 0":      {1.6, 6.8, false, []string{"0", "2", "4", "6", "8"}},
		"small":              {0.01, 0.1, false, []string{"0", "0.025", "0.05", "0.075", "0.1"}},
		"nothing":            {0, 0, false, []string{"0", "0.25", "0.5", "0.75", "1"}},
		"zero is not on log": {0, 5000, false, []string{"0", "2,000", "4,000", "6,000"}},
		"log with 1, 2, 5":   {3, 90, true, []string{"2", "5", "10", "20", "50", "100"}},
		"log with decades":   {1.2, 40_000, true, []string{"1", "10", "100", "1,000", "10,000", "100,000"}},
		"log from a tick":    {1, 100, true, []string{"1", "2", "5", "10", "20", "50", "100"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := layout.ScaleFor(test.low, test.high, 100, 0)
			var got []string
			for _, tick := range s.Ticks {
				got = append(got, layout.TickLabel(tick))
			}
			if diff := cmp.Diff(test.want, got); diff != "" || s.Log != test.log {
				t.Errorf("log %t\n%s", s.Log, diff)
			}
			if from, to := s.At(s.Ticks[0]), s.At(s.Ticks[len(s.Ticks)-1]); from != 100 || to > 1e-9 || to < -1e-9 {
				t.Errorf("the axis reaches from %g to %g", from, to)
			}
		})
	}
}

func TestPlaceMovesLabelsApart(t *testing.T) {
	tests := map[string]struct {
		positions, want []float64
	}{
		"far enough":   {[]float64{10, 40, 90}, []float64{10, 40, 90}},
		"too close":    {[]float64{10, 12, 14}, []float64{10, 25, 40}},
		"at the end":   {[]float64{95, 96, 99}, []float64{70, 85, 100}},
		"over the top": {[]float64{-5, 3}, []float64{0, 15}},
		"none":         {nil, []float64{}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, layout.Place(test.positions, 15, 0, 100)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// An axis of rates begins near them where all are high, and covers more than noise.
func TestRateScale(t *testing.T) {
	for name, tc := range map[string]struct {
		low, high float64
		want      []string
	}{
		"dips to nothing": {0, 9, []string{"0", "2.5", "5", "7.5", "10"}},
		"a small dip":     {2.009, 2.232, []string{"1.9", "2", "2.1", "2.2", "2.3"}},
		"constant":        {29.761, 29.762, []string{"29.4", "29.5", "29.6", "29.7", "29.8"}},
	} {
		s := layout.RateScale(tc.low, tc.high, 100, 0)
		var got []string
		for _, tick := range s.Ticks {
			got = append(got, layout.TickLabel(tick))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if s := layout.EndingScale(12, 0, 120); s.High != 12 || s.At(12) != 120 || len(s.Ticks) != 5 {
		t.Errorf("%+v does not end with the data", s)
	}
}

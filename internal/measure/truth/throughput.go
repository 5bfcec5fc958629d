package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawThroughput makes a pair whose throughput is searched.
func drawThroughput(r draw) Pair {
	d := r.lossy(r.forwarder())
	trial := one(r, time.Second, 10*time.Second, time.Minute)
	test := v1alpha1.ThroughputTest{
		Search:     one(r, v1alpha1.SearchBinary, v1alpha1.SearchBinary, v1alpha1.SearchMLRsearch, v1alpha1.SearchInformed),
		Resolution: v1alpha1.LoadAmount(one(r, "0.01%", "0.1%", "1%")), TrialDuration: lasting(trial), SearchTrialDuration: lasting(trial / one(r, time.Duration(1), 2, 10)),
	}
	if test.SearchTrialDuration.Duration < 100*time.Millisecond {
		test.SearchTrialDuration = test.TrialDuration
	}
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: d.config(v1alpha1.Test{Name: "throughput", Throughput: &test}),
		Claims: d.throughputClaims(&test),
	}
}

// throughputClaims are the claims of the rows of a search, one for each loss ratio.
func (d Device) throughputClaims(test *v1alpha1.ThroughputTest) func(*v1alpha1.ResultRow) []Claim {
	return func(row *v1alpha1.ResultRow) []Claim {
		return []Claim{d.searched("load that passes, ppm", row, *test, float64(row.LossRatioPPM)/million)}
	}
}

// drawPartialDropRate makes a pair whose partial drop rates are searched.
func drawPartialDropRate(r draw) Pair {
	p := drawThroughput(r)
	test := p.Config.Benchmark.Spec.Tests[0].Throughput
	test.Search = v1alpha1.SearchMLRsearch
	test.LossRatios = []v1alpha1.LossRatio{"0%", one(r, v1alpha1.LossRatio("0.001%"), "0.1%", "0.5%", "5%")}
	return p
}

// searched is the claim of a search: the load that the device passes with a loss ratio is between
// the load of the row and the lowest load that did not pass.
func (d Device) searched(figure string, row *v1alpha1.ResultRow, test v1alpha1.ThroughputTest, ratio float64) Claim {
	resolution := million * shareOf(test.Resolution)
	frames := countError * million / (d.LineRate() * test.TrialDuration.Seconds())
	truth := million * d.Throughput(ratio, test.TrialDuration.Duration)
	// A trial may offer less than intended by half the resolution.
	low, _ := around(float64(row.Frames.LineRatePPM), rateAccuracy, resolution/2+frames)
	high := million + frames
	if upper := row.Search.UpperBoundPPM; upper > 0 {
		// A burst that counts as harmless can fill the last of the buffer.
		_, high = around(float64(upper), rateAccuracy, frames*(1+harmlessBurst/countError))
	}
	return Claim{Figure: figure, Low: low, High: high, TrueLow: truth, TrueHigh: truth}
}

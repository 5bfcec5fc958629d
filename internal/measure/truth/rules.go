package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The rules by which a figure has an interval. Each adds what a reader of the row must expect.
const (
	// rateAccuracy is the share by which the rate of a tester may differ from what the row
	// states: the largest slew of a clock that NTP corrects.
	rateAccuracy = slewPPM / million
	// offerAccuracy is the share by which a trial of several may offer less than the row states.
	offerAccuracy = rateAccuracy + 0.001
	// timeAccuracy is the share of a measured time that a pause or losses of the tester may be.
	timeAccuracy = offerAccuracy + 0.01
	// countError is the number of frames of a stream by which counts may differ from a fluid: the
	// first and the last frame of the trial.
	countError = 2
	// bucketWidth is the relative width of a bucket of the latency histogram.
	bucketWidth = 1.0 / 64
)

// around returns the bounds of a value that is known to a share and to an amount.
func around(value, share, amount float64) (low, high float64) {
	by := math.Abs(value)*share + amount
	return value - by, value + by
}

// exactly is a claim that a figure is the truth, to a share and to an amount.
func exactly(figure string, value int64, truth, share, amount float64) Claim {
	low, high := around(float64(value), share, amount)
	return Claim{Figure: figure, Low: low, High: high, TrueLow: truth, TrueHigh: truth}
}

// ppm is a claim of a share in parts per million, which is rounded half up but never to 0, and
// which so many frames more or less would change by spread.
func ppm(figure string, value int64, trueLow, trueHigh, spread float64) Claim {
	c := Claim{Figure: figure, Low: float64(value) - 0.5 - spread, High: float64(value) + 0.5 + spread, TrueLow: trueLow, TrueHigh: trueHigh}
	switch value {
	case 0:
		c.High = spread
	case 1:
		c.Low = -spread
	case million - 1:
		c.High = million + spread
	}
	return c
}

// doubtful widens a share of lost frames by those that the tester may have lost or caused, as the
// row states them.
func (c Claim) doubtful(row *v1alpha1.ResultRow) Claim {
	if f := row.Frames; f.DoubtfulLost > 0 {
		c.Low -= million * float64(f.DoubtfulLost) / math.Max(1, float64(f.Received+f.Lost))
	}
	return c
}

// offered returns the share of line rate that the row says was offered, with its bounds: what the
// tester sent of the intended load, and the accuracy of its clock.
func offered(row *v1alpha1.ResultRow) (share, low, high float64) {
	f := row.Frames
	share = float64(f.LineRatePPM) / million
	if f.FramesPerSecond > 0 && f.OfferedFramesPerSecond > 0 {
		share *= float64(f.OfferedFramesPerSecond) / float64(f.FramesPerSecond)
	}
	low, high = around(share, rateAccuracy+1/math.Max(1, float64(f.FramesPerSecond)), 0)
	return share, low, min(high, 1)
}

// over returns the bounds of a function at the loads from low to high.
func over(low, high float64, of func(load float64) float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, load := range []float64{low, (low + high) / 2, high} {
		v := of(load)
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

// trialOf returns the length of the trial of a row.
func trialOf(row *v1alpha1.ResultRow) time.Duration {
	return time.Duration(row.Frames.TrialMilliseconds) * time.Millisecond
}

package trials

import (
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// SharePPM returns part of whole in parts per million, rounded half up. A part above 0 never
// becomes 0, and a part below the whole never becomes the whole. It is 0 when the whole is.
func SharePPM(part, whole uint64) int64 {
	if part == 0 || whole == 0 {
		return 0
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(part), new(big.Int).SetUint64(whole))
	ppm := max(1, frame.Round(share.Mul(share, big.NewRat(v1alpha1.PPM, 1))))
	if part < whole {
		ppm = min(ppm, v1alpha1.PPM-1)
	}
	return ppm
}

// Percent writes a load for a person.
func Percent(ppm int64) string { return string(v1alpha1.FormatPPM(ppm)) }

// Readable is a duration without the digits that say nothing to a person: to the
// microsecond below 10 ms, and to the millisecond from there on.
func Readable(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// per is a number of frames or events over a time, in one unit of time; 0 over none.
func per(unit time.Duration, n int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	rate := new(big.Rat).SetFrac(big.NewInt(n), big.NewInt(int64(d)))
	return frame.Round(rate.Mul(rate, big.NewRat(int64(unit), 1)))
}

// PerSecond returns the rate per second of n events in a time, rounded half up.
func PerSecond(n int64, d time.Duration) int64 { return per(time.Second, n, d) }

// PerHour returns the rate per hour of n events in a time, rounded half up.
func PerHour(n int64, d time.Duration) int64 { return per(time.Hour, n, d) }

// Spread is the average and the extremes of whole numbers.
type Spread struct {
	Count, Min, Max int64
	sum             big.Int
}

// Add adds a value.
func (s *Spread) Add(n int64) {
	if s.Count == 0 || n < s.Min {
		s.Min = n
	}
	if s.Count == 0 || n > s.Max {
		s.Max = n
	}
	s.Count++
	s.sum.Add(&s.sum, big.NewInt(n))
}

// Mean is exact; it is only asked for when there is a number.
func (s *Spread) Mean() *big.Rat { return new(big.Rat).SetFrac(&s.sum, big.NewInt(s.Count)) }

// Average is the mean, rounded to the nearest.
func (s *Spread) Average() int64 { return frame.Round(s.Mean()) }

// Deviation is the standard deviation of a sample, rounded half up; 0 of one number.
func Deviation(sample []int64) int64 {
	n := int64(len(sample))
	if n < 2 {
		return 0
	}
	sum, squares := new(big.Int), new(big.Int)
	for _, number := range sample {
		x := big.NewInt(number)
		sum.Add(sum, x)
		squares.Add(squares, new(big.Int).Mul(x, x))
	}
	// The variance is (n*sum(x^2) - sum(x)^2) / (n*(n-1)). Of four times as much the root
	// is twice as large, which is rounded half up.
	v := squares.Mul(squares, big.NewInt(n))
	v.Sub(v, sum.Mul(sum, sum))
	v.Mul(v, big.NewInt(4)).Quo(v, big.NewInt(n*(n-1)))
	return (v.Sqrt(v).Int64() + 1) / 2
}

// ReceivedRate is the receive rate of a trial in frames/s: what was received
// over the time that sending took, at all receivers together.
func ReceivedRate(t *Trial) int64 { return t.PerSecond(int64(t.Received)) }

// LossColumn is the loss ratio of a row.
var LossColumn = Column{Heading: "loss", Name: "%", Unit: PPM, Value: func(row *v1alpha1.ResultRow) (int64, bool) {
	return Pointed(row.Frames.OrZero().LossPPM)
}}

// ReceivedColumn is the receive rate of a row.
var ReceivedColumn = Column{Heading: "received", Name: "frames/s", Value: func(row *v1alpha1.ResultRow) (int64, bool) {
	return Pointed(row.Frames.OrZero().ReceivedFramesPerSecond)
}}

// Pointed returns the value of a pointer, and whether there is one.
func Pointed(n *int64) (int64, bool) {
	if n == nil {
		return 0, false
	}
	return *n, true
}

// HowOften returns the text for a number of repetitions: "once", "2 times".
func HowOften(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

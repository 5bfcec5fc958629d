package repeated

import (
	"math/big"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// confidence that an interval has where there are enough values, in parts per million.
const confidence = 950_000

// bounded is a value with what is known of it: it is not below Low and not above High.
type bounded struct{ value, low, high int64 }

// exactly is a value without bounds of its own.
func exactly(n int64) bounded { return bounded{n, n, n} }

// interval returns the median of values, at least one, with its confidence interval. The k-th
// lowest and the k-th highest value bound it, for the greatest k whose confidence is enough, or
// for 1 if none is.
func interval(values []bounded) v1alpha1.FigureInterval {
	sorted, lows, highs := make([]int64, len(values)), make([]int64, len(values)), make([]int64, len(values))
	f := v1alpha1.FigureInterval{Values: make([]int64, len(values))}
	for i, v := range values {
		f.Values[i], sorted[i], lows[i], highs[i] = v.value, v.value, v.low, v.high
	}
	slices.Sort(sorted)
	slices.Sort(lows)
	slices.Sort(highs)
	k, ppm := rank(len(values))
	f.Median, f.Low, f.High, f.ConfidencePPM = sorted[(len(sorted)-1)/2], lows[k-1], highs[len(highs)-k], ppm
	return f
}

// rank returns the greatest k for which the interval from the k-th lowest to the k-th highest of
// n values contains the median with 95 %, and its confidence in parts per million, rounded
// down: 1 - 2 P(B < k) for B binomial with n and 1/2. If no k has 95 % it returns 1.
func rank(n int) (k int, ppm int64) {
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	outside := new(big.Int)
	for k = 1; ; k++ {
		outside.Add(outside, new(big.Int).Binomial(int64(n), int64(k-1)))
		inside := new(big.Int).Sub(all, new(big.Int).Lsh(outside, 1))
		share := inside.Mul(inside, big.NewInt(v1alpha1.PPM))
		next := max(0, share.Quo(share, all).Int64())
		if k > 1 && next < confidence {
			return k - 1, ppm
		}
		if ppm = next; ppm < confidence || 2*k >= n {
			return k, ppm
		}
	}
}

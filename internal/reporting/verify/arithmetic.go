package verify

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	million = 1_000_000
	second  = 1_000_000_000
	hour    = 3600 * second
)

// ratio returns a fraction; 0 over 0.
func ratio(n, d int64) *big.Rat {
	if d == 0 {
		return new(big.Rat)
	}
	return big.NewRat(n, d)
}

// times multiplies fractions.
func times(all ...*big.Rat) *big.Rat {
	product := big.NewRat(1, 1)
	for _, one := range all {
		product.Mul(product, one)
	}
	return product
}

// nearest rounds a fraction that is not negative to the nearest whole number, halves up.
func nearest(r *big.Rat) int64 {
	twice := new(big.Int).Add(new(big.Int).Mul(r.Num(), big.NewInt(2)), r.Denom())
	return twice.Div(twice, new(big.Int).Mul(r.Denom(), big.NewInt(2))).Int64()
}

// down rounds a fraction down.
func down(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }

// sharePPM returns a share in parts per million as reports print it: never 0 of something, and
// never all of less than all.
func sharePPM(part, whole int64) int64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	ppm := nearest(times(ratio(part, whole), ratio(million, 1)))
	if ppm == 0 {
		return 1
	}
	if ppm >= million && part < whole {
		return million - 1
	}
	return ppm
}

// rate returns events per unit of nanoseconds.
func rate(n, in, unit int64) int64 {
	if in <= 0 {
		return 0
	}
	return nearest(times(ratio(n, in), ratio(unit, 1)))
}

// deviation returns the standard deviation of a sample, rounded; 0 of one value.
func deviation(sample []int64) int64 {
	n := int64(len(sample))
	if n < 2 {
		return 0
	}
	mean := new(big.Rat)
	for _, x := range sample {
		mean.Add(mean, ratio(x, n))
	}
	squares := new(big.Rat)
	for _, x := range sample {
		d := new(big.Rat).Sub(ratio(x, 1), mean)
		squares.Add(squares, d.Mul(d, d))
	}
	squares.Quo(squares, ratio(n-1, 1))
	// The root r is the largest whole number with (2r-1)^2 <= 4 squares, which rounds half up.
	four := down(times(squares, ratio(4, 1)))
	root := new(big.Int).Sqrt(big.NewInt(four)).Int64()
	return (root + 1) / 2
}

// percentile returns the latency that at least so many thousandths of the frames do not exceed.
func percentile(l *v1alpha1.LatencyRecord, perMille int64) int64 {
	total := int64(0)
	for i := 1; i < len(l.Buckets); i += 2 {
		total += l.Buckets[i]
	}
	if total == 0 {
		return 0
	}
	bucket, seen := int64(0), new(big.Int)
	rank := new(big.Int).Mul(big.NewInt(total), big.NewInt(perMille)) // in thousandths of a frame
	for i := 0; i+1 < len(l.Buckets); i += 2 {
		bucket += l.Buckets[i]
		seen.Add(seen, new(big.Int).Mul(big.NewInt(l.Buckets[i+1]), big.NewInt(1000)))
		if seen.Cmp(rank) >= 0 {
			_, high := traffic.BucketBounds(uint32(bucket))
			return max(l.MinNs, min(int64(high), l.MaxNs))
		}
	}
	return l.MaxNs
}

// spread sums up values.
type spread struct {
	all           []int64
	count         int64
	sum, min, max int64
}

func (s *spread) add(n int64) {
	s.all = append(s.all, n)
	s.merge(v1alpha1.TrialFigure{Count: 1, Sum: n, Min: n, Max: n})
}

func (s *spread) merge(f v1alpha1.TrialFigure) {
	if f.Count == 0 {
		return
	}
	if s.count == 0 {
		s.min, s.max = f.Min, f.Max
	}
	s.count, s.sum, s.min, s.max = s.count+f.Count, s.sum+f.Sum, min(s.min, f.Min), max(s.max, f.Max)
}

func (s *spread) mean() int64 { return nearest(ratio(s.sum, s.count)) }

package xdp

import "testing"

// The older count of order, and where the last gap was, frame by frame.
func TestOutOfSequence(t *testing.T) {
	type counts struct{ outOfSequence, reordered, next, gapEnd uint64 }
	whole := newBench(t)
	for name, test := range map[string]struct {
		numbers []uint64
		want    counts
	}{
		"in order":              {[]uint64{0, 1, 2, 3}, counts{0, 0, 4, 0}},
		"1 2 4 3 5 from 0":      {[]uint64{0, 1, 3, 2, 4}, counts{3, 1, 5, 3}},
		"one late by three":     {[]uint64{0, 2, 3, 4, 1, 5}, counts{3, 1, 6, 2}},
		"one lost":              {[]uint64{0, 1, 3, 4}, counts{1, 0, 5, 3}},
		"the first lost":        {[]uint64{1, 2}, counts{1, 0, 3, 1}},
		"three lost in two":     {[]uint64{0, 2, 5, 6}, counts{2, 0, 7, 5}},
		"a copy takes no part":  {[]uint64{0, 1, 1, 0, 2}, counts{0, 0, 3, 0}},
		"a copy of a late one":  {[]uint64{0, 2, 1, 1, 3}, counts{3, 1, 4, 2}},
		"backwards":             {[]uint64{3, 2, 1, 0}, counts{4, 3, 4, 3}},
		"a gap and a late end":  {[]uint64{0, 4, 3, 2, 1}, counts{4, 3, 5, 4}},
		"the gap below the end": {[]uint64{0, 9, 10, 4}, counts{2, 1, 11, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			b := whole.in(t)
			b.sequence(test.numbers...)
			f := b.flow()
			if got := (counts{f.OutOfSequence, f.Reordered, f.Next, f.GapEnd}); got != test.want {
				t.Errorf("%v: %+v, want %+v", test.numbers, got, test.want)
			}
		})
	}
}

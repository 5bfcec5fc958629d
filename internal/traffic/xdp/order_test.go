package xdp

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// byDefinition is the order of frames that were received with these numbers, as RFC
// 4737 defines extent (section 4.2.3), gaps (section 4.5.3) and n-reordering (section 5.3, definition 1).
// Copies are left out. Times are not known here.
func byDefinition(numbers []uint64) (order traffic.Order, reordered uint64) {
	order.Extents, order.Degrees = map[uint32]uint64{}, map[uint32]uint64{}
	var s []uint64
	seen, last := map[uint64]bool{}, -1
	for _, n := range numbers {
		if !seen[n] {
			seen[n] = true
			s = append(s, n)
		}
	}
	for i := range s {
		extent, degree := 0, 0
		for j := i - 1; j >= 0; j-- {
			if s[j] > s[i] {
				extent = i - j
			}
		}
		if extent == 0 {
			continue
		}
		if j := i - extent; j > last {
			if gap := uint64(j - last); last >= 0 {
				if order.Gaps == 0 || gap < order.GapMin {
					order.GapMin = gap
				}
				order.Gaps, order.GapSum = order.Gaps+1, order.GapSum+gap
			}
			last = j
		}
		for degree < i && s[i-degree-1] > s[i] {
			degree++
		}
		reordered++
		order.ExtentMax, order.DegreeMax = max(order.ExtentMax, uint64(extent)), max(order.DegreeMax, uint64(degree))
		order.Extents[traffic.OrderBucket(uint64(extent))]++
		order.Degrees[traffic.OrderBucket(uint64(degree))]++
	}
	return order, reordered
}

func sameOrder(t *testing.T, name any, f kernel.PortRxFlow, want traffic.Order, reordered uint64) {
	t.Helper()
	got := traffic.Order{Extents: map[uint32]uint64{}, Degrees: map[uint32]uint64{}}
	got.Add(countFlow(&f).Order)
	if f.Reordered != reordered || got.ExtentMax != want.ExtentMax || got.DegreeMax != want.DegreeMax || got.Beyond != want.Beyond || got.Gaps != want.Gaps || got.GapSum != want.GapSum || got.GapMin != want.GapMin ||
		!maps.Equal(got.Extents, want.Extents) || !maps.Equal(got.Degrees, want.Degrees) {
		t.Errorf("%v:\n%d reordered, %+v, want\n%d reordered, %+v", name, f.Reordered, got, reordered, want)
	}
}

// The examples of RFC 4737 section 7, and of section 5.3, from 0.
func TestOrderOfTheExamples(t *testing.T) {
	type buckets = map[uint32]uint64
	whole := newBench(t)
	for name, test := range map[string]struct {
		numbers          []uint64
		extents, degrees buckets
		gap              uint64
	}{
		"7.1": {[]uint64{0, 1, 2, 4, 5, 6, 7, 3, 8, 9}, buckets{4: 1}, buckets{4: 1}, 0},
		"7.2": {[]uint64{0, 1, 2, 3, 6, 4, 5, 7, 8, 9}, buckets{1: 1, 2: 1}, buckets{0: 1, 1: 1}, 0},
		"7.3": {[]uint64{0, 1, 2, 6, 7, 8, 9, 3, 4, 5, 10}, buckets{4: 1, 5: 1, 6: 1}, buckets{0: 2, 4: 1}, 0},
		"7.4": {[]uint64{0, 1, 2, 5, 6, 3, 4, 7, 8, 9, 11, 12, 10, 13, 14, 15}, buckets{2: 2, 3: 1}, buckets{0: 1, 2: 2}, 7},
		"5.3": {[]uint64{0, 1, 2, 6, 7, 8, 3, 4, 5}, buckets{3: 1, 4: 1, 5: 1}, buckets{0: 2, 3: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := whole.in(t)
			b.sequence(test.numbers...)
			want, reordered := byDefinition(test.numbers)
			if !maps.Equal(want.Extents, test.extents) || !maps.Equal(want.Degrees, test.degrees) || want.GapSum != test.gap {
				t.Errorf("by definition %+v, by the RFC %v, %v and %d", want, test.extents, test.degrees, test.gap)
			}
			sameOrder(t, test.numbers, b.flow(), want, reordered)
		})
	}
}

// Whatever the order, with lost frames and copies, the program counts as the definitions
// require, as long as it remembers what they need.
func TestOrderOfRandomFrames(t *testing.T) {
	b := newBench(t)
	random := rand.New(rand.NewPCG(4737, 8239))
	for round := range 150 {
		numbers := shuffled(random, 2+random.IntN(60), random.IntN(70))
		b.epoch(1000)
		b.sequence(numbers...)
		want, reordered := byDefinition(numbers)
		sameOrder(t, numbers, b.flow(), want, reordered)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// shuffled are numbers of frames of which each moves by up to reach places; some are
// lost, and some come twice.
func shuffled(random *rand.Rand, frames, reach int) []uint64 {
	var numbers []uint64
	for n := range frames {
		switch random.IntN(10) {
		case 0:
		case 1:
			numbers = append(numbers, uint64(n), uint64(n))
		default:
			numbers = append(numbers, uint64(n))
		}
	}
	for i := range numbers {
		j := min(i+random.IntN(reach+1), len(numbers)-1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	return numbers
}

// outOfPlace are numbers of frames of which every fifth comes up to 400 places late, so
// that numbers are skipped very often.
func outOfPlace(random *rand.Rand, frames int) []uint64 {
	numbers, at := make([]uint64, frames), make([]int, frames)
	for n := range numbers {
		numbers[n], at[n] = uint64(n), n
		if random.IntN(5) == 0 {
			at[n] += random.IntN(400)
		}
	}
	slices.SortStableFunc(numbers, func(a, b uint64) int { return at[a] - at[b] })
	return numbers
}

// Where there are more skips and reordered frames than the program remembers, it says
// of how many frames it does not know the extent, and never counts too much.
func TestOrderBeyondMemory(t *testing.T) {
	b := newBench(t)
	random := rand.New(rand.NewPCG(8239, 4737))
	beyond := uint64(0)
	// One hundred reordered frames rise, of which 36 are forgotten, and then one comes
	// that belongs between those.
	sequences := [][]uint64{{1000}}
	for n := range uint64(100) {
		sequences[0] = append(sequences[0], 2*n+1)
	}
	sequences[0] = append(sequences[0], 50)
	for range 15 {
		sequences = append(sequences, outOfPlace(random, 600))
	}
	for _, numbers := range sequences {
		b.epoch(1000)
		b.sequence(numbers...)
		f := b.flow()
		want, reordered := byDefinition(numbers)
		got := countFlow(&f).Order
		beyond += got.Beyond
		if f.Reordered != reordered || got.Reordered(0) != reordered {
			t.Fatalf("%v: %d reordered, of which %d have a degree, want %d", numbers, f.Reordered, got.Reordered(0), reordered)
		}
		if got.DegreeMax > want.DegreeMax || got.ExtentMax > want.ExtentMax || got.Beyond == 0 && got.ExtentMax != want.ExtentMax {
			t.Fatalf("%v: n %d, extent %d, of %d frames not known, want %d and %d", numbers, got.DegreeMax, got.ExtentMax, got.Beyond, want.DegreeMax, want.ExtentMax)
		}
		for n := range uint64(8) { // Degrees are exact below the frames that are remembered.
			if got.Reordered(n) != want.Reordered(n) {
				t.Fatalf("%v: %d frames are %d-reordered, want %d", numbers, got.Reordered(n), n, want.Reordered(n))
			}
		}
		for n := uint64(8); n < 1024; n *= 2 {
			if got.Reordered(n) > want.Reordered(n) || n <= 64 && got.Beyond == 0 && got.Reordered(n) != want.Reordered(n) {
				t.Fatalf("%v: %d frames are %d-reordered, want %d", numbers, got.Reordered(n), n, want.Reordered(n))
			}
		}
	}
	if beyond == 0 {
		t.Error("the program remembered everything: this shows nothing")
	}
}

// The late time offset is that since the arrival of the first frame with a larger
// number (RFC 4737 section 4.3).
func TestLateTimeOffset(t *testing.T) {
	b := newBench(t)
	b.sequence(0)
	before := uint64(monotonic())
	b.sequence(2)
	between := uint64(monotonic())
	b.sequence(3, 4)
	after := uint64(monotonic())
	b.sequence(1)
	end := uint64(monotonic())
	if got := b.flow().Order.LateNsMax; got < after-between || got > end-before {
		t.Errorf("late by %d ns, want %d to %d", got, after-between, end-before)
	}
}

// The program puts every number of frames into the bucket that package traffic would.
func TestOrderBuckets(t *testing.T) {
	for i := range uint32(traffic.OrderBucketCount) {
		low, high := traffic.OrderBounds(i)
		if traffic.OrderBucket(low) != i || traffic.OrderBucket(high) != i || i > 0 && traffic.OrderBucket(low-1) != i-1 {
			t.Errorf("bucket %d has %d to %d, which are of %d and %d", i, low, high, traffic.OrderBucket(low), traffic.OrderBucket(high))
		}
	}
	b := newBench(t)
	for frames := uint64(1); frames <= 200; frames += frames/8 + 1 {
		b.epoch(1000)
		numbers := []uint64{}
		for n := range frames {
			numbers = append(numbers, n+1)
		}
		b.sequence(append(numbers, 0)...)
		want, reordered := byDefinition(append(numbers, 0))
		sameOrder(t, frames, b.flow(), want, reordered)
	}
}

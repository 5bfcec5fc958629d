package xdp

import (
	"math/rand/v2"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// Frames that jump over a hole count as if the numbers behind it began right there,
// whatever was lost, copied or reordered.
func TestHolesDoNotCount(t *testing.T) {
	b := newBench(t)
	hole := &b.port.receive.attached.holes.At[1]
	random := rand.New(rand.NewPCG(24, 6))
	count := func(numbers []uint64, h kernel.PortHole) (traffic.RxCount, uint64) {
		t.Helper()
		*hole = h
		b.epoch(1000)
		b.sequence(numbers...)
		flow := b.flow()
		_, missing, err := b.port.receive.gaps(0, flow.Next)
		if err != nil {
			t.Fatal(err)
		}
		c := b.port.receive.count(0, &flow)
		c.Latency, c.FirstNs, c.LastNs, c.SilentFromNs, c.SilentToNs, c.Order.LateMaxNs = traffic.Latency{}, 0, 0, 0, 0, 0
		return c, missing
	}
	for round := range 100 {
		numbers := shuffled(random, 2+random.IntN(60), random.IntN(3)*random.IntN(30))
		from, size := uint64(random.IntN(60)), uint64(1+random.IntN(kernel.HoleMost))
		want, wantMissing := count(numbers, kernel.PortHole{})
		jumping := make([]uint64, len(numbers))
		for i, n := range numbers {
			if jumping[i] = n; n >= from {
				jumping[i] += size
			}
		}
		got, missing := count(jumping, kernel.PortHole{From: from, To: from + size})
		if !sameCount(got, want) || missing != wantMissing {
			t.Fatalf("round %d: %v with a hole of %d from %d:\n%+v, %d missing, want\n%+v, %d missing", round, jumping, size, from, got, missing, want, wantMissing)
		}
	}
}

func sameCount(a, b traffic.RxCount) bool {
	return a.Received == b.Received && a.Duplicate == b.Duplicate && a.Reordered == b.Reordered && a.OutOfSequence == b.OutOfSequence &&
		a.Late == b.Late && a.Next == b.Next && a.GapEnd == b.GapEnd && a.Order.ExtentMax == b.Order.ExtentMax && a.Order.DegreeMax == b.Order.DegreeMax &&
		a.Order.Gaps == b.Order.Gaps && a.Order.GapSum == b.Order.GapSum && a.Order.GapMin == b.Order.GapMin && a.Order.Beyond == b.Order.Beyond
}

// The limit of numbers that a load reaches counts frames, not numbers of a hole.
func TestHolesRaiseTheLastNumber(t *testing.T) {
	b := newBench(t)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1 << 16, PerNanos: 1e9}, Frames: 20}}}
	for _, test := range []struct {
		hole           kernel.PortHole
		number, passes uint64
	}{{kernel.PortHole{}, 19, 1}, {kernel.PortHole{}, 20, 0}, {kernel.PortHole{From: 10, To: 15}, 24, 1}, {kernel.PortHole{From: 10, To: 15}, 25, 0}} {
		b.port.receive.attached.holes.At[1] = test.hole
		b.begin(1000, trial)
		b.sequence(test.number)
		if got := b.flow().Received; got != test.passes {
			t.Errorf("hole %+v: number %d was received %d times, want %d", test.hole, test.number, got, test.passes)
		}
	}
}

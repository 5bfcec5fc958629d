package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawCollectives makes a pair whose device holds the last frame of each transfer for a known time. Each host has a port, and sends
// and receives once in a step of a ring, so that a step takes as long as one transfer.
func drawCollectives(r draw) Pair {
	d := r.forwarder()
	elements := r.between(1, 100_000) // in each part
	hosts := d.Ports
	size := int32(elements * 8 * int64(hosts))
	test := v1alpha1.CollectivesTest{
		Algorithm: one(r, v1alpha1.CollectiveAlgorithm("RingAllReduce"), "AllToAll"), Hosts: hosts, MessageSizes: []int32{size},
		Repetitions: int32(r.between(1, 20)), WarmUpRepetitions: 1, MTU: one(r, int32(1500), 9000), CongestionControl: "reno",
	}
	steps := float64(hosts - 1)
	if test.Algorithm == "RingAllReduce" {
		steps *= 2
	}
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "collectives", Collectives: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Collectives
			if s == nil {
				return nil
			}
			const hostsLeast, hostsMost, rounding = 10_000, 11_000, 4
			step := messageBits(int32(elements*8), test.MTU)*1e9/d.Speed.BitsPerSecond + float64(d.LatencyMin)
			return []Claim{
				{Figure: "completion, ns", Low: float64(s.Completion.P50Ns), High: float64(s.Completion.MaxNs), TrueLow: steps * (step + hostsLeast - rounding), TrueHigh: steps * (step + hostsMost + rounding)},
				{Figure: "wrong results", Low: float64(s.WrongResults), High: float64(s.WrongResults)},
			}
		},
	}
}

package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawIncast makes a pair whose device has a port with a buffer. One that holds all blocks drops nothing, and no
// goodput is above the rate of the port.
func drawIncast(r draw) Pair {
	d := r.forwarder()
	buffer := int64(r.spread(20_000, 2_000_000))
	d.Behaviour.PortBuffer = &buffer
	servers, block := r.between(1, 16), r.between(1_000, 100_000)
	test := v1alpha1.IncastTest{Servers: []int32{int32(servers)}, BlockSize: block, Iterations: int32(r.between(1, 10)), MTU: 1500, CongestionControl: "reno"}
	const headers, payload = 1518, 1448
	// Each block begins a packet of its own.
	most := servers * (block/payload + 1) * headers
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "incast", Incast: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Incast
			if s == nil || s.DeviceDrops == nil {
				return nil
			}
			drops := Claim{Figure: "dropped packets", Low: float64(*s.DeviceDrops), High: float64(*s.DeviceDrops), TrueLow: 0, TrueHigh: 0}
			if most > buffer {
				drops.TrueHigh = math.Inf(1)
			}
			return []Claim{drops, {Figure: "goodput, bit/s", Low: float64(s.GoodputBitsPerSecond), High: float64(s.GoodputBitsPerSecond), TrueLow: 0, TrueHigh: d.Speed.BitsPerSecond}}
		},
	}
}

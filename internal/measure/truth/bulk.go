package truth

import (
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawBulk makes a pair whose device forwards a known share of line rate. Data moves at the rate of full segments at this
// share.
func drawBulk(r draw) Pair {
	d := r.forwarder()
	test := v1alpha1.BulkTest{Connections: int32(r.between(1, 128)), MTU: one(r, int32(1500), 9000), CongestionControl: "reno"}
	if r.chance(50) {
		test.Size = int64(r.spread(1e6, 1e11))
	} else {
		test.Duration = lasting(time.Duration(r.between(1, 100)) * time.Second)
	}
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "bulk", Bulk: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Bulk
			if s == nil {
				return nil
			}
			const headers, accuracy = 52, 1e-5
			segment := 8 * float64(test.MTU-headers)
			rate := d.Speed.BitsPerSecond * float64(d.CapacityPPM) / million * segment / messageBits(test.MTU-headers, test.MTU)
			claims := []Claim{{Figure: "goodput, bit/s", Low: float64(s.GoodputBitsPerSecond), High: float64(s.GoodputBitsPerSecond), TrueLow: rate * (1 - accuracy), TrueHigh: rate * (1 + accuracy)}}
			if test.Size > 0 {
				claims = append(claims, Claim{Figure: "received bytes", Low: float64(s.ReceivedBytes), High: float64(s.ReceivedBytes), TrueLow: float64(test.Size), TrueHigh: float64(test.Size)})
			}
			return claims
		},
	}
}

package truth

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// drawMessageRate makes a pair whose device forwards messages up to its capacity at the size of their frames.
func drawMessageRate(r draw) Pair {
	d := r.forwarder()
	const headers, gap = 46, 20 // of Ethernet with FCS, IPv4 and UDP
	test := v1alpha1.MessageRateTest{
		Publishers: int32(r.between(1, 3)), Groups: int32(r.between(1, 200)), FirstGroup: "225.1.1.1", Subscribers: int32(r.between(1, 4)), ReceiveBuffer: 1 << 20, MTU: 9000,
		MessageSize: max(32, d.Size-headers), TrialDuration: &metav1.Duration{Duration: time.Second},
	}
	bits := 8 * (float64(max(64, test.MessageSize+headers)) + gap)
	line := float64(d.Speed.BitsPerSecond) / bits
	limit := line * float64(d.CapacityPPM) / 1e6
	test.MinimumRate, test.MaximumRate, test.Resolution = int32(max(1, limit/r.spread(2, 50))), int32(min(1e8, line)), int32(max(1, limit/r.spread(20, 1000)))
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "messages", MessageRate: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.MessageRate
			if s == nil {
				return nil
			}
			high := float64(s.FailedRate)
			if s.FailedRate == 0 {
				high = math.Inf(1)
			}
			return []Claim{{Figure: "rate, messages/s", Low: float64(s.Rate), High: high, TrueLow: limit, TrueHigh: limit + 2}}
		},
	}
}

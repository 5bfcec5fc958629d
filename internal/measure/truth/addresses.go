package truth

import (
	"math"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// bridge draws a device that learns addresses, on three ports or more of one network.
func (r draw) bridge() Device {
	d := r.forwarder()
	d.Ports, d.CapacityPPM, d.OverloadPPM = 4, million, 0
	table, rate := int32(r.spread(10, 50_000)), int32(r.spread(200, 100_000))
	d.Behaviour.AddressTableSize = &table
	d.Behaviour.LearningRate = &rate
	return d
}

// drawAddressCaching makes a pair whose table of addresses is filled.
func drawAddressCaching(r draw) Pair {
	d := r.bridge()
	d.Behaviour.LearningRate = nil
	test := v1alpha1.AddressCachingTest{
		MaxAddresses: int32(r.spread(1000, 65_536)), Resolution: one(r, int32(1), 1, 16), LearningRate: int32(r.spread(1000, 20_000)), AgingTime: lasting(300 * time.Second),
	}
	return Pair{
		Device: d, Tester: r.tester(d, time.Duration(float64(test.MaxAddresses)/float64(test.LearningRate)*1e9)), Config: d.bridged(d.config(v1alpha1.Test{Name: "caching", AddressCaching: &test})),
		Claims: d.addressCachingClaims(),
	}
}

// addressCachingClaims are the claims of a row about the table of addresses.
func (d Device) addressCachingClaims() func(*v1alpha1.ResultRow) []Claim {
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.AddressCaching
		if s == nil {
			return nil
		}
		// The address of the test port takes a place, too.
		truth := float64(*d.Behaviour.AddressTableSize - 1)
		return []Claim{bracketOf("addresses", s.Addresses, s.ExceededAt, truth, 0)}
	}
}

// drawAddressLearning makes a pair whose rate of learning is searched.
func drawAddressLearning(r draw) Pair {
	d := r.bridge()
	test := v1alpha1.AddressLearningTest{
		Addresses: int32(r.between(5, int64(*d.Behaviour.AddressTableSize)-1)), Resolution: one(r, int32(1), 10, 100), TestRate: 1000, AgingTime: lasting(300 * time.Second),
	}
	test.Addresses = min(test.Addresses, 65_536)
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.bridged(d.config(v1alpha1.Test{Name: "learning", AddressLearning: &test})),
		Claims: d.addressLearningClaims(&test),
	}
}

// addressLearningClaims are the claims of a row about the table of addresses.
func (d Device) addressLearningClaims(test *v1alpha1.AddressLearningTest) func(*v1alpha1.ResultRow) []Claim {
	return func(row *v1alpha1.ResultRow) []Claim {
		s := row.AddressLearning
		if s == nil {
			return nil
		}
		// A device that learns n addresses in a second has learnt one more when it has begun
		// with the last.
		rate, n := float64(*d.Behaviour.LearningRate), float64(test.Addresses)
		truth := math.Inf(1)
		if n > 1 {
			truth = rate * n / (n - 1)
		}
		c := bracketOf("addresses/s", s.AddressesPerSecond, s.ExceededAt, rate, rateAccuracy+0.01)
		c.TrueHigh = truth
		if s.OfferedPerSecond > 0 {
			c.Low = min(c.Low, float64(s.OfferedPerSecond)*(1-rateAccuracy)-1)
		}
		return []Claim{c}
	}
}

// bracketOf is a claim of a search for the greatest number that passes.
func bracketOf(figure string, passed, failed int64, truth, share float64) Claim {
	c := Claim{Figure: figure, TrueLow: truth, TrueHigh: truth, High: math.Inf(1)}
	c.Low, _ = around(float64(passed), share, 0)
	if failed > 0 {
		_, c.High = around(float64(failed), share, 0)
	}
	return c
}

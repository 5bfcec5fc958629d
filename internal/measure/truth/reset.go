package truth

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// drawReset makes a pair whose device is reset.
func drawReset(r draw) Pair {
	d := r.forwarder()
	d.CapacityPPM, d.OverloadPPM = million, 0
	took := lasting(time.Duration(r.spread(1e6, 1.5e10)))
	d.Behaviour.ResetTime = &took
	test := v1alpha1.ResetTest{
		Kind: v1alpha1.ResetHardware, Method: one(r, v1alpha1.ResetByFrameLoss, v1alpha1.ResetByTimestamp), Trigger: v1alpha1.ResetByDevice,
		Load: v1alpha1.Load(percent(r.between(10_000, 900_000))), LeadTime: lasting(15 * time.Second), TrialDuration: lasting(40 * time.Second), Repetitions: int32(r.between(1, 3)),
	}
	// A reset takes links of the tester down: a link that fails by itself
	// cannot be distinguished from it.
	tester := r.tester(d, 40*time.Second)
	tester.Faults = slices.DeleteFunc(tester.Faults, func(f fault.Fault) bool { return f.Kind == fault.Link })
	return Pair{
		Device: d, Tester: tester, Config: d.config(v1alpha1.Test{Name: "reset", Reset: &test}),
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Reset
			if s == nil {
				return nil
			}
			_, low, _ := offered(row)
			frame := 2e9 / (low * d.LineRate())
			var claims []Claim
			for _, f := range []struct {
				figure string
				value  int64
			}{{"average, ns", s.AvgNs}, {"least, ns", s.MinNs}, {"most, ns", s.MaxNs}} {
				claims = append(claims, exactly(f.figure, f.value, float64(took.Duration), timeAccuracy, frame))
			}
			return claims
		},
	}
}

// multicast draws a device and a profile of groups that all ports but the first can join.
func (r draw) multicast(groups int32) (Device, v1alpha1.Pattern) {
	d := r.forwarder()
	d.Ports, d.CapacityPPM, d.OverloadPPM = int32(r.between(2, 5)), million, 0
	return d, v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: groups}}
}

// drawGroupDelay makes a pair whose delay of joining or leaving groups is measured.
func drawGroupDelay(r draw, joins bool) Pair {
	d, pattern := r.multicast(int32(r.between(1, 8)))
	join, leave := lasting(time.Duration(r.spread(1e4, 1e9))), lasting(time.Duration(r.spread(1e4, 1e9)))
	d.Behaviour.JoinDelay, d.Behaviour.LeaveDelay = &join, &leave
	load, lead, wait := v1alpha1.Load(percent(r.between(10_000, 900_000))), lasting(2*time.Second), lasting(3*time.Second)
	repetitions := int32(r.between(1, 3))
	truth := leave
	test := v1alpha1.Test{Name: "delay", GroupLeaveDelay: &v1alpha1.GroupLeaveDelayTest{Load: load, LeadTime: lead, WaitTime: wait, Repetitions: repetitions}}
	if joins {
		truth = join
		test = v1alpha1.Test{Name: "delay", GroupJoinDelay: &v1alpha1.GroupJoinDelayTest{Load: load, LeadTime: lead, WaitTime: wait, Repetitions: repetitions, Method: v1alpha1.GroupJoinMethodA}}
	}
	cfg := d.config(test)
	cfg.Profile.Spec.Pattern = pattern
	return Pair{
		Device: d, Tester: r.tester(d, 5*time.Second), Config: cfg,
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.GroupDelay
			if s == nil || s.Unseen > 0 {
				return nil
			}
			var claims []Claim
			for _, f := range []struct {
				figure string
				value  int64
			}{{"average, ns", s.AvgNs}, {"least, ns", s.MinNs}, {"most, ns", s.MaxNs}} {
				// The delay includes the latency of the frame that ends it.
				off := timeAccuracy * float64(truth.Duration)
				c := Claim{Figure: f.figure, TrueLow: float64(truth.Duration), TrueHigh: float64(truth.Duration)}
				c.Low, c.High = float64(f.value)-float64(d.LatencyMax)-1-off, float64(f.value)+1+off
				if joins {
					c.Low -= float64(s.ResolutionNs)
				} else {
					c.High += float64(s.ResolutionNs)
				}
				claims = append(claims, c)
			}
			return claims
		},
	}
}

// drawGroupCapacity makes a pair whose device forwards some number of groups.
func drawGroupCapacity(r draw) Pair {
	groups := int32(r.between(10, 300))
	d, pattern := r.multicast(groups)
	capacity := int32(r.between(1, 400))
	d.Behaviour.GroupCapacity = &capacity
	trial := time.Second
	test := v1alpha1.GroupCapacityTest{
		InitialGroups: int32(r.between(1, int64(groups))), GroupIncrement: int32(r.between(1, 100)), Load: v1alpha1.Load(percent(r.between(10_000, 900_000))),
		TrialDuration: lasting(trial), JoinTime: &metav1.Duration{Duration: time.Second},
	}
	cfg := d.config(v1alpha1.Test{Name: "groups", GroupCapacity: &test})
	cfg.Profile.Spec.Pattern = pattern
	return Pair{
		Device: d, Tester: r.tester(d, trial), Config: cfg,
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.GroupCapacity
			if s == nil {
				return nil
			}
			truth := float64(min(capacity, groups))
			c := Claim{Figure: fmt.Sprintf("groups of %d", groups), Low: float64(s.Groups), High: float64(s.Groups), TrueLow: truth, TrueHigh: truth}
			return []Claim{c}
		},
	}
}

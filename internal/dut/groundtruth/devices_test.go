package groundtruth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/truth"
	"nodrop.dev/nodrop/internal/measure/truth/truthtest"
)

const (
	// settle and rest are the pauses after and before a trial. A queue of the device is empty
	// after them.
	settle = 200 * time.Millisecond
	rest   = 50 * time.Millisecond
	// tick is the longest tick of the kernel (CONFIG_HZ is 100 to 1000).
	tick = 10 * time.Millisecond
	// longestQueue is the time in which a port sends the longest queue of a device.
	longestQueue = 100 * time.Millisecond
	// wake is the longest time by which the kernel may begin to send a frame too late. A token
	// bucket holds the tokens of this time, so that its rate does not depend on it.
	wake = 20 * time.Millisecond
)

func lasting(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// draw makes the parameters of a pair from its seed.
type draw struct{ *rand.Rand }

func (r draw) between(low, high int64) int64 { return low + r.Int64N(high-low+1) }

func one[T any](r draw, of ...T) T { return of[r.IntN(len(of))] }

func percent(ppm int64) string { return string(v1alpha1.FormatPPM(ppm)) }

// plain draws a device that forwards everything.
func (r draw) plain(ports int32) truth.Device {
	return truth.Device{Ports: ports, Speed: speed, Size: one[int32](r, 512, 1024, 1280, 1518), CapacityPPM: 1_000_000, BufferFrames: 1e6}
}

// limited makes every port of a device send through a token bucket with a share of line rate in parts
// per million, and a queue (tc-tbf(8)). The bucket counts the bytes of a frame without FCS.
func limited(d truth.Device, capacityPPM int64, queue time.Duration) (truth.Device, []string) {
	bytes := float64(d.Size - 4)
	perSecond := d.LineRate() * float64(capacityPPM) / 1e6
	rate := math.Round(perSecond * 8 * bytes)
	burst := math.Ceil(max(5*bytes, rate/8*wake.Seconds()))
	limit := math.Ceil(rate / 8 * queue.Seconds())
	d.CapacityPPM = capacityPPM
	d.BufferFrames = int64(burst/bytes) + int64(limit/bytes)
	var commands []string
	for i := range d.Ports {
		commands = append(commands, fmt.Sprintf("tc qdisc replace dev p%d root tbf rate %.0fbit burst %.0f limit %.0f", i+1, rate, burst, limit))
	}
	return d, commands
}

// atOnce adds to claims of forwarding rates what a full bucket lets through at once, on a number of
// ports, in a trial of a second: it is never in the queue.
func atOnce(d truth.Device, ports float64, claims func(*v1alpha1.ResultRow) []truth.Claim) func(*v1alpha1.ResultRow) []truth.Claim {
	return func(row *v1alpha1.ResultRow) []truth.Claim {
		all := claims(row)
		for i := range all {
			if strings.Contains(all[i].Figure, "frames/s") {
				all[i].TrueHigh += ports * max(5, d.LineRate()*float64(d.CapacityPPM)/1e6*wake.Seconds())
			}
		}
		return all
	}
}

// pausing adds to claims about a loss at a load what a device does not send in a pause of the tester that
// no row mentions: a device that is overloaded cannot make up for it.
func pausing(d truth.Device, trial time.Duration, claims func(*v1alpha1.ResultRow) []truth.Claim) func(*v1alpha1.ResultRow) []truth.Claim {
	return func(row *v1alpha1.ResultRow) []truth.Claim {
		all := claims(row)
		capacity, load := float64(d.CapacityPPM)/1e6, float64(row.Frames.LineRatePPM)/1e6
		if load <= capacity {
			return all
		}
		share := trials.LateTolerance(trial).Seconds() / trial.Seconds() * capacity
		for i := range all {
			if strings.Contains(all[i].Figure, "frames/s") {
				all[i].TrueLow -= share * d.LineRate()
			} else {
				all[i].TrueHigh += 1e6 * share / load
			}
		}
		return all
	}
}

// timed lets claims about a queue allow that it is full by one frame more: the kernel begins to send a
// frame a little after it has a token for it, and drops a frame that comes in between.
func timed(d truth.Device, test v1alpha1.Test) func(*v1alpha1.ResultRow) []truth.Claim {
	most := d.Claims(test)
	d.BufferFrames--
	least := d.Claims(test)
	return func(row *v1alpha1.ResultRow) []truth.Claim {
		all := most(row)
		for i, c := range least(row) {
			all[i].TrueLow = min(all[i].TrueLow, c.TrueLow)
		}
		return all
	}
}

// limiter draws a device whose ports have a capacity and a queue.
func (r draw) limiter(ports int32, least, most int64) (truth.Device, []string) {
	return limited(r.plain(ports), r.between(least, most), time.Duration(r.between(1, int64(longestQueue))))
}

// dropper draws a device that drops one of a number of frames that come in on p1 (nft(8), numgen).
func (r draw) dropper() (truth.Device, []string) {
	d := r.plain(2)
	n := one[int64](r, 50, 100, 200, 500, 1000)
	d.LossPPM = 1_000_000 / n
	return d, []string{
		"nft add table netdev faults",
		"nft add chain netdev faults in { type filter hook ingress device p1 priority 0 ; }",
		fmt.Sprintf("nft add rule netdev faults in meta l4proto udp numgen inc mod %d == 0 drop", n),
	}
}

// methods make a pair of each method.
var methods = map[v1alpha1.Method]func(draw) pair{
	v1alpha1.MethodThroughput: func(r draw) pair {
		d, commands := r.limiter(2, 100_000, 800_000)
		test := v1alpha1.ThroughputTest{
			Search:     one(r, v1alpha1.SearchBinary, v1alpha1.SearchMLRsearch, v1alpha1.SearchInformed),
			Resolution: "1%", TrialDuration: lasting(time.Second), SearchTrialDuration: lasting(500 * time.Millisecond),
		}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", Throughput: &test}}
	},
	v1alpha1.MethodPartialDropRate: func(r draw) pair {
		d, commands := r.limiter(2, 100_000, 800_000)
		test := v1alpha1.ThroughputTest{
			Search: v1alpha1.SearchMLRsearch, LossRatios: []v1alpha1.LossRatio{"0%", one(r, v1alpha1.LossRatio("0.5%"), "5%")},
			Resolution: "2%", TrialDuration: lasting(500 * time.Millisecond), SearchTrialDuration: lasting(500 * time.Millisecond),
		}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", Throughput: &test}}
	},
	v1alpha1.MethodFrameLoss: func(r draw) pair {
		d, commands := r.lossy()
		test := v1alpha1.FrameLossTest{Step: "10%", TrialDuration: lasting(500 * time.Millisecond)}
		whole := v1alpha1.Test{Name: "t", FrameLoss: &test}
		claims := pausing(d, test.TrialDuration.Duration, sending(d).Claims(whole))
		return pair{device: d, commands: commands, test: whole, claims: claims}
	},
	v1alpha1.MethodSoak: func(r draw) pair {
		d, commands := r.lossy()
		test := v1alpha1.SoakTest{Load: v1alpha1.Load(percent(r.between(100_000, 1_000_000))), Duration: lasting(5 * time.Second)}
		whole := v1alpha1.Test{Name: "t", Soak: &test}
		claims := pausing(d, test.Duration.Duration, sending(d).Claims(whole))
		return pair{device: d, commands: commands, test: whole, claims: claims}
	},
	v1alpha1.MethodForwardingRate: func(r draw) pair {
		d, commands := r.lossy()
		test := v1alpha1.ForwardingRateTest{Step: "10%", TrialDuration: lasting(time.Second)}
		whole := v1alpha1.Test{Name: "t", ForwardingRate: &test}
		claims := pausing(d, test.TrialDuration.Duration, atOnce(d, 1, sending(d).Claims(whole)))
		return pair{device: d, commands: commands, test: whole, claims: claims}
	},
	v1alpha1.MethodBackToBack: func(r draw) pair {
		d, commands := r.limiter(2, 100_000, 800_000)
		test := v1alpha1.BackToBackTest{Repetitions: 1, MaxBurstDuration: lasting(time.Second), ResolutionFrames: 1}
		whole := v1alpha1.Test{Name: "t", BackToBack: &test}
		return pair{device: d, commands: commands, test: whole, claims: timed(sending(d), whole)}
	},
	v1alpha1.MethodBufferSize: func(r draw) pair {
		d, commands := limited(r.plain(4), 1_000_000, time.Duration(r.between(1, int64(longestQueue))))
		test := v1alpha1.BufferSizeTest{Oversubscription: v1alpha1.Percentage(one(r, "50%", "100%")), MaxDuration: lasting(time.Second), Repetitions: 1, ResolutionFrames: 1}
		whole := v1alpha1.Test{Name: "t", BufferSize: &test}
		return pair{device: d, commands: commands, test: whole, claims: timed(d, whole)}
	},
	v1alpha1.MethodRecovery: func(r draw) pair {
		d, commands := r.limiter(2, 100_000, 600_000)
		search := v1alpha1.ThroughputTest{Resolution: "1%", TrialDuration: lasting(500 * time.Millisecond), SearchTrialDuration: lasting(500 * time.Millisecond)}
		test := v1alpha1.RecoveryTest{OverloadDuration: lasting(time.Second), ReducedDuration: lasting(time.Second), Repetitions: 2}
		return pair{device: d, commands: commands, before: []v1alpha1.Test{{Name: "throughput", Throughput: &search}}, test: v1alpha1.Test{Name: "t", Recovery: &test}}
	},
	v1alpha1.MethodLatency: func(r draw) pair {
		q := r.queue()
		test := v1alpha1.LatencyTest{Loads: []v1alpha1.Load{q.load}, TrialDuration: lasting(2 * time.Second)}
		return pair{device: q.Device, commands: q.commands, test: v1alpha1.Test{Name: "t", Latency: &test}, wakes: true, claims: func(row *v1alpha1.ResultRow) []truth.Claim {
			if row.Latency == nil {
				return nil
			}
			return []truth.Claim{q.full("longest latency, ns", row.Latency.MaxNs)}
		}}
	},
	v1alpha1.MethodRFC2544Latency: func(r draw) pair {
		q := r.queue()
		test := v1alpha1.RFC2544LatencyTest{Load: q.load, Repetitions: 2, TrialDuration: lasting(2 * time.Second), Definition: v1alpha1.LatencyStoreAndForward}
		return pair{device: q.Device, commands: q.commands, test: v1alpha1.Test{Name: "t", RFC2544Latency: &test}, claims: func(row *v1alpha1.ResultRow) []truth.Claim {
			if row.RFC2544Latency == nil {
				return nil
			}
			c := q.full("average latency, ns", row.RFC2544Latency.AvgNs)
			// A larger part of the tester marks the row.
			c.Low, c.High = c.Low*0.99, c.High*1.01
			c.TrueLow -= q.filling(float64(row.Frames.LineRatePPM)/1e6, test.TrialDuration.Duration)
			return []truth.Claim{c}
		}}
	},
	v1alpha1.MethodOrdering: func(r draw) pair {
		d, commands := r.dropper()
		test := v1alpha1.OrderingTest{Resolution: "50%", TrialDuration: lasting(500 * time.Millisecond)}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", Ordering: &test}, claims: func(row *v1alpha1.ResultRow) []truth.Claim {
			s := row.Ordering
			if s == nil {
				return nil
			}
			// Each lost frame breaks the sequence once.
			received := float64(max(1, row.Frames.Received))
			broken := truth.Claim{Figure: "out of sequence, ppm", Low: float64(s.OutOfSequencePPM), High: float64(s.OutOfSequencePPM)}
			share := 1e6 * float64(d.LossPPM) / (1e6 - float64(d.LossPPM))
			broken.TrueLow, broken.TrueHigh = share-1-2e6/received, share+1+2e6/received
			return []truth.Claim{truthtest.Number("reordered, ppm", s.ReorderedPPM, 0, 0), broken, truthtest.Number("load at which reordering begins, ppm", s.OnsetPPM, 0, 0)}
		}}
	},
	v1alpha1.MethodBroadcast: func(r draw) pair {
		d, commands := r.limiter(4, 100_000, 500_000)
		test := v1alpha1.BroadcastTest{Resolution: "2%", TrialDuration: lasting(time.Second), SearchTrialDuration: lasting(300 * time.Millisecond)}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", Broadcast: &test}, claims: atOnce(d, 3, d.Claims(v1alpha1.Test{Broadcast: &test}))}
	},
	v1alpha1.MethodCongestionControl: func(r draw) pair {
		d, commands := r.congested()
		test := v1alpha1.CongestionControlTest{Load: v1alpha1.LoadAmount(percent(r.between(700_000, 1_000_000))), TrialDuration: lasting(time.Second)}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", CongestionControl: &test}}
	},
	v1alpha1.MethodHeadOfLineBlocking: func(r draw) pair {
		d, commands := r.congested()
		test := v1alpha1.HeadOfLineBlockingTest{Load: v1alpha1.LoadAmount(percent(r.between(700_000, 1_000_000))), TrialDuration: lasting(time.Second)}
		return pair{device: d, commands: commands, test: v1alpha1.Test{Name: "t", HeadOfLineBlocking: &test}}
	},
	v1alpha1.MethodAddressLearning: func(r draw) pair {
		// Linux learns an address by the frame that it comes in: at any rate.
		test := v1alpha1.AddressLearningTest{Addresses: int32(r.between(50, 400)), Resolution: 100, TestRate: 1000, AgingTime: lasting(time.Second), MaxRate: new(int32(r.between(500, 5000)))}
		return pair{device: r.plain(4), test: v1alpha1.Test{Name: "t", AddressLearning: &test}, claims: func(row *v1alpha1.ResultRow) []truth.Claim {
			if row.AddressLearning == nil {
				return nil
			}
			return []truth.Claim{truthtest.Number("rate that was exceeded", row.AddressLearning.ExceededAt, 0, 0)}
		}}
	},
	v1alpha1.MethodAddressCaching: func(r draw) pair {
		d, table := r.plain(4), int32(r.between(10, 200))
		d.Behaviour.AddressTableSize = &table
		test := v1alpha1.AddressCachingTest{MaxAddresses: 256, Resolution: 1, LearningRate: 2000, AgingTime: lasting(2 * time.Second)}
		return pair{device: d, commands: []string{"ip link set br0 type bridge ageing_time 100"}, prepare: func(m *measurement) { m.limitAddresses(uint32(table)) }, test: v1alpha1.Test{Name: "t", AddressCaching: &test}}
	},
	v1alpha1.MethodGroupCapacity: func(r draw) pair {
		groups, capacity := int32(r.between(5, 60)), r.between(1, 80)
		test := v1alpha1.GroupCapacityTest{InitialGroups: 1, GroupIncrement: int32(r.between(4, 10)), Load: "5%", TrialDuration: lasting(500 * time.Millisecond), JoinTime: new(lasting(500 * time.Millisecond))}
		return pair{
			device: r.plain(3), pattern: &v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: groups, FirstGroup: "225.1.1.1"}}, test: v1alpha1.Test{Name: "t", GroupCapacity: &test},
			commands: []string{
				"nft add table netdev faults",
				"nft add chain netdev faults in { type filter hook ingress device p1 priority 0 ; }",
				fmt.Sprintf("nft add rule netdev faults in meta l4proto udp ip daddr 225.1.1.%d-225.1.1.255 drop", capacity+1),
			},
			claims: func(row *v1alpha1.ResultRow) []truth.Claim {
				s := row.GroupCapacity
				if s == nil {
					return nil
				}
				return []truth.Claim{truthtest.Number("groups", int64(s.Groups), float64(min(capacity, int64(groups))), 0)}
			},
		}
	},
	v1alpha1.MethodGroupJoinDelay: func(r draw) pair {
		test := v1alpha1.GroupJoinDelayTest{Load: "5%", LeadTime: lasting(500 * time.Millisecond), WaitTime: lasting(time.Second), Repetitions: 2, Method: v1alpha1.GroupJoinMethodA}
		// Linux forwards a group once the report is there.
		return r.delayed(v1alpha1.Test{Name: "t", GroupJoinDelay: &test}, 0, nil)
	},
	v1alpha1.MethodGroupLeaveDelay: func(r draw) pair {
		test := v1alpha1.GroupLeaveDelayTest{Load: "5%", LeadTime: lasting(500 * time.Millisecond), WaitTime: lasting(2 * time.Second), Repetitions: 1}
		// The bridge asks twice, and waits for the interval each time.
		interval := r.between(5, 60)
		commands := []string{fmt.Sprintf("ip link set br0 type bridge mcast_last_member_interval %d mcast_last_member_count 2", interval)}
		for _, port := range []string{"p1", "p2", "p3"} {
			commands = append(commands, "bridge link set dev "+port+" fastleave off")
		}
		return r.delayed(v1alpha1.Test{Name: "t", GroupLeaveDelay: &test}, 2*time.Duration(interval)*10*time.Millisecond, commands)
	},
	v1alpha1.MethodReset: func(r draw) pair {
		d, down := r.plain(2), time.Duration(r.between(5e7, 1e9))
		test := v1alpha1.ResetTest{
			Kind: v1alpha1.ResetSoftware, Trigger: v1alpha1.ResetExternal, Method: one(r, v1alpha1.ResetByFrameLoss, v1alpha1.ResetByTimestamp),
			Load: v1alpha1.Load(percent(r.between(50_000, 500_000))), LeadTime: lasting(500 * time.Millisecond), TrialDuration: lasting(3 * time.Second), Repetitions: 1,
		}
		var least, most time.Duration
		return pair{
			device: d, test: v1alpha1.Test{Name: "t", Reset: &test},
			during: func(ctx context.Context, m *measurement) { least, most = m.silence(ctx, down) },
			claims: func(row *v1alpha1.ResultRow) []truth.Claim {
				s := row.Reset
				if s == nil || most == 0 {
					return nil
				}
				share := float64(row.Frames.LineRatePPM) / 1e6
				frame := 2e9 / (share * d.LineRate())
				c := truthtest.Number("reset time, ns", s.AvgNs, 0, frame)
				c.TrueLow, c.TrueHigh = float64(least), float64(most)
				return []truth.Claim{c}
			},
		}
	},
}

// sending is a device of two ports, of which one sends.
func sending(d truth.Device) truth.Device {
	d.Ports = 1
	return d
}

// lossy draws a device that loses frames above its capacity, or at any load.
func (r draw) lossy() (truth.Device, []string) {
	if r.IntN(2) == 0 {
		return r.dropper()
	}
	return r.limiter(2, 100_000, 900_000)
}

// congested draws a device of four ports whose senders share no queue.
func (r draw) congested() (truth.Device, []string) {
	d, commands := r.limiter(4, 700_000, 950_000)
	d.Behaviour.HeadOfLineBlocking, d.Behaviour.BackPressure = new(false), new(false)
	return d, commands
}

// queue is a device whose queue is full at a load.
type queue struct {
	truth.Device
	commands []string
	load     v1alpha1.Load
	// holds is the time that a frame waits in the full queue.
	holds time.Duration
}

func (r draw) queue() queue {
	holds := time.Duration(r.between(5e6, int64(longestQueue)))
	d, commands := limited(r.plain(2), r.between(100_000, 500_000), holds)
	return queue{d, commands, v1alpha1.Load(percent(d.CapacityPPM + r.between(100_000, 400_000))), holds}
}

// filling returns by how many nanoseconds the average latency of a trial is below that of a full queue,
// as a share of line rate fills it: the frames that the first tokens let through do not wait, and those
// after them, until the queue is full, wait for half of its time.
func (q queue) filling(load float64, lasts time.Duration) float64 {
	capacity := float64(q.CapacityPPM) / 1e6
	held := capacity * q.LineRate() * q.holds.Seconds()
	tokens := float64(q.BufferFrames) - held
	early := (tokens + held/2) * load / (load - capacity)
	return float64(q.holds) * early / (capacity*q.LineRate()*lasts.Seconds() + float64(q.BufferFrames))
}

// full is the claim of a latency behind a full queue: frames wait there, and for the kernel
// to begin to send, and for a frame before them.
func (q queue) full(figure string, ns int64) truth.Claim {
	frame := 1e9 / (float64(q.CapacityPPM) / 1e6 * q.LineRate())
	c := truthtest.Number(figure, ns, 0, 0)
	c.TrueLow, c.TrueHigh = float64(q.holds)-2*frame, float64(q.holds)+2*frame+float64(wake)
	return c
}

// delayed makes a pair whose delay of joining or leaving groups is known.
func (r draw) delayed(test v1alpha1.Test, delay time.Duration, commands []string) pair {
	return pair{
		device: r.plain(3), pattern: &v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: int32(r.between(1, 10))}}, test: test, commands: commands, wakes: true,
		claims: func(row *v1alpha1.ResultRow) []truth.Claim {
			s := row.GroupDelay
			if s == nil || s.Unseen > 0 {
				return nil
			}
			c := truthtest.Number("average delay, ns", s.AvgNs, float64(delay), float64(s.ResolutionNs))
			// Each of two timers may end a tick of the kernel early, and late by up to an eighth of its
			// time (its timer wheel).
			c.TrueLow -= min(float64(delay), 2*float64(tick))
			c.TrueHigh += float64(wake) + float64(delay)/8
			return []truth.Claim{c}
		},
	}
}

package method

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// watchedSoak runs a trial of a second at 50 % and returns its intervals.
func watchedSoak(t *testing.T, fail func(int) error) (trials.Outcome, []trials.Interval) {
	t.Helper()
	test := sampled(time.Second, 100*time.Millisecond)
	test.Soak.SamplingInterval = nil
	tester, e, step := labFor(t, test, 400*time.Millisecond, nil)
	r := &resetAt{Engine: e, fail: fail}
	tester.Generator.Generator, tester.Generator.Sampler = r, r
	var all []trials.Interval
	trials.WithIntervals(100*time.Millisecond, traffic.Capabilities{Gaps: true}, func(i trials.Interval) { all = append(all, i) })(tester)
	return mustRun(t, tester, step), all
}

// The intervals of a trial add up to the trial.
func TestIntervalsOfATrial(t *testing.T) {
	out, all := watchedSoak(t, nil)
	if len(all) != 10 {
		t.Fatalf("%d intervals", len(all))
	}
	var intended, sent, received uint64
	for n, i := range all {
		if i.Event.LoadPPM != 500_000 || i.Event.Step.Test.Name != "soak" || i.Length != 100*time.Millisecond || i.At != time.Duration(n+1)*i.Length || !i.Gaps || i.Ordering {
			t.Fatalf("interval %d: %+v", n, i)
		}
		for _, p := range i.Ports {
			intended, sent, received = intended+p.Intended, sent+p.Tx.Sent, received+p.Rx.Received
			if p.Rx.Latency.Count != p.Rx.Received || p.Rx.Latency.MinNs == 0 {
				t.Errorf("interval %d of %v: latency of %d of %d frames", n, p.ClassAt, p.Rx.Latency.Count, p.Rx.Received)
			}
		}
	}
	last := all[len(all)-1]
	if intended != out.Trial.Intended || sent != out.Trial.Sent || received != out.Trial.Received || sent == 0 {
		t.Errorf("%d intended, %d sent, %d received; the trial has %d, %d, %d", intended, sent, received, out.Trial.Intended, out.Trial.Sent, out.Trial.Received)
	}
	if len(last.Ports) != 4 || last.Ports[0].Class != "unicast" || last.Ports[0].Port != "p1" || 4*last.Ports[0].TxTotal.Sent != sent {
		t.Errorf("the last interval: %+v", last.Ports)
	}
}

// An interval that cannot be sampled is part of the next one, and the trial goes on.
func TestAnIntervalThatIsNotSampled(t *testing.T) {
	out, all := watchedSoak(t, func(sample int) error {
		if sample == 5 {
			return errors.New("connection lost")
		}
		return nil
	})
	var sent uint64
	longest := time.Duration(0)
	for _, i := range all {
		longest = max(longest, i.Length)
		for _, p := range i.Ports {
			sent += p.Tx.Sent
		}
	}
	if out.Trials != 1 || len(all) != 8 || longest != 300*time.Millisecond || sent != out.Trial.Sent {
		t.Errorf("%d trials, %d intervals up to %v with %d of %d frames", out.Trials, len(all), longest, sent, out.Trial.Sent)
	}
}

// countingDevice is a generator whose samples have a device, and its router.
type countingDevice struct {
	*sim.Engine
	memory, routes int64
}

func (c *countingDevice) Sample(ctx context.Context, sampling traffic.Sampling, take func(traffic.Sample)) error {
	return c.Engine.Sample(ctx, sampling, func(s traffic.Sample) {
		n := uint64(s.Interval)
		s.Device = &traffic.DeviceSample{
			Interfaces: map[string]traffic.InterfaceSample{"p2": {TxFrames: 10 * n}, "p1": {RxFrames: n * n}},
			Processors: &traffic.ProcessorSample{Busy: time.Duration(n), Total: time.Duration(4 * n)},
		}
		take(s)
	})
}

func (c *countingDevice) Restart(context.Context) error { return nil }
func (c *countingDevice) Ended() string                 { return "" }
func (c *countingDevice) Memory() (int64, bool)         { c.memory++; return c.memory, c.memory != 2 }
func (c *countingDevice) Routes() (int64, bool)         { c.routes += 100; return c.routes, c.routes != 300 }

// What the device counted belongs to the interval in which it did, and what is not known at
// its end is absent.
func TestIntervalsOfADevice(t *testing.T) {
	test := sampled(time.Second, 100*time.Millisecond)
	test.Soak.SamplingInterval = nil
	tester, e, step := labFor(t, test, 400*time.Millisecond, nil)
	d := &countingDevice{Engine: e}
	tester.Generator.Generator, tester.Generator.Sampler, tester.Device.Router = d, d, d
	var all []trials.DeviceInterval
	trials.WithIntervals(100*time.Millisecond, traffic.Capabilities{}, func(i trials.Interval) { all = append(all, i.Device) })(tester)
	mustRun(t, tester, step)
	if len(all) != 10 {
		t.Fatalf("%d intervals", len(all))
	}
	for n, got := range all {
		want := trials.DeviceInterval{
			Interfaces: []trials.InterfaceInterval{
				{Port: "p1", InterfaceSample: traffic.InterfaceSample{RxFrames: uint64(2*n + 1)}}, {Port: "p2", InterfaceSample: traffic.InterfaceSample{TxFrames: 10}},
			},
			Processors: &traffic.ProcessorSample{Busy: 1, Total: 4},
		}
		if n != 1 {
			want.Memory = new(int64(n + 1))
		}
		if n != 2 {
			want.Routes = new(int64(100 * (n + 1)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("interval %d: %s", n, diff)
		}
	}
}

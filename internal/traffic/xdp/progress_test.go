package xdp

import (
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
)

// numbers from first to last, without some.
func numbers(first, last uint64, without ...uint64) (all []uint64) {
	for n := first; n <= last; n++ {
		if !slices.Contains(without, n) {
			all = append(all, n)
		}
	}
	return all
}

// Numbers are missing below one that was overtaken, or before the window of 16,384.
func TestGaps(t *testing.T) {
	b := newBench(t)
	for name, tc := range map[string]struct {
		received      []uint64
		overtaken     uint64
		next, missing uint64
	}{
		"nothing":                         {nil, 0, 0, 0},
		"all":                             {numbers(0, 100), 100, 101, 0},
		"a gap that may be filled":        {numbers(0, 100, 50), 50, 101, 0},
		"a gap that was overtaken":        {numbers(0, 100, 50), 51, 101, 1},
		"gaps on both sides":              {numbers(0, 100, 5, 31, 32, 33, 64, 99), 64, 101, 4},
		"the end of a block":              {numbers(0, 100, 31), 32, 101, 1},
		"the beginning is missing":        {numbers(10, 20), 10, 21, 10},
		"reordered":                       {[]uint64{0, 2, 1, 4, 3, 6, 5, 7}, 7, 8, 0},
		"with copies":                     {append(numbers(0, 70, 3), 5, 5, 70), 70, 71, 1},
		"out of the window":               {[]uint64{0, 20_000}, 0, 20_001, 20_000/32*32 - 16_384 + 32 - 1},
		"out of the window and overtaken": {[]uint64{0, 20_000}, 20_000, 20_001, 19_999},
		"turns of the window":             {[]uint64{0, 16_384, 16_385}, 16_385, 16_386, 16_383},
	} {
		b.epoch(1000)
		b.sequence(tc.received...)
		next, missing, err := b.port.receive.gaps(0, tc.overtaken)
		if err != nil || next != tc.next || missing != tc.missing {
			t.Errorf("%s: next %d, %d missing, error %v; want %d and %d", name, next, missing, err, tc.next, tc.missing)
		}
	}
}

// follow asks for the progress of a trial until it says stop, or sending has ended.
func follow(t *testing.T, e *Engine, age time.Duration, stop func(traffic.Progress) bool) (last traffic.Progress) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- e.Wait(t.Context()) }()
	for ; ; runtime.Gosched() {
		p, err := e.Progress(t.Context(), age)
		if err != nil {
			t.Fatal(err)
		}
		if p.Lost < last.Lost || p.Expected < last.Expected || p.Received < last.Received || p.Received > p.Expected {
			t.Fatalf("%+v after %+v", p, last)
		}
		last = p
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return last
		default:
		}
		if stop(p) {
			if err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-ended
			return last
		}
		time.Sleep(time.Millisecond) // or the senders have no processor
	}
}

// A device that loses one in 1,000 frames is found out while the trial runs. What the
// report calls lost never comes back, and what was cut off was not intended.
func TestProgressFindsLoss(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.dropper(1000)
	e := bed.open(d.ports(nil, nil)...)
	if _, err := e.Progress(t.Context(), time.Second); err == nil {
		t.Error("progress without a trial")
	}
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), traffic.Trial{
		Loads:    map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 20_000, PerNanos: 1e9}}},
		Duration: time.Minute,
	}); err != nil {
		t.Fatal(err)
	}
	p := follow(t, e, 10*time.Millisecond, func(p traffic.Progress) bool { return p.Lost >= 3 })
	var m traffic.Measurement
	for begin := time.Now(); time.Since(begin) < patience; runtime.Gosched() {
		var err error
		if m, err = e.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if received(m)+d.lost() == sent(m) {
			break
		}
	}
	tx, lost := m.Tx[1], sent(m)-received(m)
	if lost != d.lost() || p.Lost < 3 || p.Lost > lost {
		t.Errorf("%+v, then %d lost, of which the device dropped %d", p, lost, d.lost())
	}
	if m.TxTime >= time.Minute || tx.Intended > tx.Sent+tx.Sent/10 || tx.Sent > tx.Intended+1000 {
		t.Errorf("ended after %s, %+v", m.TxTime, tx)
	}
}

// Devices that reorder, delay and copy frames lose none, however long one looks.
func TestProgressOfOddDevices(t *testing.T) {
	for name, with := range map[string]settings{
		"swaps places":    {"swaps_per_10000": uint32(500)},
		"delays some":     {"late_every": uint32(1000), "late_by": uint32(500)},
		"copies some":     {"copy_every": uint32(7)},
		"permutes copies": {"copy_every": uint32(7), "permute": uint32(1)},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "delays some" && name != "permutes copies" {
				longtest.Skip(t, "other disorder")
			}
			bed := newBed(t)
			d := bed.device()
			d.disturb(with)
			e := bed.open(d.ports(nil, nil)...)
			if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
				t.Fatal(err)
			}
			// 500 frames at 20,000 a second are 25 ms.
			if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 20_000, PerNanos: 1e9}, Frames: 10_000}}}); err != nil {
				t.Fatal(err)
			}
			p := follow(t, e, 250*time.Millisecond, func(p traffic.Progress) bool { return p.Lost > 0 })
			for begin := time.Now(); !p.Back() && time.Since(begin) < patience; runtime.Gosched() {
				var err error
				if p, err = e.Progress(t.Context(), 250*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			if p != (traffic.Progress{Expected: 10_000, Received: 10_000}) {
				t.Errorf("%+v, want all 10,000 back and none lost", p)
			}
		})
	}
}

// A search ends the trials that lose a frame and runs those that lose none in full,
// also where frames come late and out of order.
func TestASearchEndsTrialsThatLose(t *testing.T) {
	for name, tc := range map[string]struct {
		with  settings
		loses bool
		trial time.Duration
	}{
		// The device holds a frame until 300 more have come: in each of the trials they do.
		"delays and reorders": {settings{"late_every": uint32(1000), "late_by": uint32(300)}, false, time.Second},
		"loses one in 5,000":  {settings{"detour_every": uint32(5000)}, true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if !tc.loses {
				longtest.Skip(t, "TestProgressOfOddDevices, with devices that delay and reorder")
			}
			bed := newBed(t)
			d := bed.device()
			d.disturb(tc.with)
			d.answers()
			e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)
			test := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Search: v1alpha1.SearchBinary, Resolution: "25%", MinLoad: "50%",
			}}
			test.Throughput.TrialDuration.Duration = tc.trial
			test.Throughput.SearchTrialDuration.Duration = tc.trial
			var all []*trials.Trial
			lab, step := bed.lab(e, test, func(event trials.Event) {
				if event.Finished != nil {
					all = append(all, event.Finished)
				}
			})
			out, err := method.Run(t.Context(), lab, step)
			if err != nil {
				t.Fatal(err)
			}
			if (out.LoadPPM == 0) != tc.loses {
				t.Errorf("found %+v", out)
			}
			ended := 0
			for i, trial := range all {
				lowest := trial.LoadPPM == step.Search.MinPPM
				// A trial is run again in full where the tester was not steady enough to tell
				// that it was the device which lost so few frames.
				again := slices.ContainsFunc(all[:i], func(e *trials.Trial) bool { return e.Ended > 0 && e.LoadPPM == trial.LoadPPM })
				if trial.Ended > 0 {
					ended++
				}
				if early := trial.Ended > 0; early != (trial.Lost > 0 && !lowest) && !again {
					t.Errorf("lost %d of %d frames at %d ppm, ended after %s, sent for %s", trial.Lost, trial.Sent, trial.LoadPPM, trial.Ended, trial.TxTime)
				}
				if trial.Ended >= trial.Duration || trial.Ended == 0 && trial.TxTime < trial.Duration {
					t.Errorf("a trial of %s ended after %s and sent for %s", trial.Duration, trial.Ended, trial.TxTime)
				}
			}
			if tc.loses != (ended > 0) {
				t.Errorf("%d all ended early", ended)
			}
		})
	}
}

package xdp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// The interfaces of a device in another namespace count what the tester sent and received,
// and the time of its processors is known while a trial runs.
func TestDeviceSample(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	bed := newBed(t)
	d := bed.device()
	d.disturb(nil)
	for _, ns := range []func(func()){func(f func()) { d.in(d.ns, f) }, func(f func()) { bed.in(bed.tester, f) }} {
		// What the kernel sends by itself would be among the frames.
		ns(func() { d.sysctl("net/ipv6/conf/all/disable_ipv6", "1") })
	}
	e, err := New(Options{Host: "test", Ports: d.ports(nil, nil), DeviceProcessors: usable[len(usable)-1:], Together: "one processor is enough"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bed.plugged()
	streams := []traffic.Stream{stream(1, e)}
	for _, frames := range []uint64{1000, 500} {
		m := bed.run(e, streams, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: frames}}}, arrived)
		var got *traffic.DeviceSample
		if err := e.netns.Do(func() error { got = e.trial.device.since(); return nil }); err != nil {
			t.Fatal(err)
		}
		p1, p2 := got.Interfaces["p1"], got.Interfaces["p2"]
		if sent(m) != frames || received(m) != frames || p1.RxFrames != frames || p2.TxFrames != frames {
			t.Errorf("sent %d, received %d, and the device has %+v", sent(m), received(m), got.Interfaces)
		}
		if len(got.Interfaces) != 2 || p1.TxFrames != 0 || p2.RxFrames != 0 || p1.RxDropped+p1.RxErrors+p2.TxErrors != 0 {
			t.Errorf("%+v", got.Interfaces)
		}
	}
	load := map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}}}
	if err := e.Start(t.Context(), traffic.Trial{Duration: time.Minute, Loads: load}); err != nil {
		t.Fatal(err)
	}
	seen := traffic.ProcessorSample{}
	for seen.Total == 0 {
		sample, err := traffictest.PortsNow(t, e)
		if err != nil || len(sample.Device.Interfaces) != 2 || sample.Device.Processors == nil {
			t.Fatalf("%+v, %v", sample.Device, err)
		}
		if seen = *sample.Device.Processors; seen.Busy > seen.Total || seen.SoftInterrupts > seen.Busy {
			t.Fatalf("%+v", seen)
		}
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Idle time, and time that others have to be waited for, is not busy.
func TestTimeOfTheDevicesProcessors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stat")
	const text = `cpu  111 0 0 0 0 0 0 0 0 0
cpu0 1 2 3 4 5 6 7 8 9 10
cpu1 10 20 30 40 50 60 70 80 90 100
cpu10 100 200 300 400 500 600 700 800 900 1000
intr 5 0 0
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := traffic.ProcessorSample{Busy: 27 * machine.Tick, SoftInterrupts: 7 * machine.Tick, Total: 36 * machine.Tick}
	if got := spentBy([]int{0}, file); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = traffic.ProcessorSample{Busy: 2970 * machine.Tick, SoftInterrupts: 770 * machine.Tick, Total: 3960 * machine.Tick}
	if got := spentBy([]int{1, 10}, file); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := spentBy([]int{0, 7}, file); got != nil {
		t.Errorf("a processor is not there, and there is %+v", got)
	}
}

// Ports that are joined with each other, or with a machine elsewhere, show no device.
func TestNoDeviceIsSampled(t *testing.T) {
	joined := newBed(t).backToBack()
	joined.options.Together = "as if there were a device"
	bed := newBed(t)
	for name, e := range map[string]*Engine{"back to back": joined, "on no machine of the tester": bed.open(bed.device().ports(nil, nil)...)} {
		var s seen
		if err := e.netns.Do(func() error { s = e.ports.seeDevice(e.netlink, e.options); return nil }); err != nil {
			t.Fatal(err)
		}
		if got := s.since(); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

package xdp

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
)

// A slow device with a processor of its own loses what it cannot take in, though the
// tester never sends more late frames at once than every input queue holds, and its own
// counters have every frame that its programs never saw.
func TestDeviceWithItsOwnProcessorIsTheLimit(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if len(usable) < 2 {
		t.Skip("skipped: needs two processors, one for the tester and one for the device")
	}
	bed := newBed(t)
	d := bed.device()
	own := usable[len(usable)-1]
	d.disturb(settings{"readings": uint32(1000)})
	d.in(d.ns, func() {
		if err := netif.Steer("d1", own); err != nil {
			t.Fatal(err)
		}
		// What the kernel sends by itself would be among the dropped frames.
		d.sysctl("net/ipv6/conf/all/disable_ipv6", "1")
	})
	bed.in(bed.tester, func() { d.sysctl("net/ipv6/conf/all/disable_ipv6", "1") })
	e, err := New(Options{Host: "test", Ports: d.ports(nil, nil), DeviceProcessors: []int{own}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bed.plugged()
	streams := []traffic.Stream{stream(1, e)}
	var rate int64 = 20_000
	for begin := time.Now(); time.Since(begin) < 3*patience; {
		before := d.faults().Frames
		trial := traffic.Trial{Duration: time.Second, Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: rate, PerNanos: 1e9}}}}
		var missing uint64
		m := bed.run(e, streams, trial, func(m traffic.Measurement) bool {
			missing = sent(m) - (d.faults().Frames - before)
			return missing == 0 || slices.Contains(m.Notes, dropped(missing))
		})
		if missing > 0 && !slices.Contains(m.Notes, dropped(missing)) {
			t.Fatalf("sent %d, of which the device saw %d fewer: notes %v do not say that its counters have them", sent(m), missing, m.Notes)
		}
		for _, s := range e.trial.senders {
			if s.processor == own {
				t.Fatalf("the tester sends on processor %d, which is the device's", own)
			}
		}
		onSchedule := m.Tx[1].Sent == m.Tx[1].Intended
		t.Logf("%d frames/s: sent all %v, lag %v, most in a row %d, dropped by the device %d", rate, onSchedule, m.Pacing["p1"].MaxLag, m.Pacing["p1"].MaxBurst, missing)
		if m.Pacing["p1"].MaxBurst > catchUpTogether {
			t.Errorf("%d late frames left without any time between them, want %d at most", m.Pacing["p1"].MaxBurst, catchUpTogether)
		}
		if missing > 0 {
			return
		}
		rate += rate / 4
	}
	t.Error("the device dropped no frame")
}

func dropped(frames uint64) traffic.Note {
	return traffic.Note{Kind: traffic.NoteDeviceDropped, Text: fmt.Sprintf("the device's interface at p1 counted %s frames that it received and dropped", traffic.Grouped(frames))}
}

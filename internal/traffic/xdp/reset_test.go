package xdp

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
)

// arrivedAtDevice returns the number of frames that have come to d1.
func (d *device) arrivedAtDevice() uint64 {
	d.Helper()
	l, err := d.nl.LinkByName("d1")
	if err != nil {
		d.Fatal(err)
	}
	return l.Attrs().Statistics.RxPackets
}

// moment is the time at which something was done to the device: between two readings of the
// clock, and of the number of frames that had come.
type moment struct {
	from, to           time.Time
	fromCount, toCount uint64
}

func (d *device) At(do func(netlink.Link) error, name string) moment {
	d.Helper()
	l, err := d.nl.LinkByName(name)
	if err != nil {
		d.Fatal(err)
	}
	m := moment{fromCount: d.arrivedAtDevice(), from: time.Now()}
	if err := do(l); err != nil {
		d.Fatal(err)
	}
	m.to, m.toCount = time.Now(), d.arrivedAtDevice()
	return m
}

// pollWeight is the number of frames that the kernel takes from a veth at once before it
// counts them (NAPI_POLL_WEIGHT).
const pollWeight = 64

// A Linux bridge that is set down and up again from outside, when the lab asks for it, was out
// of operation for as long as the lost frames show.
func TestResetOfABridge(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.gro("d1", true)
	e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)

	// 100M and 512 bytes are 23,496.2 frames/s: a fifth of it is a frame every 212.8 us.
	test := v1alpha1.Test{Name: "reset", Reset: &v1alpha1.ResetTest{Kind: v1alpha1.ResetSoftware, Load: "20%"}}
	test.Reset.LeadTime.Duration, test.Reset.TrialDuration.Duration = 300*time.Millisecond, 2*time.Second
	const spacing = 212_800 * time.Nanosecond
	const outage = 2000 // frames
	var down, up moment
	asked := 0
	lab, step := bed.lab(e, test, func(event trials.Event) {
		if event.Ask == "" {
			return
		}
		asked++
		down = d.At(d.nl.LinkSetDown, "br")
		for begin := time.Now(); d.arrivedAtDevice() < down.toCount+outage && time.Since(begin) < patience; runtime.Gosched() {
		}
		up = d.At(d.nl.LinkSetUp, "br")
	})
	out, err := method.Run(t.Context(), lab, step)
	if err != nil {
		t.Fatal(err)
	}
	if asked != 1 || out.Invalid != "" || out.Message != "" {
		t.Fatalf("asked %d times, invalid %q, message %q", asked, out.Invalid, out.Message)
	}
	var row v1alpha1.ResultRow
	out.Fill(&row)
	// What came to the bridge while it was down was lost, and nothing else.
	lost, least, most := out.Trial.Lost, up.fromCount-down.toCount, up.toCount-down.fromCount
	if lost+pollWeight < least || lost > most+pollWeight || least < outage {
		t.Errorf("lost %d frames, and %d to %d came to the bridge while it was down", lost, least, most)
	}
	// The resulting time differs from the time of the clock by as much as the sender was
	// off its pace, which the arrived frames show, and by what cannot be distinguished.
	took, shortest, longest := time.Duration(row.Reset.AvgNs), up.from.Sub(down.to), up.to.Sub(down.from)
	pace := (time.Duration(least)*spacing - shortest).Abs()
	slack := pace + (longest - shortest) + time.Duration(most-least+2*pollWeight)*spacing
	t.Logf("by the lost frames %s, by the clock %s to %s; the sender was %s off its pace, the slack is %s", took, shortest, longest, pace, slack)
	if took < shortest-slack || took > longest+slack {
		t.Errorf("the reset took %s by the lost frames, and %s to %s by the clock, more than %s apart", took, shortest, longest, slack)
	}
	// The longest time between two frames that came is the time of the outage. Frames that
	// the bridge had forwarded may arrive after it went down.
	stamped := time.Duration(*row.Reset.TimestampAvgNs)
	t.Logf("by time stamps %s", stamped)
	if stamped < shortest-slack || stamped > longest+slack {
		t.Errorf("the reset took %s by time stamps, and %s to %s by the clock", stamped, shortest, longest)
	}
	if r := row.Reset; r.Kind != v1alpha1.ResetSoftware || r.Trigger != v1alpha1.ResetExternal || r.AvgLost != int64(lost) {
		t.Errorf("%+v", r)
	}
}

// A reset that takes the link of the sending port down took as long, by time stamps, as
// the clock says, and the tester is not blamed. Meanwhile a veth loses the frames, or
// refuses them, so that they are sent later and none is lost.
func TestResetThatTakesTheLinkDown(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.gro("d1", true)
	e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)
	test := v1alpha1.Test{Name: "reset", Reset: &v1alpha1.ResetTest{Kind: v1alpha1.ResetHardware, Method: v1alpha1.ResetByTimestamp, Load: "20%"}}
	test.Reset.LeadTime.Duration, test.Reset.TrialDuration.Duration = 300*time.Millisecond, 2*time.Second
	var down, up moment
	lab, step := bed.lab(e, test, func(event trials.Event) {
		if event.Ask == "" {
			return
		}
		down = d.At(d.nl.LinkSetDown, "d1")
		time.Sleep(500 * time.Millisecond) // the outage
		up = d.At(d.nl.LinkSetUp, "d1")
	})
	out, err := method.Run(t.Context(), lab, step)
	if err != nil {
		t.Fatal(err)
	}
	if out.Invalid != "" || out.Message != "" || out.Limit != nil || !out.ByTime || !out.Trial.Disturbed() {
		t.Fatalf("invalid %q, message %q, limit %v, notes %v", out.Invalid, out.Message, out.Limit, out.Trial.Notes)
	}
	var row v1alpha1.ResultRow
	out.Fill(&row)
	took, shortest := time.Duration(row.Reset.AvgNs), up.from.Sub(down.to)
	t.Logf("by time stamps %s, by lost frames %s, by the clock %s to %s; sent %d of %d, lost %d",
		took, time.Duration(*row.Reset.FrameLossAvgNs), shortest, up.to.Sub(down.from), out.Trial.Sent, out.Trial.Intended, out.Trial.Lost)
	// A port of a bridge forwards some time after its link is up, and frames that were on
	// their way arrive after it went down.
	const inFlight = 2 * pollWeight * 212_800 * time.Nanosecond
	if took < shortest-inFlight || row.Reset.Method != v1alpha1.ResetByTimestamp {
		t.Errorf("the reset took %s by time stamps, and at least %s by the clock", took, shortest)
	}
}

// If the bridge is not reset, the row reports that and is invalid.
func TestAResetThatDidNotHappen(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.gro("d1", true)
	e := bed.open(d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})...)
	test := v1alpha1.Test{Name: "reset", Reset: &v1alpha1.ResetTest{Load: "5%"}}
	test.Reset.LeadTime.Duration, test.Reset.TrialDuration.Duration = 10*time.Millisecond, 300*time.Millisecond
	lab, step := bed.lab(e, test, nil)
	out, err := method.Run(t.Context(), lab, step)
	if err != nil {
		t.Fatal(err)
	}
	if out.Fill != nil || out.Invalid != "no frame was lost in 300ms: the device was not reset, or it forwards during a reset of this kind" {
		t.Errorf("invalid %q, lost %d", out.Invalid, out.Trial.Lost)
	}
}

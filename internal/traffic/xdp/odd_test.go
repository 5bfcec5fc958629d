package xdp

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

// oddRuns returns the number of times each odd device is measured: what it does is found every
// time.
func oddRuns() int {
	if testing.Short() {
		return 1
	}
	return 20
}

// odd is a device with a rare fault.
type odd struct {
	size   int
	load   traffic.Load
	device func(*device)
	// want returns what a run has to find of what the device did in it.
	want func(dutFaults) found
	// least reports whether the device did enough in a run: a run in which it does nothing
	// shows nothing.
	least func(dutFaults) bool
	// order reports whether reordered frames came as far behind as they should; nil if
	// there are none.
	order func(traffic.Order) bool
}

// found contains what a measurement found in a device.
type found struct {
	lost, duplicate, reordered, late uint64
	damage                           traffic.Damage
}

// foundIn sums up a measurement of stream 1 from p1 to p2.
func foundIn(m traffic.Measurement) found {
	rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]
	return found{m.Tx[1].Sent - rx.Received, rx.Duplicate, rx.Reordered, rx.Late, m.Damaged["p2"]}
}

// Rare faults of a device are found exactly, in every run: none is taken for
// the tester's, and no frame that is missing or damaged passes as received.
func TestOddDevices(t *testing.T) {
	every := func(frames int64, perSecond int64) traffic.Load {
		return traffic.Load{Rate: traffic.Rate{Frames: perSecond, PerNanos: 1e9}, Frames: uint64(frames)}
	}
	inXDP := func(with settings) func(*device) { return func(d *device) { d.inXDP(with) } }
	inStack := func(with settings) func(*device) { return func(d *device) { d.disturb(with) } }
	for name, o := range map[string]odd{
		"loses 1 in 1,000,000": {
			size: 64, load: every(1_000_000, 2_000_000), device: inXDP(settings{"drop_every": uint32(1_000_000)}),
			want:  func(f dutFaults) found { return found{lost: f.Dropped + f.Refused} },
			least: func(f dutFaults) bool { return f.Dropped == 1 },
		},
		"duplicates 1 in 10,000": {
			size: 64, load: every(50_000, 100_000), device: inStack(settings{"copy_every": uint32(10_000)}),
			want:  func(f dutFaults) found { return found{duplicate: f.Copied} },
			least: func(f dutFaults) bool { return f.Copied == 5 },
		},
		"corrupts one byte in 1 of 100,000": {
			size: 64, load: every(300_000, 1_000_000), device: inXDP(settings{"corrupt_every": uint32(100_000)}),
			want: func(f dutFaults) found {
				return found{lost: f.Corrupted + f.Refused, damage: traffic.Damage{Corrupted: f.Corrupted}}
			},
			least: func(f dutFaults) bool { return f.Corrupted == 3 },
		},
		"truncates 1 in 1,000": {
			size: 512, load: every(20_000, 100_000), device: inXDP(settings{"truncate_every": uint32(1000), "truncate_to": uint32(200)}),
			want: func(f dutFaults) found {
				return found{lost: f.Truncated + f.Refused, damage: traffic.Damage{Truncated: f.Truncated}}
			},
			least: func(f dutFaults) bool { return f.Truncated == 20 },
		},
		"delays 1 in 1,000 by 5 ms": {
			// The last frame with a delay has 500 behind it, which take as long.
			size: 64, load: every(20_500, 100_000), device: func(d *device) { d.detour(1000, 5*time.Millisecond) },
			want:  func(f dutFaults) found { return found{reordered: f.Detoured} },
			least: func(f dutFaults) bool { return f.Detoured == 20 },
			order: func(o traffic.Order) bool {
				for i := range o.Extents {
					if _, most := traffic.OrderBounds(i); most < overtakers {
						return false
					}
				}
				return o.ExtentMax >= overtakers && o.LateMaxNs >= uint64(4*time.Millisecond) && o.Beyond == 0
			},
		},
		"reorders by 3": {
			size: 64, load: every(20_000, 100_000), device: inStack(settings{"late_every": uint32(1000), "late_by": uint32(3)}),
			want:  func(f dutFaults) found { return found{reordered: 20} },
			least: func(f dutFaults) bool { return f.Moved > 0 },
			order: func(o traffic.Order) bool {
				return o.ExtentMax == 3 && o.DegreeMax == 3 && o.Extents[3] == 20 && o.Reordered(3) == 20 && o.Beyond == 0
			},
		},
		"stalls 50 ms every 10 s": {
			size: 64, load: every(20_000, 100_000), device: inXDP(settings{"stall_after_ns": uint64(100 * time.Millisecond), "stall_ns": uint64(50 * time.Millisecond), "stall_period_ns": uint64(10 * time.Second)}),
			want:  func(f dutFaults) found { return found{lost: f.Dropped + f.Refused} },
			least: func(f dutFaults) bool { return f.Dropped > 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bed := newBed(t)
			d := bed.device()
			o.device(d)
			e := bed.open(d.ports(nil, nil)...)
			s := stream(1, e)
			s.FrameSize = o.size
			if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
				t.Fatal(err)
			}
			for run := range oddRuns() {
				d.beginRun()
				dropped := bed.dropped()
				var did dutFaults
				m := bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: o.load}}, func(m traffic.Measurement) bool {
					did = d.faults()
					return did.Frames == m.Tx[1].Sent && foundIn(m) == o.want(did)
				})
				want := o.want(did)
				if full := bed.dropped() - dropped; full > 0 && want.lost == 0 {
					t.Logf("run %d: the ring of the tester was full for %d frames", run, full)
					want.lost += full // the device's programs do not see this in the kernel's stack
					if m.Dropped["p2"] != full {
						t.Errorf("run %d: dropped %v, want %d at p2", run, m.Dropped, full)
					}
				}
				if got := foundIn(m); got != want {
					t.Errorf("run %d: found %+v, want %+v of %+v", run, got, want, did)
				}
				if order := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Order; o.order == nil && order.ExtentMax != 0 || o.order != nil && !o.order(order) {
					t.Errorf("run %d: reordered frames came behind by %+v", run, order)
				}
				if m.Tx[1].Sent != o.load.Frames || !o.least(did) {
					t.Errorf("run %d: sent %d, and the device did only %+v", run, m.Tx[1].Sent, did)
				}
				for _, n := range m.Notes {
					if n.Kind == traffic.NoteReceiver || n.Kind == traffic.NoteUnsent {
						t.Errorf("run %d: the tester is blamed: %s", run, n.Text)
					}
				}
			}
		})
	}
}

// beginRun makes the device forget what it did so far.
func (d *device) beginRun() {
	d.Helper()
	if err := d.objects.Counts.Put(uint32(0), &dutFaults{}); err != nil {
		d.Fatal(err)
	}
}

// overtakers is the least number of frames that overtake one that the device delays, also when
// the tester pauses.
const overtakers = 100

// passed returns the number of frames that came to the device in the run.
func (d *device) passed() uint64 {
	var f dutFaults
	if err := d.objects.Counts.Lookup(uint32(0), &f); err != nil {
		return 0
	}
	return f.Frames
}

// detour makes the device forward through the kernel's stack, and send every n-th
// frame so much later than the others.
func (d *device) detour(n uint32, delay time.Duration) {
	d.Helper()
	v := netlink.NewVeth(netlink.LinkAttrs{Name: "w1", MTU: 1500})
	v.PeerName = "w2"
	if err := d.nl.LinkAdd(v); err != nil {
		d.Fatal(err)
	}
	w1, w2 := d.up(d.nl, "w1"), d.up(d.nl, "w2")
	d.disturb(settings{"detour_every": n, "detour_ifindex": uint32(w1.Attrs().Index)})
	var in, out *os.File
	d.in(d.ns, func() {
		in, out = d.socket(w2, unix.ETH_P_ALL), d.socket(d.d2, 0)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, err := in.Read(b)
			if err != nil {
				return // closed
			}
			data := slices.Clone(b[:n])
			sig, ok := frametest.ParseSignature(data[min(n, 42):])
			if !ok {
				continue // the kernel's own
			}
			behind := sig.Sequence + 1 + overtakers
			var release func()
			release = func() {
				if d.passed() < behind && d.Context().Err() == nil {
					time.AfterFunc(time.Millisecond, release) // the tester had a pause
					return
				}
				out.Write(data) // a frame that was lost here would be missed by the test
			}
			time.AfterFunc(delay, release)
		}
	}()
	d.Cleanup(func() { in.Close(); <-done; out.Close() })
}

// socket is a packet socket at an interface of the present namespace.
func (d *device) socket(l netlink.Link, protocol uint16) *os.File {
	d.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		d.Fatal(err)
	}
	at := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, protocol))
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: l.Attrs().Index, Protocol: at}); err != nil {
		d.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "packet socket at "+l.Attrs().Name)
}

// A bridge that stops learning floods frames to a port that should not get them:
// they are counted exactly, and none is lost where it belongs.
func TestDeviceStopsLearning(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.third()
	for _, name := range []string{"d1", "d2", "d3"} {
		d.gro(name, true)
	}
	e := bed.open(append(d.ports(nil, nil), Port{Name: "p3", Interface: "v3"})...)
	there, back := stream(1, e), stream(2, e)
	back.TxPort, back.RxPorts = "p2", []string{"p1"}
	left, right := traffic.MAC{0x02, 0, 0x5e, 1, 2, 3}, traffic.MAC{0x06, 0, 0x5e, 1, 2, 3}
	ethernet(&there, left, right, 1)
	ethernet(&back, right, left, 1)
	if err := e.Configure(t.Context(), []traffic.Stream{there, back}); err != nil {
		t.Fatal(err)
	}
	load := traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 2e4}, Frames: 1000}
	// Both stations are learnt once, and then not any more: each run forgets them.
	bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, arrived)
	learning := func(on bool) {
		t.Helper()
		for _, l := range []netlink.Link{d.d1, d.d2} {
			if err := d.nl.LinkSetLearning(l, on); err != nil {
				t.Fatal(err)
			}
		}
	}
	for run := range oddRuns() {
		stops := run%2 == 1
		learning(!stops)
		if stops {
			d.Forget(d.d1, left)
			d.Forget(d.d2, right)
		} else {
			bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, arrived)
		}
		want := map[bool]uint64{true: 2 * load.Frames}[stops]
		m := bed.again(e, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, func(m traffic.Measurement) bool {
			return arrived(m) && m.Misdelivered["p3"] == want
		})
		if !arrived(m) || m.Misdelivered["p3"] != want || len(m.Dropped) > 0 {
			t.Errorf("run %d: sent %d, received %d, misdelivered %v, dropped %v: want %d at p3", run, sent(m), received(m), m.Misdelivered, m.Dropped, want)
		}
	}
}

// Forget removes a station that the bridge learnt.
func (d *device) Forget(behind netlink.Link, station traffic.MAC) {
	d.Helper()
	err := d.nl.NeighDel(&netlink.Neigh{
		LinkIndex: behind.Attrs().Index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_MASTER, HardwareAddr: station[:],
	})
	if err != nil && !errors.Is(err, unix.ENOENT) {
		d.Fatal(err)
	}
}

package xdp

import (
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/membership"
	"nodrop.dev/nodrop/internal/traffic/traffictest"
)

// set changes attributes of the device's bridge; the kernel applies those of one
// request in an order of its own.
func (d *device) set(attributes map[int][]byte) {
	d.Helper()
	br, err := d.nl.LinkByName("br")
	if err != nil {
		d.Fatal(err)
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(br.Attrs().Index)
	request.AddData(message)
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(nl.IFLA_INFO_DATA, nil)
	for key, value := range attributes {
		data.AddRtAttr(key, value)
	}
	request.AddData(info)
	d.in(d.ns, func() {
		if _, err := request.Execute(unix.NETLINK_ROUTE, 0); err != nil {
			d.Fatal(err)
		}
	})
}

// hundredths is a bridge's time.
func hundredths(d time.Duration) []byte {
	return nl.Uint64Attr(uint64(d / (10 * time.Millisecond)))
}

// snooper makes the device a bridge of three ports that knows who is a member of
// which group, and asks often: a member that does not answer is forgotten.
func (d *device) snooper(igmp, mld byte) {
	d.Helper()
	d.bridge()
	d.third()
	for _, name := range []string{"d1", "d2", "d3"} {
		d.gro(name, true)
	}
	d.set(map[int][]byte{
		nl.IFLA_BR_MCAST_SNOOPING: {1}, nl.IFLA_BR_MCAST_HASH_MAX: nl.Uint32Attr(16384), nl.IFLA_BR_MCAST_IGMP_VERSION: {igmp}, nl.IFLA_BR_MCAST_MLD_VERSION: {mld},
		nl.IFLA_BR_MCAST_LAST_MEMBER_CNT: nl.Uint32Attr(2), nl.IFLA_BR_MCAST_LAST_MEMBER_INTVL: hundredths(20 * time.Millisecond * pace),
		nl.IFLA_BR_MCAST_MEMBERSHIP_INTVL: hundredths(3 * time.Second * pace), nl.IFLA_BR_MCAST_QUERY_INTVL: hundredths(time.Second * pace),
		nl.IFLA_BR_MCAST_STARTUP_QUERY_INTVL:  hundredths(time.Second * pace),
		nl.IFLA_BR_MCAST_QUERY_RESPONSE_INTVL: hundredths(10 * time.Millisecond * pace),
	})
	// A querier asks from its own address.
	br, err := d.nl.LinkByName("br")
	if err != nil {
		d.Fatal(err)
	}
	addr, err := netlink.ParseAddr("198.18.0.254/24")
	if err != nil {
		d.Fatal(err)
	}
	if err := d.nl.AddrAdd(br, addr); err != nil {
		d.Fatal(err)
	}
	d.set(map[int][]byte{nl.IFLA_BR_MCAST_QUERIER: {1}})
}

// toGroup is a stream from p1 to a range of groups, that p2 and p3 may receive.
func toGroup(id uint16, e *Engine, group string, count uint32) traffic.Stream {
	s := stream(id, e)
	first := netip.MustParseAddr(group)
	s.RxPorts = []string{"p2", "p3"}
	s.Headers.DstIP, s.Headers.DstIPCount, s.Headers.DstMAC = first, count, membership.MAC(first)
	if first.Is6() {
		s.Headers.SrcIP, s.FrameSize = netip.MustParseAddr("2001:2::1"), 86
	}
	return s
}

// counts returns the number of frames of a stream that p2 and p3 received.
func counts(m traffic.Measurement, id uint16) [2]uint64 {
	return [2]uint64{m.Rx[traffic.RxKey{Stream: id, Port: "p2"}].Received, m.Rx[traffic.RxKey{Stream: id, Port: "p3"}].Received}
}

// multicast is a bed with a bridge that snoops, and an engine with three ports.
func multicast(t *testing.T, igmp, mld byte) (*bed, *device, *Engine) {
	t.Helper()
	bed := newBed(t)
	d := bed.device()
	d.snooper(igmp, mld)
	return bed, d, bed.open(append(d.ports(prefixes("198.18.0.1/24"), prefixes("198.18.0.2/24")), Port{Name: "p3", Interface: "v3"})...)
}

// marker is the ID of a broadcast frame that p1 sends last: when it has reached
// p2 and p3, so has all that is to reach them.
const marker = 1000

// sendAll sends n frames of every stream, and the marker. It reports whether that arrived: a
// device that asks for thousands of groups at once has no room for some frames, and counts
// them.
func (b *bed) sendAll(e *Engine, streams []traffic.Stream, n uint64) (traffic.Measurement, bool) {
	b.Helper()
	before := b.dropped()
	gap := 100 * time.Microsecond * pace
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{
		marker: {Rate: traffic.Rate{Frames: 1, PerNanos: 1}, Frames: 1, Delay: time.Duration(n) * gap},
	}}
	for _, s := range streams {
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: int64(gap)}, Frames: n}
	}
	last := toGroup(marker, e, "198.18.0.255", 1)
	last.Headers.DstMAC = broadcast
	last.FrameSize, last.Headers.VLANs = 128, e.ports.named("p1").VLANs
	arrived := func(m traffic.Measurement) bool { return counts(m, marker) == [2]uint64{1, 1} }
	m := b.run(e, append(slices.Clone(streams), last), trial, func(m traffic.Measurement) bool {
		return arrived(m) || b.dropped() > before
	})
	for id, tx := range m.Tx {
		if tx.Sent != tx.Intended {
			b.Fatalf("stream %d: %+v", id, tx)
		}
	}
	return m, arrived(m)
}

// exactly sends n frames of every stream, which p2 and p3 receive as often as wanted. A cable
// whose ring was full has lost frames and counted them: such a trial is repeated.
func (b *bed) exactly(e *Engine, streams []traffic.Stream, n uint64, want [2]uint64) {
	b.Helper()
	const attempts = 3
	for attempt := 1; ; attempt++ {
		m, ok := b.sendAll(e, streams, n)
		if !ok {
			b.Errorf("the last frame did not reach p2 and p3; the device dropped %d", b.dropped())
		}
		wrong := false
		for _, s := range streams {
			if got := counts(m, s.ID); got != want {
				wrong = true
				b.Logf("stream %d reaches p2 and p3 %v times, want %v; attempt %d, dropped at the ports: %v", s.ID, got, want, attempt, m.Dropped)
			}
		}
		for key, rx := range m.Rx {
			if rx.Duplicate+rx.Reordered != 0 {
				b.Errorf("stream %d at %s: duplicate %d, reordered %d", key.Stream, key.Port, rx.Duplicate, rx.Reordered)
			}
		}
		if !wrong {
			return
		}
		if attempt == attempts || !explained(m, streams, want) {
			b.Error("frames reached the wrong ports, or are missing without a counter that names them")
			return
		}
	}
}

// explained reports whether the counters of p2 and p3 name every frame that is missing there,
// and no frame is there that is not wanted.
func explained(m traffic.Measurement, streams []traffic.Stream, want [2]uint64) bool {
	for i, port := range []string{"p2", "p3"} {
		missing := uint64(0)
		for _, s := range streams {
			got := counts(m, s.ID)[i]
			if got > want[i] {
				return false
			}
			missing += want[i] - got
		}
		if missing > m.Dropped[port] {
			return false
		}
	}
	return true
}

// reach sends some frames of every stream until p2 and p3 receive all of them or none, as
// wanted: the device needs time for the change.
func (b *bed) reach(e *Engine, streams []traffic.Stream, want [2]bool) {
	b.Helper()
	const n = 10
	for begin := time.Now(); ; {
		m, right := b.sendAll(e, streams, n)
		for _, s := range streams {
			got := counts(m, s.ID)
			right = right && got == [2]uint64{times(want[0], n), times(want[1], n)}
		}
		if right {
			return
		}
		if time.Since(begin) > patience {
			b.Fatalf("p2 and p3 receive %v, want %v", m.Rx, want)
		}
	}
}

func times(yes bool, n uint64) uint64 {
	if yes {
		return n
	}
	return 0
}

func join(port, group string, count uint32) traffic.Membership {
	return traffic.Membership{Port: port, Group: netip.MustParseAddr(group), Count: count}
}

// Frames to groups reach exactly the members: two ports after both joined, one
// after the other left, in IPv4 and IPv6 and whatever version the querier has.
func TestMulticast(t *testing.T) {
	for name, versions := range map[string][2]byte{"IGMPv3 and MLDv2": {3, 2}, "IGMPv2 and MLDv1": {2, 1}} {
		t.Run(name, func(t *testing.T) {
			if versions[0] == 2 {
				longtest.Skip(t, "the later versions")
			}
			bed, _, e := multicast(t, versions[0], versions[1])
			streams := []traffic.Stream{
				toGroup(1, e, "239.1.0.1", 1), toGroup(2, e, "ff35::1:1", 1),
				toGroup(3, e, "239.1.1.0", 5), toGroup(4, e, "ff35::2:0", 5),
			}
			groups := func(port string) []traffic.Membership {
				return []traffic.Membership{join(port, "239.1.0.1", 1), join(port, "ff35::1:1", 1), join(port, "239.1.1.0", 5), join(port, "ff35::2:0", 5)}
			}
			tell := func(do func(memberships []traffic.Membership) (traffic.Moments, error), ports ...string) {
				t.Helper()
				var all []traffic.Membership
				for _, port := range ports {
					all = append(all, groups(port)...)
				}
				before := uint64(monotonic())
				at, err := do(all)
				if err != nil {
					t.Fatal(err)
				}
				for _, port := range ports {
					if at[port] < before || at[port] > uint64(monotonic()) {
						t.Errorf("%s: told at %d, asked to at %d", port, at[port], before)
					}
				}
				if len(at) != len(ports) {
					t.Errorf("moments %v, want those of %v", at, ports)
				}
			}
			joins := func(m []traffic.Membership) (traffic.Moments, error) { return e.Join(t.Context(), m) }
			leaves := func(m []traffic.Membership) (traffic.Moments, error) { return e.Leave(t.Context(), m) }

			// A bridge floods until its querier has asked.
			bed.reach(e, streams, [2]bool{false, false})
			tell(joins, "p2", "p3")
			bed.reach(e, streams, [2]bool{true, true})
			bed.exactly(e, streams, 5000, [2]uint64{5000, 5000})
			tell(leaves, "p2")
			bed.reach(e, streams, [2]bool{false, true})
			// A trial longer than the bridge remembers: only answers keep the groups.
			bed.exactly(e, streams, 45_000, [2]uint64{0, 45_000})
			tell(leaves, "p3")
			bed.reach(e, streams, [2]bool{false, false})
		})
	}
}

// A port that joins in the middle of a trial receives every frame from then on,
// and the first one after the moment of its report.
func TestJoinInATrial(t *testing.T) {
	for name, group := range map[string]string{"IPv4": "239.1.0.1", "IPv6": "ff35::1:1"} {
		t.Run(name, func(t *testing.T) {
			if name == "IPv4" {
				longtest.Skip(t, "IPv6")
			}
			bed, _, e := multicast(t, 3, 2)
			s := toGroup(1, e, group, 1)
			bed.reach(e, []traffic.Stream{s}, [2]bool{false, false})
			if _, err := e.Join(t.Context(), []traffic.Membership{join("p3", group, 1)}); err != nil {
				t.Fatal(err)
			}
			bed.reach(e, []traffic.Stream{s}, [2]bool{false, true})

			const frames = 20_000
			if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: int64(1e5 * pace)}, Frames: frames}}}); err != nil {
				t.Fatal(err)
			}
			for begin := time.Now(); ; runtime.Gosched() {
				sample, err := traffictest.SampleNow(t, e)
				if err != nil {
					t.Fatal(err)
				}
				if sample.Received > 1000 {
					break
				}
				if time.Since(begin) > patience {
					t.Fatalf("p3 is a member, and receives nothing: %+v", sample)
				}
			}
			at, err := e.Join(t.Context(), []traffic.Membership{join("p2", group, 1)})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			var m traffic.Measurement
			p2, p3 := traffic.RxKey{Stream: 1, Port: "p2"}, traffic.RxKey{Stream: 1, Port: "p3"}
			for begin := time.Now(); ; runtime.Gosched() {
				if m, err = e.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				if m.Rx[p2].Next == frames && m.Rx[p3].Received == frames || time.Since(begin) > patience {
					break
				}
			}
			// The only gap is the one before the first frame.
			rx := m.Rx[p2]
			t.Logf("p2 received %d frames, the first %d ns after its report", rx.Received, rx.FirstNs-at["p2"])
			if rx.FirstNs <= at["p2"] || rx.LastNs < rx.FirstNs {
				t.Errorf("the report left at %d, frames arrived from %d to %d", at["p2"], rx.FirstNs, rx.LastNs)
			}
			if rx.GapEnd <= 1000 || rx.Received != frames-rx.GapEnd || rx.Next != frames || rx.OutOfSequence != 1 {
				t.Errorf("received %d of %d frames, the first is number %d, out of sequence %d", rx.Received, frames, rx.GapEnd, rx.OutOfSequence)
			}
			if m.Rx[p3].Received != frames {
				t.Errorf("p3 received %d of %d frames", m.Rx[p3].Received, frames)
			}
		})
	}
}

// 4095 groups are joined by one call, and each frame to one of them reaches only the member;
// after one more call no frame does.
func TestManyGroups(t *testing.T) {
	const count = 4095
	bed, _, e := multicast(t, 3, 2)
	streams := []traffic.Stream{toGroup(1, e, "239.1.0.0", count), toGroup(2, e, "ff35::1:0", count)}
	groups := []traffic.Membership{join("p2", "239.1.0.0", count), join("p2", "ff35::1:0", count)}
	bed.reach(e, streams, [2]bool{false, false})
	if _, err := e.Join(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	bed.reach(e, streams, [2]bool{true, false})
	bed.exactly(e, streams, 2*count, [2]uint64{2 * count, 0})
	if _, err := e.Leave(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	bed.reach(e, streams, [2]bool{false, false})
	bed.exactly(e, streams, count, [2]uint64{0, 0})
}

// A membership of one source brings that source's frames and no others (RFC
// 4607).
func TestOneSource(t *testing.T) {
	bed, _, e := multicast(t, 3, 2)
	var wanted, others []traffic.Stream
	var groups []traffic.Membership
	for i, group := range []string{"232.0.1.1", "ff35::1:1"} {
		s := toGroup(uint16(i), e, group, 1)
		m := join("p2", group, 1)
		m.Source = s.Headers.SrcIP
		groups, wanted = append(groups, m), append(wanted, s)
		s.ID, s.Headers.SrcIP = uint16(10+i), s.Headers.SrcIP.Next()
		others = append(others, s)
	}
	all := append(slices.Clone(wanted), others...)
	bed.reach(e, all, [2]bool{false, false})
	if _, err := e.Join(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	bed.reach(e, wanted, [2]bool{true, false})
	bed.exactly(e, wanted, 1000, [2]uint64{1000, 0})
	bed.exactly(e, others, 1000, [2]uint64{0, 0})
	if _, err := e.Leave(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	bed.reach(e, all, [2]bool{false, false})
}

// The end of an engine is the end of its memberships, and is reported to the device.
func TestCloseLeaves(t *testing.T) {
	_, d, e := multicast(t, 3, 2)
	fd := d.listen("d2")
	if _, err := e.Join(t.Context(), []traffic.Membership{join("p2", "239.1.0.1", 3)}); err != nil {
		t.Fatal(err)
	}
	told := func(kind layers.IGMPv3GroupRecordType) func(gopacket.Packet) bool {
		return func(p gopacket.Packet) bool {
			igmp, ok := p.Layer(layers.LayerTypeIGMP).(*layers.IGMP)
			return ok && len(igmp.GroupRecords) == 3 && igmp.GroupRecords[0].Type == kind
		}
	}
	if _, err := until(fd, told(layers.IGMPToEx)); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := until(fd, told(layers.IGMPToIn)); err != nil {
		t.Fatal(err)
	}
}

func TestJoinRefuses(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	source := join("p1", "232.0.0.1", 1)
	for name, change := range map[string]func(*traffic.Membership){
		"another's port":     func(m *traffic.Membership) { m.Port = "p9" },
		"a host":             func(m *traffic.Membership) { m.Group = netip.MustParseAddr("198.18.0.1") },
		"no group":           func(m *traffic.Membership) { m.Count = 0 },
		"too many":           func(m *traffic.Membership) { m.Count = 1<<16 + 1 },
		"beyond the last":    func(m *traffic.Membership) { m.Group, m.Count = netip.MustParseAddr("239.255.255.255"), 2 },
		"a source of IPv6":   func(m *traffic.Membership) { m.Source = netip.MustParseAddr("2001:2::1") },
		"a group as sources": func(m *traffic.Membership) { m.Source = m.Group },
	} {
		m := source
		change(&m)
		if _, err := e.Join(t.Context(), []traffic.Membership{m}); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

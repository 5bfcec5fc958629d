package hostdevice

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/internal/base/netif"
)

// machine is a network namespace that the test's thread is in, with two interfaces n1
// and n2 whose other ends are in another namespace, and one of a run.
type machine struct {
	t          *testing.T
	store      *Store
	own, other netns.NsHandle
	run        netns.NsHandle
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	m := &machine{t: t}
	for _, ns := range []*netns.NsHandle{&m.other, &m.run, &m.own} {
		var err error
		if *ns, err = netns.New(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
	}
	for _, name := range []string{"n1", "n2"} {
		m.must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name, PeerNamespace: netlink.NsFd(m.other)}))
	}
	lo, err := netlink.LinkByName("lo")
	m.must(err)
	m.must(netlink.LinkSetUp(lo))
	m.must(netlink.LinkSetUp(m.link("n1")))
	m.must(netif.In(m.other, func() error { return netlink.LinkSetUp(m.link("n1")) }))
	m.address("n1", "198.18.1.1/24")
	m.store, err = NewStore(filepath.Join(t.TempDir(), "state"))
	m.must(err)
	t.Cleanup(func() {
		// No mount may be left, or the directory cannot be removed.
		dirs, _ := filepath.Glob(filepath.Join(m.store.dir, "[0-9]*"))
		for _, dir := range dirs {
			_ = remove(dir)
		}
	})
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) link(name string) netlink.Link {
	l, err := netlink.LinkByName(name)
	m.must(err)
	return l
}

func (m *machine) address(name, text string) {
	m.t.Helper()
	a, err := netlink.ParseAddr(text)
	m.must(err)
	a.Flags = unix.IFA_F_NODAD
	m.must(netlink.AddrAdd(m.link(name), a))
}

func (m *machine) route(text string, r netlink.Route) {
	m.t.Helper()
	var err error
	_, r.Dst, err = net.ParseCIDR(text)
	m.must(err)
	m.must(netlink.RouteAdd(&r))
}

// take asks for interfaces, which are moved.
func (m *machine) take(names ...string) (*Taken, error) {
	r := Request{Benchmark: "b", Origin: m.own, To: m.run}
	for i, name := range names {
		r.Ports = append(r.Ports, Port{Name: "p" + string(rune('1'+i)), Path: field.NewPath("ports").Index(i), Interface: name})
	}
	return m.store.Take(r)
}

// die ends a run as if its process had died.
func (m *machine) die(t *Taken) {
	t.lock.Close()
	closeAll(&t.origin, &t.run)
}

func TestInterfacesThatServeSomethingElseAreRefused(t *testing.T) {
	tests := map[string]struct {
		prepare func(m *machine)
		name    string
		want    string
	}{
		"absent":   {name: "n9", want: `ports[0]: Invalid value: "n9": this machine has no such interface here: name one of n1, n2`},
		"loopback": {name: "lo", want: "this is the loopback interface, which leads to no device: name an interface"},
		"bridge": {name: "br0", want: "this interface is a bridge: name the interface of one of its ports", prepare: func(m *machine) {
			m.must(netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}))
		}},
		"port of a bridge": {name: "n1", want: "this interface belongs to the bridge br0: take it out (ip link set dev n1 nomaster), or name another interface", prepare: func(m *machine) {
			m.must(netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}))
			m.must(netlink.LinkSetMaster(m.link("n1"), m.link("br0")))
		}},
		"macvlan on it": {name: "n1", want: "macvlan mv is made of this interface: remove it (ip link del dev mv), or", prepare: func(m *machine) {
			m.must(netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "mv", ParentIndex: m.link("n1").Attrs().Index}}))
		}},
		"macvlan of a container": {name: "n1", want: "macvlan mv of another network namespace (", prepare: func(m *machine) {
			m.must(netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "mv", ParentIndex: m.link("n1").Attrs().Index}}))
			m.must(netlink.LinkSetNsFd(m.link("mv"), int(m.other)))
			m.process(m.other)
		}},
		"default route": {name: "n1", want: "the default route leads over this interface (via 198.18.1.9): this machine would lose its network; remove the route if that is meant (ip route del default dev n1), or", prepare: func(m *machine) {
			m.route("0.0.0.0/0", netlink.Route{LinkIndex: m.link("n1").Attrs().Index, Gw: net.ParseIP("198.18.1.9")})
		}},
		"default route of IPv6": {name: "n1", want: "(ip -6 route del default dev n1)", prepare: func(m *machine) {
			m.address("n1", "2001:2:0:1::1/64")
			m.route("::/0", netlink.Route{LinkIndex: m.link("n1").Attrs().Index, Gw: net.ParseIP("2001:2:0:1::9")})
		}},
		"default route of another table": {name: "n1", want: "the default route leads over this interface", prepare: func(m *machine) {
			m.route("0.0.0.0/0", netlink.Route{LinkIndex: m.link("n1").Attrs().Index, Gw: net.ParseIP("198.18.1.9"), Table: 100})
		}},
		"several next hops": {name: "n1", want: "the route to 198.19.0.0/24 over this interface has several next hops", prepare: func(m *machine) {
			n := m.link("n1").Attrs().Index
			m.route("198.19.0.0/24", netlink.Route{MultiPath: []*netlink.NexthopInfo{{LinkIndex: n, Gw: net.ParseIP("198.18.1.8")}, {LinkIndex: n, Gw: net.ParseIP("198.18.1.9")}}})
		}},
		"a bound socket": {name: "n1", want: "its address 198.18.1.1/24 is in use (a UDP socket is bound to 198.18.1.1:", prepare: func(m *machine) {
			c, err := net.ListenPacket("udp", "198.18.1.1:0")
			m.must(err)
			m.t.Cleanup(func() { c.Close() })
		}},
		"a connection": {name: "n1", want: "is in use (a TCP connection from 198.18.1.1:", prepare: func(m *machine) {
			l, err := net.Listen("tcp", ":0")
			m.must(err)
			c, err := net.Dial("tcp", strings.Replace(l.Addr().String(), "[::]", "198.18.1.1", 1))
			m.must(err)
			m.t.Cleanup(func() { c.Close(); l.Close() })
		}},
		"an XDP program": {name: "n1", want: "this interface has an XDP program already: end what has attached it, or detach it (ip link set dev n1 xdp off), or", prepare: func(m *machine) {
			program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
			m.must(err)
			l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: m.link("n1").Attrs().Index, Flags: link.XDPGenericMode})
			m.must(err)
			m.t.Cleanup(func() { l.Close(); program.Close() })
		}},
		"a queueing discipline": {name: "n1", want: "this interface has the queueing discipline htb, which is lost when it is moved: remove it", prepare: func(m *machine) {
			m.must(netlink.QdiscAdd(netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: m.link("n1").Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT})))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if test.prepare != nil {
				test.prepare(m)
			}
			taken, err := m.take(test.name, "n2")
			if err == nil {
				m.must(taken.PutBack())
				t.Fatal("it was taken")
			}
			if refused := (*RefusedError)(nil); !errors.As(err, &refused) || len(refused.Problems) != 1 || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			m.link("n2") // nothing has moved
			if runs, err := m.store.runs(); err != nil || len(runs) > 0 {
				t.Errorf("%v, %v: want no note", runs, err)
			}
		})
	}
}

// process keeps a namespace as a container does: by a process of its own.
func (m *machine) process(ns netns.NsHandle) {
	m.t.Helper()
	m.must(netif.In(ns, func() error {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		p, err := os.StartProcess("/bin/cat", []string{"cat"}, &os.ProcAttr{Files: []*os.File{read, os.Stderr, os.Stderr}})
		if err != nil {
			return err
		}
		read.Close()
		m.t.Cleanup(func() {
			write.Close()
			_, _ = p.Wait()
		})
		return nil
	}))
}

func TestAnInterfaceOfTwoPortsIsRefused(t *testing.T) {
	m := newMachine(t)
	if err := netlink.LinkAddAltName(m.link("n1"), "card1"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.take("n1", "card1"); err == nil || !strings.Contains(err.Error(), `ports[1]: Invalid value: "card1": port p1 has this interface already`) {
		t.Errorf("%v", err)
	}
}

func TestInterfacesOfALivingRunAreRefused(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	if done, living, err := m.store.Clean(); len(done) > 0 || living != 1 || err != nil {
		t.Errorf("%v, %d, %v: want one run that lives", done, living, err)
	}
	if _, err := m.take("n1"); err == nil || !strings.Contains(err.Error(), "benchmark b has this interface, in process ") {
		t.Errorf("%v", err)
	}
	second, err := m.take("n2")
	m.must(err)
	m.must(second.PutBack())
	m.must(taken.PutBack())
	m.link("n1")
}

// The name of an interface that a run had may be taken when it shall come back.
func TestANameThatIsTakenIsSaidAndTriedAgain(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1", "n2")
	m.must(err)
	m.die(taken)
	m.must(netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "n1"}}))
	done, _, err := m.store.Clean()
	if err == nil || !strings.Contains(err.Error(), "putting back interface n1 of benchmark b: moving it back: the name n1 is taken by another interface by now: rename that one") {
		t.Errorf("%v", err)
	}
	if len(done) != 1 || done[0].Interface != "n2" {
		t.Errorf("%+v: want n2 back", done)
	}
	m.must(netlink.LinkDel(m.link("n1")))
	done, _, err = m.store.Clean()
	m.must(err)
	if len(done) != 2 || !slices.Contains(done[0].Changes, "moved") || !slices.Contains(done[0].Changes, "198.18.1.1/24") || len(done[1].Changes) != 0 {
		t.Errorf("%+v", done)
	}
}

// What was renamed, and has other settings, comes back as it was.
func TestARenamedInterfaceComesBack(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	mtu, mac := m.noted(taken).MTU, m.noted(taken).HardwareAddress
	m.must(netif.In(m.run, func() error {
		l := m.link("n1")
		return errors.Join(netlink.LinkSetName(l, "eth7"), netlink.LinkSetMTU(l, 1400), netlink.LinkSetTxQLen(l, 7), netlink.SetPromiscOn(l), netlink.LinkSetAllmulticastOn(l))
	}))
	_, _, err = m.store.Clean()
	m.must(err)
	a := m.link("n1").Attrs()
	if a.MTU != mtu || a.HardwareAddr.String() != mac || a.Flags&net.FlagUp == 0 || a.RawFlags&(unix.IFF_PROMISC|unix.IFF_ALLMULTI) != 0 || a.TxQLen == 7 {
		t.Errorf("%+v", a)
	}
}

func TestAHardwareAddressThatWasChangedComesBack(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	mac := m.noted(taken).HardwareAddress
	m.must(netif.In(m.run, func() error {
		return netlink.LinkSetHardwareAddr(m.link("n1"), net.HardwareAddr{2, 0, 0, 0, 0, 9})
	}))
	_, _, err = m.store.Clean()
	m.must(err)
	if is := m.link("n1").Attrs().HardwareAddr.String(); is != mac {
		t.Errorf("%s, want %s", is, mac)
	}
}

// The filters of a port in a VLAN outlive a run in place that was killed.
func TestFiltersOfAKilledRunAreRemoved(t *testing.T) {
	m := newMachine(t)
	taken, err := m.store.Take(Request{Benchmark: "b", Origin: m.own, To: netns.None(), Ports: []Port{{Name: "p1", Path: field.NewPath("ports"), Interface: "n1"}}})
	m.must(err)
	m.die(taken)
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
	m.must(err)
	defer program.Close()
	nl, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	m.must(err)
	defer nl.Close()
	n1 := m.link("n1")
	m.must(netif.AttachClsact(nl, n1.Attrs().Index, program.FD(), program.FD()))
	_, _, err = m.store.Clean()
	m.must(err)
	qdiscs, err := netlink.QdiscList(n1)
	m.must(err)
	for _, q := range qdiscs {
		if q.Type() == "clsact" {
			t.Error("the queueing discipline clsact is left")
		}
	}
}

// noted is the first interface of the note.
func (m *machine) noted(t *Taken) Interface {
	m.t.Helper()
	note, err := readNote(t.dir)
	m.must(err)
	return note.Interfaces[0]
}

// A veth ends with the namespace of the run, when the mount that keeps it is removed.
func TestAnInterfaceThatIsGoneIsSaidOnce(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	m.must(netif.In(m.run, func() error { return netlink.LinkDel(m.link("n1")) }))
	done, _, err := m.store.Clean()
	m.must(err)
	if len(done) != 1 || !done[0].Gone {
		t.Errorf("%+v: want an interface that is gone", done)
	}
	if done, _, err = m.store.Clean(); len(done) > 0 || err != nil {
		t.Errorf("%+v, %v: want nothing", done, err)
	}
}

// The namespace of a dead run is kept by a mount alone.
func TestTheNamespaceOfARunOutlivesIt(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	m.must(m.run.Close())
	done, _, err := m.store.Clean()
	m.must(err)
	if len(done) != 1 || !slices.Contains(done[0].Changes, "moved") {
		t.Errorf("%+v", done)
	}
	m.run, err = netns.Get() // for the end of the test
	m.must(err)
}

// A setting that a driver refuses is said, and keeps nothing else from coming back.
func TestASettingThatIsRefusedIsSaid(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	note, err := readNote(taken.dir)
	m.must(err)
	note.Interfaces[0].Sysctls["ipv4/conf/n1/rp_filter"] = "moo"
	m.must(note.write(taken.dir))
	done, _, err := m.store.Clean()
	m.must(err)
	if len(done) != 1 || len(done[0].Failed) != 1 || !strings.Contains(done[0].Failed[0], "setting its sysctls: ") || !slices.Contains(done[0].Changes, "198.18.1.1/24") {
		t.Errorf("%+v", done)
	}
	if runs, err := m.store.runs(); len(runs) > 0 || err != nil {
		t.Errorf("%v, %v: want no note", runs, err)
	}
}

// A run knows by itself what it has taken.
func TestARunPutsBackWhatItTookWithoutItsNote(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.must(remove(taken.dir))
	m.must(os.RemoveAll(m.store.dir))
	m.must(taken.PutBack())
	if addresses, err := netlink.AddrList(m.link("n1"), netlink.FAMILY_V4); err != nil || len(addresses) != 1 {
		t.Errorf("%v, %v: want one address", addresses, err)
	}
}

func TestARunThatDiedBeforeItsNoteLeavesNothing(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.must(taken.PutBack())
	dir := filepath.Join(m.store.dir, "77")
	m.must(os.Mkdir(dir, 0o700))
	m.must(pin(m.own, filepath.Join(dir, originFile)))
	if done, living, err := m.store.Clean(); len(done) > 0 || living > 0 || err != nil {
		t.Errorf("%v, %d, %v", done, living, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v: the directory is left", err)
	}
}

// A note of another boot says nothing: all interfaces came back with the boot.
func TestANoteOfAnotherBootIsDropped(t *testing.T) {
	m := newMachine(t)
	taken, err := m.take("n1")
	m.must(err)
	m.die(taken)
	note, err := readNote(taken.dir)
	m.must(err)
	note.Boot = "another"
	m.must(note.write(taken.dir))
	if done, _, err := m.store.Clean(); len(done) > 0 || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if runs, err := m.store.runs(); len(runs) > 0 || err != nil {
		t.Errorf("%v, %v: want no note", runs, err)
	}
}

func TestADirectoryOfOthersIsRefused(t *testing.T) {
	m := newMachine(t)
	m.must(os.MkdirAll(m.store.dir, 0o777))
	m.must(os.Chmod(m.store.dir, 0o777))
	if _, err := m.take("n1"); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("%v", err)
	}
	m.link("n1")
}

package xdp

import (
	"cmp"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// bed is a network namespace made for one test, which the test's thread is in.
type bed struct {
	*testing.T
	tester netns.NsHandle
	nl     *netlink.Handle
	cables []cable
}

// cable is a veth between the tester and a device.
type cable struct {
	near, far string
	nl        *netlink.Handle // of the far end
}

// newBed makes a namespace and enters it for the rest of the test.
func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: needs root, to make network namespaces and load BPF programs")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	b := &bed{T: t, tester: netns.None()}
	b.tester = b.namespace()
	b.enter(b.tester)
	b.nl = b.handle(b.tester)
	b.up(b.nl, "lo")
	return b
}

// part is the bed in a part of the test, which runs on another thread: it may use engines
// that are open, but not enter namespaces.
func (b *bed) part(t *testing.T) *bed {
	part := *b
	part.T = t
	return &part
}

// namespace makes a network namespace that ends with the test.
func (b *bed) namespace() netns.NsHandle {
	b.Helper()
	ns, err := netns.New() // and enters it
	if err != nil {
		b.Fatalf("making a network namespace: %v", err)
	}
	b.Cleanup(func() { ns.Close() })
	if b.tester.IsOpen() {
		b.enter(b.tester)
	}
	return ns
}

func (b *bed) enter(ns netns.NsHandle) {
	b.Helper()
	if err := netns.Set(ns); err != nil {
		b.Fatal(err)
	}
}

// in runs f in a namespace.
func (b *bed) in(ns netns.NsHandle, f func()) {
	b.Helper()
	b.enter(ns)
	defer b.enter(b.tester)
	f()
}

func (b *bed) handle(ns netns.NsHandle) *netlink.Handle {
	b.Helper()
	nl, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nl.Close)
	return nl
}

// veth makes a pair whose second end is in a namespace, and brings that up.
func (b *bed) veth(name, peer string, at netns.NsHandle) {
	b.Helper()
	v := netlink.NewVeth(netlink.LinkAttrs{Name: name, MTU: 1500})
	v.PeerName = peer
	v.PeerNamespace = netlink.NsFd(at)
	if err := b.nl.LinkAdd(v); err != nil {
		b.Fatalf("making veth %s: %v", name, err)
	}
	nl := b.handle(at)
	b.up(nl, peer)
	b.cables = append(b.cables, cable{name, peer, nl})
}

// takeJumboFrames sets the MTU of interfaces to 9000.
func (b *bed) takeJumboFrames(nl *netlink.Handle, names ...string) {
	b.Helper()
	for _, name := range names {
		l, err := nl.LinkByName(name)
		if err == nil {
			err = nl.LinkSetMTU(l, 9000)
		}
		if err != nil {
			b.Fatalf("MTU of %s: %v", name, err)
		}
	}
}

// plugged waits until the far ends of the ports' cables work: the kernel brings
// them up some time after the near ones, and until then a device drops what it
// sends there.
func (b *bed) plugged() {
	b.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		waiting := slices.IndexFunc(b.cables, func(c cable) bool {
			near, err := b.nl.LinkByName(c.near)
			if err != nil || near.Attrs().Flags&net.FlagUp == 0 {
				return false // not a port of the engine
			}
			far, err := c.nl.LinkByName(c.far)
			return err != nil || far.Attrs().OperState != netlink.OperUp
		})
		if waiting < 0 {
			return
		}
		if time.Since(begin) > patience {
			b.Fatalf("%s did not come up", b.cables[waiting].far)
		}
	}
}

// dropped returns the number of frames that the devices could not send to the tester, because
// the ring of a cable had no room.
func (b *bed) dropped() (n uint64) {
	b.Helper()
	for _, c := range b.cables {
		far, err := c.nl.LinkByName(c.far)
		if err != nil {
			b.Fatal(err)
		}
		n += far.Attrs().Statistics.TxDropped
	}
	return n
}

func (b *bed) up(nl *netlink.Handle, name string) netlink.Link {
	b.Helper()
	l, err := nl.LinkByName(name)
	if err != nil {
		b.Fatal(err)
	}
	if err := nl.LinkSetUp(l); err != nil {
		b.Fatal(err)
	}
	return l
}

// transmitVariable names the transmit path of the ports of all tests that do not choose
// one themselves.
const transmitVariable = "NODROP_XDP_TRANSMIT"

// open opens an engine that is closed with the test.
func (b *bed) open(ports ...Port) *Engine {
	b.Helper()
	for i := range ports {
		ports[i].Transmit = cmp.Or(ports[i].Transmit, Transmit(os.Getenv(transmitVariable)))
	}
	e, err := New(Options{Host: "test", Ports: ports})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Errorf("closing: %v", err)
		}
	})
	b.plugged()
	return e
}

// backToBack opens both ends of a veth, as p1 and p2.
func (b *bed) backToBack() *Engine {
	b.Helper()
	b.veth("v1", "v2", b.tester)
	return b.open(
		Port{Name: "p1", Interface: "v1", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}},
		Port{Name: "p2", Interface: "v2", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}},
	)
}

// both is backToBack with a transmit path.
func (b *bed) both(transmit Transmit) *Engine {
	b.Helper()
	b.veth("v1", "v2", b.tester)
	return b.open(Port{Name: "p1", Interface: "v1", Transmit: transmit}, Port{Name: "p2", Interface: "v2", Transmit: transmit})
}

// run configures the streams and does a whole trial.
func (b *bed) run(e *Engine, streams []traffic.Stream, trial traffic.Trial, settled func(traffic.Measurement) bool) traffic.Measurement {
	b.Helper()
	if err := e.Configure(b.Context(), streams); err != nil {
		b.Fatal(err)
	}
	return b.again(e, trial, settled)
}

// again does a trial with the streams configured before: start, wait, settle,
// read. Frames have settled when the counters say so.
func (b *bed) again(e *Engine, trial traffic.Trial, settled func(traffic.Measurement) bool) traffic.Measurement {
	b.Helper()
	ctx := b.Context()
	if err := e.Start(ctx, trial); err != nil {
		b.Fatal(err)
	}
	if err := e.Wait(ctx); err != nil {
		b.Fatal(err)
	}
	return b.settle(e, settled)
}

// kept does a trial until each sender kept up with its load, ten times at most: on a
// busy machine one may be late for the end of the trial, and leaves out the rest.
func (b *bed) kept(e *Engine, streams []traffic.Stream, trial traffic.Trial) traffic.Measurement {
	b.Helper()
	m := b.run(e, streams, trial, arrived)
	for try := 1; try < 10 && late(m); try++ {
		m = b.again(e, trial, arrived)
	}
	return m
}

// late reports whether frames were left out.
func late(m traffic.Measurement) bool {
	for _, tx := range m.Tx {
		if tx.Sent < tx.Intended {
			return true
		}
	}
	return false
}

// settle reads the counters until frames have settled.
func (b *bed) settle(e *Engine, settled func(traffic.Measurement) bool) traffic.Measurement {
	b.Helper()
	for begin := time.Now(); ; runtime.Gosched() {
		m, err := e.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if settled(m) || time.Since(begin) > patience {
			return m // what is missing then is for the test to say
		}
	}
}

// patience is the time that frames may take to arrive on a busy machine. Only a test that
// fails waits for so long. An emulated machine needs more.
var patience = func() time.Duration {
	if os.Getenv("NODROP_TEST_EMULATED") != "" {
		return 10 * time.Minute
	}
	return 20 * time.Second
}()

// pace multiplies the times of devices and the distances between frames. An emulated
// machine takes longer to answer.
var pace = func() time.Duration {
	if os.Getenv("NODROP_TEST_EMULATED") != "" {
		return 10
	}
	return 1
}()

// arrived reports whether every frame that was sent was received.
func arrived(m traffic.Measurement) bool { return received(m) == sent(m) }

func sent(m traffic.Measurement) (n uint64) {
	for _, c := range m.Tx {
		n += c.Sent
	}
	return n
}

func received(m traffic.Measurement) (n uint64) {
	for _, c := range m.Rx {
		n += c.Received
	}
	return n
}

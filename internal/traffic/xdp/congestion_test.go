package xdp

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// linuxBridge is a Linux bridge as the device under test, in a namespace of its own: its
// ports d1 up are joined to the tester's v1 up.
type linuxBridge struct {
	*bed
	ns     netns.NsHandle
	nl     *netlink.Handle
	engine *Engine
	shaped []netlink.Link
}

const bridgePorts = 4

// bridged makes one with four ports. Nothing but test frames and ARP goes through it:
// no IPv6, and no multicast of its own.
func (b *bed) bridged() *linuxBridge {
	b.Helper()
	br := &linuxBridge{bed: b, ns: b.namespace()}
	br.nl = b.handle(br.ns)
	br.quiet()
	b.in(br.ns, br.quiet)
	br.add("br")
	var ports []Port
	for i := range bridgePorts {
		v, d := fmt.Sprintf("v%d", i+1), fmt.Sprintf("d%d", i+1)
		b.veth(v, d, br.ns)
		br.join("br", d)
		ports = append(ports, Port{Name: fmt.Sprintf("p%d", i+1), Interface: v, Addresses: prefixes(bridgeAddress(i))})
	}
	br.engine = b.open(ports...)
	return br
}

func bridgeAddress(i int) string { return fmt.Sprintf("198.18.0.%d/24", i+2) }

// quiet turns IPv6 off for interfaces that are made in the namespace of the thread.
func (br *linuxBridge) quiet() {
	br.Helper()
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil {
		br.Fatal(err)
	}
}

func (br *linuxBridge) add(name string) {
	br.Helper()
	snooping := false
	if err := br.nl.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}, MulticastSnooping: &snooping}); err != nil {
		br.Fatal(err)
	}
	br.up(br.nl, name)
}

// join makes an interface a port of a bridge.
func (br *linuxBridge) join(name, port string) {
	br.Helper()
	master, err := br.nl.LinkByName(name)
	if err != nil {
		br.Fatal(err)
	}
	if err := br.nl.LinkSetMaster(br.up(br.nl, port), master); err != nil {
		br.Fatal(err)
	}
}

// shape lets a port of the device send so many frames of a size in a second, and
// hold twenty.
func (br *linuxBridge) shape(port string, size, framesPerSecond int) {
	br.Helper()
	l, err := br.nl.LinkByName(port)
	if err != nil {
		br.Fatal(err)
	}
	length := uint32(size - 4) // without the FCS
	q := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(length) * uint64(framesPerSecond), Limit: 20 * length,
	}
	q.Buffer = netlink.Xmittime(q.Rate, 8*length)
	if err := br.nl.QdiscAdd(q); err != nil {
		br.Fatalf("shaping %s: %v", port, err)
	}
	br.shaped = append(br.shaped, l)
}

// drops returns the number of frames that the shaped ports have dropped.
func (br *linuxBridge) drops() (n uint64) {
	br.Helper()
	for _, l := range br.shaped {
		all, err := br.nl.QdiscList(l)
		if err != nil || len(all) != 1 || all[0].Attrs().Statistics == nil {
			br.Fatalf("queueing disciplines of %s: %v, %v", l.Attrs().Name, all, err)
		}
		n += uint64(all[0].Attrs().Statistics.Queue.Drops)
	}
	return n
}

// measure runs a test of frames of 512 bytes on ports of 10M, with all trials that it
// took.
func (br *linuxBridge) measure(test v1alpha1.Test) (v1alpha1.ResultRow, trials.Outcome, []*trials.Trial) {
	br.Helper()
	var benchmark v1alpha1.Benchmark
	test.Name = "test"
	benchmark.Spec.Tests = []v1alpha1.Test{test}
	benchmark.Spec.SettleTime.Duration = 300 * time.Millisecond
	benchmark.Spec.RestTime = &metav1.Duration{}
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{512}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
	}
	var testBed v1alpha1.TestBed
	testBed.Spec.Engine.Kind = v1alpha1.EngineXDP
	testBed.Spec.Device.BackToBack = &v1alpha1.BackToBackDevice{}
	for i := range bridgePorts {
		testBed.Spec.Ports = append(testBed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Node: "here", Speed: "10M", Addresses: []string{bridgeAddress(i)},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: fmt.Sprintf("v%d", i+1)}},
		})
	}
	if err := manifest.Default(&benchmark, &profile, &testBed); err != nil {
		br.Fatal(err)
	}
	p, err := plan.Build(&benchmark, &profile, &testBed)
	if err != nil {
		br.Fatal(err)
	}
	info, err := br.engine.Info(br.Context())
	if err != nil {
		br.Fatal(err)
	}
	hops, err := trials.Resolve(br.Context(), br.engine, p, info, patience)
	if err != nil {
		br.Fatal(err)
	}
	var all []*trials.Trial
	lab := trials.NewTester(br.engine, p, hops, func(e trials.Event) {
		if e.Finished != nil {
			all = append(all, e.Finished)
		}
	})
	out, err := method.Run(br.Context(), lab, p.Steps[0])
	if err != nil {
		br.Fatal(err)
	}
	var row v1alpha1.ResultRow
	if out.Fill == nil {
		br.Fatalf("nothing was measured: %s", out.Message)
	}
	out.Fill(&row)
	return row, out, all
}

func holb(d time.Duration) v1alpha1.Test {
	t := &v1alpha1.HeadOfLineBlockingTest{}
	t.TrialDuration.Duration = d
	return v1alpha1.Test{HeadOfLineBlocking: t}
}

// A Linux bridge queues where frames leave: a slow port loses frames, and takes none from the
// others. The reported loss equals the drops of the port's queue.
func TestBridgeDoesNotBlock(t *testing.T) {
	br := newBed(t).bridged()
	br.shape("d4", 512, 2000) // 10M are 2349.6 frames/s, of which it gets 3524.4
	row, out, all := br.measure(holb(500 * time.Millisecond))
	h := row.HeadOfLineBlocking
	t.Logf("%+v", *h)
	if h.Blocking == nil || *h.Blocking || h.UncongestedLossPPM != 0 || h.AloneLossPPM != 0 || h.CongestedLossPPM == 0 || h.DelayNs == nil || h.AloneDelayNs == nil {
		t.Errorf("%+v: want loss on the congested port only (%s)", *h, out.Message)
	}
	br.balances(all)

	control := &v1alpha1.CongestionControlTest{}
	control.TrialDuration.Duration = 500 * time.Millisecond
	row, out, more := br.measure(v1alpha1.Test{CongestionControl: control})
	c := row.CongestionControl
	t.Logf("%+v", *c)
	if c.HeadOfLineBlocking == nil || *c.HeadOfLineBlocking || c.UncongestedLossPPM != 0 || c.CongestedLossPPM == 0 || c.CongestedFramesPerSecond == 0 {
		t.Errorf("%+v: want loss on the congested port only (%s)", *c, out.Message)
	}
	// A veth knows no pause: a sender that offered less than intended was not held back.
	if unsent := out.Trial.Unsent(); unsent != (c.BackPressure == nil) || c.BackPressure != nil && *c.BackPressure {
		t.Errorf("%+v, less offered than intended: %v: want no back pressure, or no answer", *c, unsent)
	}
	br.balances(append(all, more...))
}

// balances holds the frames that the trials lost against what the device dropped.
func (br *linuxBridge) balances(all []*trials.Trial) {
	br.Helper()
	var lost uint64
	for _, trial := range all {
		lost += trial.Lost
	}
	if drops := br.drops(); lost != drops || lost == 0 {
		br.Errorf("%d frames were lost in %d trials, the device dropped %d", lost, len(all), drops)
	}
}

// When all frames of a port wait in one queue in front of the bridge, those to the
// free port wait behind those to the slow one.
func TestABridgeWithAnInputQueueBlocks(t *testing.T) {
	br := newBed(t).bridged()
	br.add("front")
	uplink := netlink.NewVeth(netlink.LinkAttrs{Name: "up"})
	uplink.PeerName = "down"
	if err := br.nl.LinkAdd(uplink); err != nil {
		t.Fatal(err)
	}
	br.join("front", "d1")
	br.join("front", "up")
	br.join("br", "down")
	br.shape("up", 512, 1700) // half of 10M passes, all of it does not
	br.shape("d4", 512, 2000)
	row, out, trials := br.measure(holb(500 * time.Millisecond))
	h := row.HeadOfLineBlocking
	t.Logf("%+v", *h)
	if h.Blocking == nil || !*h.Blocking || h.UncongestedLossPPM <= h.AloneLossPPM {
		t.Errorf("%+v: want head of line blocking (%s)", *h, out.Message)
	}
	br.balances(trials)
}

// A bridge whose ports are faster than the bed says is not congested, and the test
// says so instead of answering.
func TestABridgeThatIsNotCongested(t *testing.T) {
	row, out, _ := newBed(t).bridged().measure(holb(300 * time.Millisecond))
	if h := row.HeadOfLineBlocking; h.Blocking != nil || h.CongestedLossPPM != 0 || out.Message == "" {
		t.Errorf("%+v, message %q: want no answer, and why", *h, out.Message)
	}
}

// Broadcast frames reach all other ports of a bridge.
func TestBroadcastOverABridge(t *testing.T) {
	longtest.Skip(t, "TestRunAddressesOverBridge of cmd/nodrop")
	test := &v1alpha1.BroadcastTest{MaxLoad: "50%", MinLoad: "1%", Resolution: "10%"}
	test.TrialDuration.Duration, test.SearchTrialDuration.Duration = 500*time.Millisecond, 300*time.Millisecond
	row, out, _ := newBed(t).bridged().measure(v1alpha1.Test{Broadcast: test})
	b := row.Broadcast
	t.Logf("%+v at %d ppm", *b, out.LoadPPM)
	if out.LoadPPM == 0 || out.Trial.Received != 3*out.Trial.Sent || out.Trial.Sent == 0 || b.Receivers != 3 || b.LossPPM != 0 || b.ForwardingRate == 0 {
		t.Errorf("%+v at %d ppm, sent %d, received %d (%s)", *b, out.LoadPPM, out.Trial.Sent, out.Trial.Received, out.Message)
	}
	if b.LatencyMinNs == nil || *b.LatencyMinNs <= 0 || *b.LatencyAvgNs < *b.LatencyMinNs || *b.LatencyMaxNs < *b.LatencyAvgNs {
		t.Errorf("latency of one frame: %+v", *b)
	}
}

// The port of a bridge with a queue of twenty frames behind a bucket of eight takes about
// as many beyond line rate: fewer when a sender that was held up makes up for it just
// then. All that was lost in the search the queue has dropped.
func TestBufferSizeOfABridge(t *testing.T) {
	br := newBed(t).bridged()
	br.shape("d2", 512, 2349) // 10M are 2349.6 frames/s
	test := &v1alpha1.BufferSizeTest{Oversubscription: "50%", ResolutionFrames: 1, Repetitions: 3}
	test.MaxDuration.Duration = 300 * time.Millisecond
	if testing.Short() {
		test.Repetitions, test.ResolutionFrames, test.MaxDuration.Duration = 1, 3, 100*time.Millisecond
	}
	row, out, trials := br.measure(v1alpha1.Test{BufferSize: test})
	b := row.BufferSize
	t.Logf("%+v in %d trials, %s", *b, len(trials), out.Message)
	if b.MinFrames < 5 || b.MaxFrames > 40 || b.Repetitions != test.Repetitions || out.Trial.Lost != 0 || int64(out.Trial.Sent) != b.BurstFrames || b.AvgBytes != 512*b.AvgFrames {
		t.Errorf("%+v of %d frames sent (%s): want 28 frames", *b, out.Trial.Sent, out.Message)
	}
	br.balances(trials)
}

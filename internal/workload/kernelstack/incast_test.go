package kernelstack

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/workload"
)

// bed is a Linux bridge or router with a queue towards the client, and hosts on its ports.
type bed struct {
	*testing.T
	device *dut.Netns
	*Engine
}

// newBed makes a bed whose device sends 50 Mbit/s to the client, from a queue of so many bytes. A bed without
// gateways has a bridge.
func newBed(t *testing.T, bufferBytes int64, gateways bool) bed {
	namespacetest.Enter(t)
	ports := []v1alpha1.Port{
		{Name: "client", Addresses: []string{"198.18.1.2/24"}, DeviceQueue: &v1alpha1.DeviceQueue{Rate: "50M", BufferBytes: bufferBytes}},
		{Name: "servers", Addresses: []string{"198.18.2.2/24"}},
	}
	var own []workload.Port
	for i := range ports {
		one := workload.Port{Name: ports[i].Name, Interface: ports[i].Name, Address: netip.MustParsePrefix(ports[i].Addresses[0])}
		if gateways {
			one.Gateway = one.Address.Masked().Addr().Next()
			ports[i].Gateways = []string{one.Gateway.String()}
		}
		own = append(own, one)
	}
	device := dut.NewNetns(ports)
	if err := device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	engine, err := New(own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed{t, device, engine}
}

// result is an incast with the packets that the device dropped.
type result struct {
	workload.Incast
	bytes   int64
	dropped uint64
}

// goodput returns useful bits per second.
func (r result) goodput() float64 {
	var seconds float64
	for _, d := range r.Completions {
		seconds += d.Seconds()
	}
	return float64(r.bytes*8) / seconds
}

// ask runs an incast of 200 kB that all servers send together: first windows of 32 servers are more than a small buffer holds.
func (b bed) ask(servers, iterations, mtu int) result {
	b.Helper()
	request := workload.IncastRequest{
		Client: "client", Servers: []string{"servers"}, Iterations: iterations, MTU: mtu, CongestionControl: "reno",
		Blocks: workload.Stripe(200_000, servers),
	}
	before := b.drops()
	found, err := b.Incast(b.Context(), request)
	if err != nil {
		b.Fatal(err)
	}
	if texts := found.Settings.Differences(request); len(texts) > 0 {
		b.Errorf("%d servers: %q", servers, texts)
	}
	if found.Settings.SendBuffer == 0 || found.Settings.ReceiveBuffer == 0 {
		b.Errorf("buffers of %d and %d bytes", found.Settings.SendBuffer, found.Settings.ReceiveBuffer)
	}
	if len(found.Completions) != iterations || len(found.Skews) != iterations || len(found.Connections) != servers {
		b.Errorf("%d and %d iterations and %d connections, want %d and %d", len(found.Completions), len(found.Skews), len(found.Connections), iterations, servers)
	}
	r := result{found, request.Bytes() * int64(iterations), b.drops() - before}
	b.Logf("servers: %d, MTU %d: %.0f Mbit/s, %d dropped, %d retransmissions, %d timeouts, skew of the first iteration %s, busy %d ppm",
		servers, mtu, r.goodput()/1e6, r.dropped, r.retransmissions(), r.timeouts(), found.Skews[0], found.Limits.BusyPPM)
	r.check(b.T, mtu)
	return r
}

func (b bed) drops() uint64 {
	b.Helper()
	n, known, err := b.device.Dropped("client")
	if err != nil || !known {
		b.Fatalf("drops of the device: %v, %v", known, err)
	}
	return n
}

func (r result) retransmissions() (n uint64) {
	for _, c := range r.Connections {
		n += c.Retransmissions
	}
	return n
}

func (r result) timeouts() (n uint64) {
	for _, c := range r.Connections {
		n += c.Timeouts
	}
	return n
}

// headers are the bytes of Ethernet, IPv4 and TCP headers of a segment. Segments that acknowledge what came out of
// order have up to 28 bytes more.
const headers, selective = 14 + 20 + 20 + 12, 28

// check compares the blocks with the counters of the interface of the client.
func (r result) check(t *testing.T, mtu int) {
	t.Helper()
	low := r.bytes + int64(r.ReceivedPackets)*headers
	high := low + int64(r.retransmissions())*int64(mtu+14) + int64(r.ReceivedPackets)*selective/100
	if got := int64(r.ReceivedBytes); got < low || got > high {
		t.Errorf("the interface of the client received %d bytes in %d packets, want %d to %d for blocks of %d bytes and %d retransmissions", got, r.ReceivedPackets, low, high, r.bytes, r.retransmissions())
	}
	// Packets are segments, not joined ones: counters of others would say nothing about the device.
	if most := r.bytes/int64(mtu-52) + 1; int64(r.ReceivedPackets) < most {
		t.Errorf("%d packets were received, want %d or more of an MTU of %d", r.ReceivedPackets, most, mtu)
	}
	// A dropped acknowledgment of a request is not sent again.
	if r.dropped > r.retransmissions()+uint64(len(r.Connections)*len(r.Completions)) {
		t.Errorf("the device dropped %d packets, and the servers sent %d again", r.dropped, r.retransmissions())
	}
}

func TestIncastCollapsesWithASmallBuffer(t *testing.T) {
	b := newBed(t, 32_000, false)
	one, many := b.ask(1, 5, 1500), b.ask(32, 5, 1500)
	if many.goodput() > one.goodput()/2 || many.timeouts() == 0 || many.dropped == 0 {
		t.Errorf("32 servers: %.0f bit/s with %d timeouts and %d drops, and one server %.0f: no collapse", many.goodput(), many.timeouts(), many.dropped, one.goodput())
	}
}

func TestIncastKeepsItsGoodputWithALargeBuffer(t *testing.T) {
	b := newBed(t, 16_000_000, true)
	one, many := b.ask(1, 5, 1500), b.ask(32, 5, 9000)
	if many.goodput() < one.goodput()/2 || many.dropped > 0 {
		t.Errorf("32 servers: %.0f bit/s with %d timeouts and %d drops, and one server %.0f: collapsed", many.goodput(), many.timeouts(), many.dropped, one.goodput())
	}
}

// Hosts that are connected before stay until they are disconnected, and each segment that did not arrive was dropped by the device.
func TestConnectedIncast(t *testing.T) {
	b := newBed(t, 32_000, true)
	request := workload.IncastRequest{
		Client: "client", Servers: []string{"servers"}, Iterations: 3, MTU: 1500, CongestionControl: "reno",
		Blocks: workload.Stripe(400_000, 16), Stateless: &workload.StatelessFrames{Bytes: 64, PerSecond: 1},
	}
	if _, err := b.Incast(t.Context(), request); !errors.Is(err, errLost) {
		t.Errorf("frames next to hosts that were not connected: %v", err)
	}
	if _, err := b.DisconnectIncast(t.Context()); !errors.Is(err, errLost) {
		t.Errorf("hosts that were not connected: %v", err)
	}
	for range 2 { // the second call replaces the hosts
		if err := b.ConnectIncast(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	other := request
	other.Iterations++
	if _, err := b.Incast(t.Context(), other); err == nil || !strings.Contains(err.Error(), "the hosts of another incast are connected") {
		t.Errorf("another incast: %v", err)
	}
	before := b.drops()
	found, err := b.Incast(t.Context(), request)
	if err != nil || len(found.Completions) != request.Iterations {
		t.Fatalf("%d iterations, %v", len(found.Completions), err)
	}
	// Segments that were sent again without need can be on their way after the last block.
	lost := func() uint64 {
		all, err := b.connected.segments()
		if err != nil {
			t.Fatal(err)
		}
		return all.Lost()
	}
	for deadline := time.Now().Add(10 * time.Second); lost() != b.drops()-before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	all, err := b.DisconnectIncast(t.Context())
	if dropped := b.drops() - before; err != nil || all.Lost() != dropped || dropped == 0 || all.Sent < 3*400_000/1448 {
		t.Errorf("%+v, %v: %d segments are lost, and the device dropped %d packets", all, err, all.Lost(), dropped)
	}
	if err := b.ConnectIncast(t.Context(), request); err != nil { // and are left to Close
		t.Error(err)
	}
}

func TestIncastExplainsWhatIsMissing(t *testing.T) {
	b := newBed(t, 16_000_000, false)
	for name, tc := range map[string]struct {
		change func(*workload.IncastRequest)
		want   string
	}{
		"a congestion control": {func(r *workload.IncastRequest) { r.CongestionControl = "vegetable" }, "congestionControl is vegetable, and the kernel of the hosts has reno"},
		"an MTU":               {func(r *workload.IncastRequest) { r.MTU = 20_000 }, "interface client has an MTU of 9198 bytes, and the test asks for 20000"},
		"addresses":            {func(r *workload.IncastRequest) { r.Blocks = make([]int64, workload.MaxHosts+1) }, "1 to 128 servers"},
		"a port":               {func(r *workload.IncastRequest) { r.Client = "p9" }, "port p9 is not known"},
	} {
		request := workload.IncastRequest{Client: "client", Servers: []string{"servers"}, Blocks: []int64{1}, Iterations: 1, MTU: 1500}
		tc.change(&request)
		if _, err := b.Incast(t.Context(), request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Incast(ctx, workload.IncastRequest{Client: "client", Servers: []string{"servers"}, Blocks: []int64{1}, Iterations: 1, MTU: 1500}); err == nil {
		t.Error("a cancelled incast succeeded")
	}
}

func TestCounterOfTCP(t *testing.T) {
	for text, want := range map[string]uint64{
		"TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 3 41\nIpExt: InNoRoutes\nIpExt: 5\n": 41,
		"IpExt: TCPTimeouts\nIpExt: 5\n": 0, // a counter of another protocol
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "7", "net", "netstat")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		fs, err := procfs.NewFS(folder)
		if err != nil {
			t.Fatal(err)
		}
		thread, err := fs.Proc(7)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := timeoutsOf(thread); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

func TestAddressesOfHosts(t *testing.T) {
	p := workload.Port{Name: "p1", Address: netip.MustParsePrefix("198.18.0.1/29")}
	e := &Engine{taken: map[netip.Addr]bool{p.Address.Addr(): true, netip.MustParseAddr("198.18.0.5"): true}}
	used := map[netip.Addr]bool{}
	all, err := e.addresses(p, 4, used)
	if err != nil || len(all) != 4 || all[0].String() != "198.18.0.6" || all[1].String() != "198.18.0.4" || all[3].String() != "198.18.0.2" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := e.addresses(p, 1, used); err == nil || !strings.Contains(err.Error(), "network 198.18.0.0/29 of port p1 has 0 free addresses") {
		t.Errorf("a full network: %v", err)
	}
}

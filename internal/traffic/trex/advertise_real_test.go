package trex_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// A Linux router finds all hosts of both families behind the ports of a real server,
// and keeps them: no frame is lost, and no other port receives the announcements.
func TestRouterFindsHosts(t *testing.T) {
	if trex.StartReal == nil {
		t.Skipf("%s is not set, or a server cannot be started as no root: it names a real TRex server", dirVariable)
	}
	const hosts = 10
	device := []v1alpha1.Port{
		{Name: "r0", Addresses: []string{"198.18.1.2/24", "2001:2:0:1::2/64"}, Gateways: []string{"198.18.1.1", "2001:2:0:1::1"}},
		{Name: "r1", Addresses: []string{"198.18.2.2/24", "2001:2:0:2::2/64"}, Gateways: []string{"198.18.2.1", "2001:2:0:2::1"}},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var endpoint string
	perSecond := int64(1000)
	if trex.OnCards() {
		perSecond = 10 // emulated ones are slow
		routed(t, device)
		endpoint = trex.StartReal(t, true).Endpoint
	} else {
		endpoint = onRouter(ctx, t, device)
	}
	options := trex.Options{Endpoint: endpoint, TimedFramesPerSecond: 100}
	for i, p := range device {
		one := trex.Port{Name: p.Name, Index: i}
		for _, text := range p.Addresses {
			first := netip.MustParsePrefix(text)
			for n := range uint32(hosts) {
				one.Addresses = append(one.Addresses, netip.PrefixFrom(traffic.Above(first.Addr(), n), first.Bits()))
			}
		}
		options.Ports = append(options.Ports, one)
	}
	e, err := trex.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	streams := throughRouter(ctx, t, e, device, hosts)
	if err := e.Configure(ctx, streams); err != nil {
		t.Fatal(err)
	}
	// The first frames are lost until the router knows where their hosts are.
	for tries, lost := 0, uint64(1); lost > 0 && tries < 10; tries++ {
		lost = throughput(ctx, t, e, streams, traffic.Load{Rate: traffic.Rate{Frames: 100, PerNanos: int64(time.Second)}, Frames: hosts}, 0)
	}
	// For longer than an entry lives without an answer.
	load := traffic.Load{Rate: traffic.Rate{Frames: perSecond, PerNanos: int64(time.Second)}}
	if lost := throughput(ctx, t, e, streams, load, 10*time.Second); lost > 0 {
		t.Errorf("%d frames of up to %d were lost", lost, int64(len(streams))*perSecond*10)
	}
}

// onRouter makes a router in a network namespace and starts a server on packet sockets at
// its ports, until the test ends. It returns the endpoint of the server.
func onRouter(ctx context.Context, t *testing.T, device []v1alpha1.Port) string {
	t.Helper()
	router := dut.NewNetns(device)
	if err := router.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := router.Restore(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	dir, err := filepath.Abs(os.Getenv(dirVariable))
	if err != nil {
		t.Fatal(err)
	}
	const port = rpcPort + 400
	s, err := server.Start(ctx, server.Config{
		Dir: dir, Ports: []server.Port{{Name: "r0", Interface: "r0"}, {Name: "r1", Interface: "r1"}},
		Software: &server.Software{RingFrames: ringFrames}, RPCPort: port,
	}, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Endpoint()
}

// throughRouter are streams in both directions of both families, of all hosts.
func throughRouter(ctx context.Context, t *testing.T, e *trex.Engine, device []v1alpha1.Port, hosts uint32) []traffic.Stream {
	t.Helper()
	var streams []traffic.Stream
	for family := range device[0].Addresses {
		for from := range device {
			to := 1 - from
			gateway, err := e.Resolve(ctx, device[from].Name, netip.MustParseAddr(device[from].Gateways[family]))
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, traffic.Stream{
				ID: uint16(len(streams)), TxPort: device[from].Name, RxPorts: []string{device[to].Name}, FrameSize: 128,
				Headers: traffic.Headers{
					DstMAC:     gateway,
					SrcIP:      netip.MustParsePrefix(device[from].Addresses[family]).Addr(),
					DstIP:      netip.MustParsePrefix(device[to].Addresses[family]).Addr(),
					SrcIPCount: hosts, DstIPCount: hosts, SrcPort: 1024, DstPort: 9, SrcPortCount: 1, DstPortCount: 1, TTL: 64,
				},
			})
		}
	}
	return streams
}

// throughput runs a trial of all streams and returns how many frames were lost.
func throughput(ctx context.Context, t *testing.T, e *trex.Engine, streams []traffic.Stream, load traffic.Load, d time.Duration) (lost uint64) {
	t.Helper()
	trial := traffic.Trial{Duration: d, Loads: map[uint16]traffic.Load{}}
	for _, s := range streams {
		trial.Loads[s.ID] = load
	}
	if err := e.Start(ctx, trial); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.Clock().Sleep(ctx, 100*time.Millisecond); err != nil { // frames in flight
		t.Fatal(err)
	}
	m, err := e.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		sent, received := m.Tx[s.ID].Sent, m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}].Received
		if sent < received || sent == 0 {
			t.Errorf("stream %d: sent %d, received %d", s.ID, sent, received)
		}
		lost += sent - received
	}
	if len(m.Misdelivered) > 0 {
		t.Errorf("misdelivered %v", m.Misdelivered)
	}
	t.Logf("%d frames lost, sent %d each in %v", lost, m.Tx[0].Sent, m.TxTime)
	return lost
}

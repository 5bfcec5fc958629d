package trex_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

const (
	severalUID = "0c5f"
	// severalFrames is the ring of each of eight ports.
	severalFrames = 4096
)

// several are two real servers behind agents. Ports a0 and b0 are joined by a cable,
// and so are a1 and b1, a2 and a3, b2 and b3.
type several struct {
	servers [2]*server.Server
	engines [2]*trex.Engine
	fleet   *agent.Fleet
}

// twoServers starts two servers, of which the first has run streams before.
func twoServers(t *testing.T) *several {
	t.Helper()
	if trex.StartReal == nil {
		t.Skipf("%s is not set, or a server cannot be started as no root: it names a real TRex server", dirVariable)
	}
	if trex.OnCards() {
		t.Skip("not applicable on cards: two servers on one machine take eight cards, and what is tested is how they number streams, which no card changes")
	}
	for near, far := range map[string]string{"a0": "b0", "a1": "b1", "a2": "a3", "b2": "b3"} {
		veth := netlink.NewVeth(netlink.LinkAttrs{Name: near, MTU: 1500})
		veth.PeerName = far
		if err := netlink.LinkAdd(veth); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := netlink.LinkDel(veth); err != nil {
				t.Error(err)
			}
		})
		for _, name := range []string{near, far} {
			link, err := netlink.LinkByName(name)
			if err == nil {
				err = netlink.LinkSetUp(link)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	s := &several{}
	keys, err := pki.Issue(severalUID, 2, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var endpoints []agent.Endpoint
	var order []string
	for i, letter := range []string{"a", "b"} {
		s.start(t, i)
		t.Cleanup(func() {
			if err := s.servers[i].Close(); err != nil {
				t.Error(err)
			}
		})
		var ports []trex.Port
		var names []string
		for n := range 4 {
			name := fmt.Sprintf("%s%d", letter, n)
			names, ports = append(names, name), append(ports, trex.Port{Name: name, Index: n})
		}
		engine, err := trex.New(t.Context(), trex.Options{Endpoint: s.servers[i].Endpoint(), Ports: ports, TimedFramesPerSecond: 100})
		if err != nil {
			t.Fatal(err)
		}
		s.engines[i] = engine
		t.Cleanup(func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		})
		endpoints, order = append(endpoints, s.agent(t, keys, i, names)), append(order, names...)
	}
	dialling, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.fleet, err = agent.DialFleet(dialling, endpoints, order, keys.Runner, agent.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts a server.
func (s *several) start(t *testing.T, i int) {
	t.Helper()
	dir, err := filepath.Abs(os.Getenv(dirVariable))
	if err != nil {
		t.Fatal(err)
	}
	var ports []server.Port
	for n := range 4 {
		name := fmt.Sprintf("%c%d", "ab"[i], n)
		ports = append(ports, server.Port{Name: name, Interface: name})
	}
	starting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.servers[i], err = server.Start(starting, server.Config{
		Dir: dir, Ports: ports, Software: &server.Software{RingFrames: severalFrames}, RPCPort: rpcPort + 100*(i+1),
	}, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
}

// agent serves an engine.
func (s *several) agent(t *testing.T, keys pki.Set, i int, ports []string) agent.Endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := keys.Agents[i].ServerConfig(pki.RunnerName(severalUID))
	if err != nil {
		t.Fatal(err)
	}
	serving := agent.NewServer(s.engines[i], agent.ServerOptions{})
	done := make(chan error, 1)
	go func() { done <- serving.Serve(listener, config) }()
	t.Cleanup(func() {
		serving.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return agent.Endpoint{Name: pki.AgentName(severalUID, i), Address: listener.Addr().String(), Ports: ports}
}

// restart kills a server and starts it again.
func (s *several) restart(t *testing.T, i int) {
	t.Helper()
	if err := syscall.Kill(s.servers[i].PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.servers[i].Done():
	case <-time.After(patience):
		t.Fatal("the server was killed and did not end")
	}
	if err := s.servers[i].Close(); err != nil {
		t.Fatal(err)
	}
	s.start(t, i)
}

// streams are n streams from one port to another.
func (s *several) streams(t *testing.T, first uint16, n int, from, to string, ipv6 bool) []traffic.Stream {
	t.Helper()
	info, err := s.fleet.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Ports) != 8 || !info.Capabilities.CrossHost || info.Capabilities.CrossHostLatency {
		t.Fatalf("info %+v: want eight ports, traffic between servers, and no latency there", info)
	}
	h := traffic.Headers{
		SrcIP: netip.MustParseAddr("198.18.0.2"), DstIP: netip.MustParseAddr("198.18.1.2"),
		SrcIPCount: 1, DstIPCount: 1, SrcPort: 1024, DstPort: 7, SrcPortCount: 1, DstPortCount: 1,
	}
	if ipv6 {
		h.SrcIP, h.DstIP = netip.MustParseAddr("2001:2::2"), netip.MustParseAddr("2001:2::3")
	}
	for _, p := range info.Ports {
		if p.Name == to {
			h.DstMAC = p.MAC
		}
	}
	var out []traffic.Stream
	for i := range n {
		out = append(out, traffic.Stream{ID: first + uint16(i), TxPort: from, RxPorts: []string{to}, FrameSize: 128, Headers: h})
	}
	return out
}

func (s *several) configure(t *testing.T, streams []traffic.Stream) {
	t.Helper()
	if err := s.fleet.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
}

// run sends so many frames of each stream.
func (s *several) run(t *testing.T, streams []traffic.Stream, frames map[uint16]uint64) traffic.Measurement {
	t.Helper()
	loads := map[uint16]traffic.Load{}
	for _, one := range streams {
		loads[one.ID] = traffic.Load{Rate: traffic.Rate{Frames: 2_000, PerNanos: int64(time.Second)}, Frames: frames[one.ID]}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.fleet.Start(ctx, traffic.Trial{Loads: loads}); err != nil {
		t.Fatal(err)
	}
	if err := s.fleet.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	// Frames take microseconds on a cable; the engines count until nothing arrives.
	for _, e := range s.engines {
		if err := trex.Settle(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.fleet.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// exact checks that each stream arrived whole where it should, and nothing elsewhere.
func exact(t *testing.T, m traffic.Measurement, streams []traffic.Stream, frames map[uint16]uint64) {
	t.Helper()
	wrong := 0
	for _, one := range streams {
		n := frames[one.ID]
		if got := m.Rx[traffic.RxKey{Stream: one.ID, Port: one.RxPorts[0]}].Received; m.Tx[one.ID].Sent != n || got != n {
			if wrong++; wrong <= 5 {
				t.Errorf("stream %d from %s to %s: sent %d, received %d, want %d each", one.ID, one.TxPort, one.RxPorts[0], m.Tx[one.ID].Sent, got, n)
			}
		}
	}
	if wrong > 5 {
		t.Errorf("%d streams are wrong", wrong)
	}
	if len(m.Misdelivered) > 0 || len(m.Notes) > 0 {
		t.Errorf("misdelivered %v, notes %v: want none", m.Misdelivered, m.Notes)
	}
}

// Frames between two servers are counted exactly, in both directions at once, while
// each times a stream of its own, trial after trial, also when one of the servers
// has had more streams than the other.
func TestSeveralServers(t *testing.T) {
	s := twoServers(t)
	var streams []traffic.Stream
	streams = append(streams, s.streams(t, 10, 20, "a0", "b0", false)...)
	streams = append(streams, s.streams(t, 40, 20, "b0", "a0", false)...)
	streams = append(streams, s.streams(t, 70, 5, "a1", "b1", true)...)
	streams = append(streams, s.streams(t, 5, 1, "a2", "a3", false)...)
	streams = append(streams, s.streams(t, 30, 1, "b2", "b3", false)...)
	frames := map[uint16]uint64{}
	for _, one := range streams {
		frames[one.ID] = 100 + 10*uint64(one.ID)
	}
	timed := func(m traffic.Measurement) {
		t.Helper()
		for id, port := range map[uint16]string{5: "a3", 30: "b3"} {
			rx := m.Rx[traffic.RxKey{Stream: id, Port: port}]
			want := (frames[id] + 19) / 20 // 100 in a second of 2,000
			if rx.Latency.Count != want {
				t.Errorf("stream %d: %d frames timed, want %d", id, rx.Latency.Count, want)
			}
			if rx.Latency.MaxNs > uint64(patience) {
				t.Errorf("stream %d took %d ns", id, rx.Latency.MaxNs)
			}
		}
		for key, rx := range m.Rx {
			if rx.Latency.Count > 0 && key.Stream != 5 && key.Stream != 30 {
				t.Errorf("stream %d at %s was timed", key.Stream, key.Port)
			}
		}
	}
	// The first server has had 300 streams that the second did not have.
	past := s.streams(t, 100, 300, "a2", "a3", false)
	if err := s.engines[0].Configure(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	if err := s.engines[0].Arm(t.Context(), traffic.Trial{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	s.configure(t, streams)
	for range 2 {
		m := s.run(t, streams, frames)
		exact(t, m, streams, frames)
		timed(m)
	}

	// One server dies while both send.
	loads := map[uint16]traffic.Load{}
	for _, one := range streams {
		loads[one.ID] = traffic.Load{Rate: traffic.Rate{Frames: 100, PerNanos: int64(time.Second)}}
	}
	if err := s.fleet.Start(t.Context(), traffic.Trial{Loads: loads, Duration: time.Hour}); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- s.fleet.Wait(t.Context()) }()
	s.restart(t, 1)
	if err := <-waited; !errors.Is(err, traffic.ErrInterrupted) {
		t.Fatalf("the death of one server returns %v", err)
	}
	s.configure(t, streams)
	m := s.run(t, streams, frames)
	exact(t, m, streams, frames)
	timed(m)
}

// A stream that is timed at one server ends up at another, which times one too: the
// frames are reported there, and do not count as the other's.
func TestTimedFramesOfAnotherServer(t *testing.T) {
	s := twoServers(t)
	lost := s.streams(t, 1, 1, "a1", "a3", false) // the cable goes to b1
	own := s.streams(t, 2, 1, "b2", "b3", false)
	streams := append(lost, own...)
	frames := map[uint16]uint64{1: 3_000, 2: 2_000}
	s.configure(t, streams)
	for range 2 {
		m := s.run(t, streams, frames)
		away, here := m.Rx[traffic.RxKey{Stream: 1, Port: "a3"}], m.Rx[traffic.RxKey{Stream: 2, Port: "b3"}]
		if away.Received != 0 || m.Misdelivered["b1"] != 3_000 || len(m.Misdelivered) != 1 {
			t.Errorf("received %d, misdelivered %v: want 3000 at b1 only", away.Received, m.Misdelivered)
		}
		if here.Received != 2_000 || here.Duplicate != 0 || here.Reordered != 0 || here.Latency.Count != 100 {
			t.Errorf("the other's stream: received %d, %d duplicate, %d reordered, %d timed: want 2000, 0, 0, 100", here.Received, here.Duplicate, here.Reordered, here.Latency.Count)
		}
		for _, n := range m.Notes {
			if strings.Contains(n.Text, "timed") {
				t.Error(n)
			}
		}
	}
}

package agent

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// newFleet has p1 and p3 at the first agent, p2 and p4 at the second.
func newFleet(t *testing.T, hosts ...string) (*Fleet, []*fakeEngine, []func()) {
	t.Helper()
	l, wire := newLab(t), &cable{}
	engines := []*fakeEngine{wire.engine(hosts[0], "p1", "p3"), wire.engine(hosts[1], "p2", "p4")}
	var endpoints []Endpoint
	var kills []func()
	for i, e := range engines {
		address, kill := l.serve(i, "127.0.0.1:0", e)
		endpoints = append(endpoints, l.endpoint(i, address, e.ports...))
		kills = append(kills, kill)
	}
	f, err := DialFleet(t.Context(), endpoints, []string{"p1", "p2", "p3", "p4"}, l.pki.Runner, quick)
	must(t, "dialling", err)
	t.Cleanup(func() { f.Close() })
	return f, engines, kills
}

func TestFleetCountsBothDirections(t *testing.T) {
	f, engines, _ := newFleet(t, "node-a", "node-a")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2"), pair(2, "p2", "p1"), pair(3, "p3", "p1")}))
	for i, e := range engines {
		if n := len(e.streams); n != 3 {
			t.Errorf("agent %d got %d streams, want all 3", i, n)
		}
	}
	for round := range 3 {
		must(t, "starting", f.Start(t.Context(), frames(1000, 1, 2, 3)))
		must(t, "waiting", f.Wait(t.Context()))
		must(t, "stopping", f.Stop(t.Context()))
		m, err := f.Read(t.Context())
		must(t, "reading", err)
		for id, port := range map[uint16]string{1: "p2", 2: "p1", 3: "p1"} {
			rx := m.Rx[traffic.RxKey{Stream: id, Port: port}]
			if m.Tx[id].Sent != 1000 || rx.Received != 1000 || rx.Latency.Count != 1000 {
				t.Errorf("round %d, stream %d: sent %d, received %d, latency of %d; want 1000 each", round, id, m.Tx[id].Sent, rx.Received, rx.Latency.Count)
			}
		}
		if len(m.Tx) != 3 || len(m.Rx) != 3 || len(m.Notes) != 2 || m.TxTime == 0 {
			t.Errorf("round %d: %d tx, %d rx, notes %v, %v", round, len(m.Tx), len(m.Rx), m.Notes, m.TxTime)
		}
	}
	if engines[0].epoch != engines[1].epoch || engines[0].epoch == 0 {
		t.Errorf("the agents are in trials %d and %d", engines[0].epoch, engines[1].epoch)
	}
}

func TestReceiversStartFirst(t *testing.T) {
	f, engines, _ := newFleet(t, "node-a", "node-a")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2")}))
	must(t, "starting", f.Start(t.Context(), frames(5, 1)))
	m, err := f.Read(t.Context())
	must(t, "reading", err)
	if got := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Received; got != 5 {
		t.Errorf("received %d, want 5", got)
	}
	for i, e := range engines {
		// Also who only receives learns what is intended.
		if want := frames(5, 1); !reflect.DeepEqual(e.intended.Loads, want.Loads) || e.intended.Duration != want.Duration {
			t.Errorf("agent %d was armed for %+v, want %+v", i, e.intended, want)
		}
		if arm, start := slices.Index(e.log, "arm"), slices.Index(e.log, "start"); arm < 0 || start < arm {
			t.Errorf("agent %d: %v", i, e.log)
		}
	}
}

// Two clocks that were not compared give no latency.
func TestLatencyBetweenHostsIsLeftOut(t *testing.T) {
	f, _, _ := newFleet(t, "node-a", "node-b")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2"), pair(3, "p1", "p3")}))
	must(t, "starting", f.Start(t.Context(), frames(5, 1, 3)))
	m, err := f.Read(t.Context())
	must(t, "reading", err)
	if rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}]; rx.Received != 5 || rx.Latency.Count != 0 {
		t.Errorf("between hosts: received %d, latency of %d", rx.Received, rx.Latency.Count)
	}
	if rx := m.Rx[traffic.RxKey{Stream: 3, Port: "p3"}]; rx.Received != 5 || rx.Latency.Count != 5 {
		t.Errorf("on one host: received %d, latency of %d", rx.Received, rx.Latency.Count)
	}
}

func TestFleetInfo(t *testing.T) {
	f, engines, _ := newFleet(t, "node-a", "node-b")
	engines[0].info = func(i *traffic.Info) { i.Capabilities.SampledLatency = true }
	engines[1].info = func(i *traffic.Info) {
		i.Capabilities.MaxStreams, i.Capabilities.MaxFrameSize, i.Capabilities.Lateness = 1024, 1518, time.Second
	}
	info, err := f.Info(t.Context())
	must(t, "info", err)
	var ports, hosts []string
	for _, p := range info.Ports {
		ports = append(ports, p.Name)
	}
	for _, h := range info.Hosts {
		hosts = append(hosts, h.Name)
	}
	if !slices.Equal(ports, []string{"p1", "p2", "p3", "p4"}) || !slices.Equal(hosts, []string{"node-a", "node-b"}) {
		t.Errorf("ports %v, hosts %v", ports, hosts)
	}
	want := capability.Running("xdp", traffic.Limits{MaxStreams: 1024, MaxFrameSize: 1518, Lateness: time.Second, LatencyType: "first bit to first bit"})
	if diff := cmp.Diff(want, info.Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	if info.Detail != "fake on node-a; fake on node-b" {
		t.Errorf("detail %q", info.Detail)
	}
	engines[1].info = func(i *traffic.Info) { i.Engine = "other" }
	if _, err := f.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("two kinds of engine: %v", err)
	}
}

func TestFleetStopsWhenOneAgentDies(t *testing.T) {
	f, engines, kills := newFleet(t, "node-a", "node-a")
	must(t, "configuring", f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2"), pair(2, "p2", "p1")}))
	must(t, "starting", f.Start(t.Context(), frames(0, 1, 2)))
	waited := make(chan error, 1)
	go func() { waited <- f.Wait(t.Context()) }()
	eventually(t, "both wait", func() bool { return engines[0].users.Load() == 1 && engines[1].users.Load() == 1 })
	kills[1]()
	if err := <-waited; !errors.Is(err, traffic.ErrInterrupted) {
		t.Errorf("the death of one agent gives %v", err)
	}
	if engines[0].busy() != nil || engines[1].busy() != nil {
		t.Error("somebody still sends")
	}
}

func TestFleetRefusesWhatNobodyOwns(t *testing.T) {
	f, _, _ := newFleet(t, "node-a", "node-a")
	if err := f.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p9")}); err == nil || !strings.Contains(err.Error(), "p9") {
		t.Errorf("a stream to an unknown port: %v", err)
	}
	if _, err := f.Resolve(t.Context(), "p9", netip.MustParseAddr("198.18.0.1")); err == nil || !strings.Contains(err.Error(), "p9") {
		t.Errorf("resolving on an unknown port: %v", err)
	}
	bundle := newLab(t).pki.Runner
	for name, endpoints := range map[string][]Endpoint{
		"no agent":   {},
		"port twice": {{Name: "a", Ports: []string{"p1"}}, {Name: "b", Ports: []string{"p1"}}},
		"no owner":   {{Name: "a", Ports: []string{"p2"}}},
	} {
		if _, err := DialFleet(t.Context(), endpoints, []string{"p1"}, bundle, quick); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

package kernelstack

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/workload"
)

// translates is a table of a router that gives all connections its own address; further rules are in the chain filter.
const translates = `table ip lab {
	chain outside { type nat hook postrouting priority srcnat; oifname "servers" masquerade; }
	chain filter {
		type filter hook forward priority filter; policy accept;
		RULES
	}
}`

// syn matches the first packet of a connection.
const syn = "tcp flags & (fin | syn | rst | ack) == syn "

// load gives the router rules of nftables.
func (b bed) load(rules string) {
	b.Helper()
	err := netif.In(b.device.Namespace(), func() error {
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader("flush ruleset\n" + rules)
		text, err := cmd.CombinedOutput()
		if err != nil {
			b.Logf("%s", text)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// connect opens connections through the router with further rules.
func (b bed) connect(rules string, change func(*workload.ConnectionsRequest)) workload.Connections {
	b.Helper()
	b.load(strings.Replace(translates, "RULES", rules, 1))
	request := workload.ConnectionsRequest{Client: "client", Server: "servers", Clients: 3, Servers: 2, Connections: 300, OpenRate: 1000, CloseRate: 1000, Timeout: 4 * time.Second, MTU: 1500}
	if change != nil {
		change(&request)
	}
	c, err := b.Connections(b.Context(), request)
	if err != nil {
		b.Fatal(err)
	}
	shown := c
	shown.SetUps = nil
	b.Logf("%+v", shown)
	closed := c.Verified
	if request.Protocol == workload.UDP {
		closed = 0
	}
	if c.Attempted != int64(request.Connections) || c.Attempted != c.Established+c.Refused+c.TimedOut || int(c.Established) != len(c.SetUps) ||
		c.Established != c.Verified+c.Reset+c.Unanswered+c.Wrong || c.Closed+c.CloseReset+c.CloseTimedOut != closed {
		b.Errorf("the sums differ: %+v", shown)
	}
	if texts := c.Differences(request); len(texts) > 0 {
		b.Errorf("%q", texts)
	}
	return c
}

// newRouter is a bed with a router without limits.
func newRouter(t *testing.T) bed { return newBed(t, 16_000_000, true) }

func TestConnections(t *testing.T) {
	b := newRouter(t)
	c := b.connect("", nil)
	if c.Closed != 300 || c.OpenSpan < 290*time.Millisecond || c.CloseSpan < 290*time.Millisecond || c.SetUp < c.OpenSpan || len(c.Examples) > 0 {
		t.Errorf("%d of 300 closed, opened in %s, closed in %s: %q", c.Closed, c.OpenSpan, c.CloseSpan, c.Examples)
	}
	c = b.connect("", func(r *workload.ConnectionsRequest) { r.OpenRate, r.CloseRate = 0, 0 })
	if c.Closed != 300 || c.OpenSpan > 10*time.Second {
		t.Errorf("as fast as possible: %d of 300 closed, opened in %s", c.Closed, c.OpenSpan)
	}
}

// Without a device that keeps connections the hosts alone are measured.
func TestConnectionsOverABridge(t *testing.T) {
	b := newBed(t, 16_000_000, false)
	c, err := b.Connections(t.Context(), workload.ConnectionsRequest{Client: "client", Server: "servers", Clients: 2, Servers: 2, Connections: 100, Timeout: 4 * time.Second, MTU: 1500})
	if err != nil || c.Closed != 100 {
		t.Errorf("%d of 100 closed: %q, %v", c.Closed, c.Examples, err)
	}
}

// Each fault of a device has a count of its own.
func TestConnectionsFindFaults(t *testing.T) {
	b := newRouter(t)
	for name, tc := range map[string]struct {
		rules  string
		figure func(workload.Connections) int64
		want   int64
		text   string
	}{
		"every third SYN is dropped for good": {syn + "jhash tcp sport mod 3 0 drop", func(c workload.Connections) int64 { return c.TimedOut }, 0, "was not established in time"},
		"every tenth SYN is dropped":          {syn + "numgen inc mod 10 0 drop", func(c workload.Connections) int64 { return int64(c.OpenRetransmissions) }, 33, ""},
		"every tenth SYN is reset":            {syn + "numgen inc mod 10 0 reject with tcp reset", func(c workload.Connections) int64 { return c.Refused }, 30, "was refused: connection refused"},
		"a server for another":                {"}\nchain swapped {\ntype nat hook prerouting priority dstnat; ip daddr 198.18.2.254 dnat to 198.18.2.253", func(c workload.Connections) int64 { return c.Wrong }, 150, "to 198.18.2.254:5001 had a wrong answer: it came from server 198.18.2.253"},
		"established ones are dropped":        {"tcp dport 5001 meta length > 60 drop", func(c workload.Connections) int64 { return c.Unanswered }, 300, "had no answer in time"},
		"established ones are reset":          {"tcp dport 5001 meta length > 60 reject with tcp reset", func(c workload.Connections) int64 { return c.Reset }, 300, "ended before it was closed: connection reset by peer"},
		"ends are dropped":                    {"tcp flags & fin == fin drop", func(c workload.Connections) int64 { return c.CloseTimedOut }, 300, "was not closed in time"},
		"ends are reset":                      {"tcp flags & fin == fin reject with tcp reset", func(c workload.Connections) int64 { return c.CloseReset }, 300, "was reset while it was closed: connection reset by peer"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b
			b.T = t
			c := b.connect(tc.rules, func(r *workload.ConnectionsRequest) { r.Timeout = 2500 * time.Millisecond })
			if n := tc.figure(c); tc.want > 0 && n != tc.want || n == 0 {
				t.Errorf("%d connections, want %d", n, tc.want)
			}
			if !strings.Contains(strings.Join(c.Examples, "; "), tc.text) {
				t.Errorf("%q, want %q", c.Examples, tc.text)
			}
		})
	}
}

// A device that holds 10,000 connections has 10,000 that are verified at the same time.
func TestConnectionsFillATable(t *testing.T) {
	longtest.Skip(t, "TestRunConnections of cmd/nodrop, with a table of the same size")
	b := newRouter(t)
	c := b.connect(syn+"ct state new ct count over 10000 drop", func(r *workload.ConnectionsRequest) {
		r.Connections, r.OpenRate, r.CloseRate = 10_500, 2000, 0
	})
	if c.Verified != 10_000 || c.TimedOut != 500 || c.Closed != 10_000 {
		t.Errorf("%d verified, %d timed out and %d closed, want 10000, 500 and 10000", c.Verified, c.TimedOut, c.Closed)
	}
}

func TestConnectionsExplainWhatIsMissing(t *testing.T) {
	b := newRouter(t)
	good := workload.ConnectionsRequest{Client: "client", Server: "servers", Clients: 1, Servers: 1, Connections: 1, Timeout: time.Second, MTU: 1500}
	for name, tc := range map[string]struct {
		change func(*workload.ConnectionsRequest)
		want   string
	}{
		"clients":   {func(r *workload.ConnectionsRequest) { r.Clients = workload.MaxHosts + 1 }, "1 to 128 of each"},
		"ports":     {func(r *workload.ConnectionsRequest) { r.Connections = 64_001 }, "ask for more clients"},
		"too many":  {func(r *workload.ConnectionsRequest) { r.Connections = workload.MaxConnections + 1 }, "1 to 200000 are possible"},
		"protocol":  {func(r *workload.ConnectionsRequest) { r.Protocol = "SCTP" }, "TCP and UDP are possible"},
		"one port":  {func(r *workload.ConnectionsRequest) { r.Server = "client" }, "give the servers another one"},
		"no port":   {func(r *workload.ConnectionsRequest) { r.Server = "p9" }, "port p9 is not known"},
		"a low MTU": {func(r *workload.ConnectionsRequest) { r.MTU = 20_000 }, "interface client has an MTU of 9198 bytes"},
	} {
		request := good
		tc.change(&request)
		if _, err := b.Connections(t.Context(), request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Connections(ctx, good); err == nil {
		t.Error("cancelled connections succeeded")
	}
	if err := netif.In(b.device.Namespace(), func() error { return exec.Command("ip", "link", "set", "servers", "down").Run() }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Connections(t.Context(), good); err == nil || !strings.Contains(err.Error(), "198.18.2.1 does not answer ARP requests") {
		t.Errorf("a link that is down: %v", err)
	}
}

package kernelstack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/workload"
)

// overUDPFast asks for connections of UDP with a short timeout: nothing is sent again.
func overUDPFast(r *workload.ConnectionsRequest) {
	r.Protocol, r.Timeout = workload.UDP, 500*time.Millisecond
}

func TestConnectionsOfUDP(t *testing.T) {
	b := newRouter(t)
	c := b.connect("", overUDPFast)
	if c.Verified != 300 || c.OpenSpan < 290*time.Millisecond || c.SetUp < c.OpenSpan || c.CloseSpan != 0 || len(c.Examples) > 0 || c.ServerDrops > 0 {
		t.Errorf("%d of 300 verified, opened in %s: %q", c.Verified, c.OpenSpan, c.Examples)
	}
	c = b.connect("", func(r *workload.ConnectionsRequest) { overUDPFast(r); r.OpenRate = 0 })
	if c.Verified != 300 {
		t.Errorf("as fast as possible: %d of 300 verified: %q", c.Verified, c.Examples)
	}
}

// Each fault of a device has a count of its own.
func TestConnectionsOfUDPFindFaults(t *testing.T) {
	b := newRouter(t)
	// Entries are gone after 1 s. Requests would make new ones, and have right answers.
	forgets := func(match string) string {
		return "}\nct timeout short { protocol udp; l3proto ip; policy = { unreplied: 1, replied: 1 }; }\n" +
			"chain forgets {\ntype filter hook forward priority filter; " + match + ` udp dport 5001 ct timeout set "short"`
	}
	// Linux limits the rate of ICMP errors.
	refused := func(c workload.Connections) int64 { return min(c.Refused, 1) * (c.Refused + c.TimedOut) }
	reset := func(c workload.Connections) int64 { return min(c.Reset, 1) * (c.Reset + c.Unanswered) }
	unanswered := func(c workload.Connections) int64 { return c.Unanswered }
	for name, tc := range map[string]struct {
		rules  string
		rate   float64
		figure func(workload.Connections) int64
		want   int64
		text   string
	}{
		"every tenth first request is dropped":  {"ct state new udp dport 5001 numgen inc mod 10 0 drop", 1000, func(c workload.Connections) int64 { return c.TimedOut }, 30, "was not established in time"},
		"every tenth first request is rejected": {"ct state new udp dport 5001 numgen inc mod 10 0 reject", 1000, refused, 30, "was refused: connection refused"},
		"a server for another": {
			"}\nchain swapped {\ntype nat hook prerouting priority dstnat; ip daddr 198.18.2.254 dnat to 198.18.2.253", 1000,
			func(c workload.Connections) int64 { return c.Wrong }, 150, "to 198.18.2.254:5001 had a wrong answer: it came from server 198.18.2.253",
		},
		"a table of 250 entries":      {"udp dport 5001 ct state new ct count over 250 drop", 1000, func(c workload.Connections) int64 { return c.Verified }, 250, "was not established in time"},
		"all entries are forgotten":   {forgets(""), 200, unanswered, 300, "had no answer in time: the datagram of the server to 198.18.2.1:"},
		"a third is forgotten":        {forgets("ip saddr 198.18.1.253"), 200, unanswered, 100, "from 198.18.1.253:"},
		"later requests are dropped":  {"ct state established udp dport 5001 drop", 1000, unanswered, 300, "had no answer in time"},
		"later requests are rejected": {"ct state established udp dport 5001 reject", 1000, reset, 300, "ended before it was closed: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b
			b.T = t
			c := b.connect(tc.rules, func(r *workload.ConnectionsRequest) { overUDPFast(r); r.OpenRate = tc.rate })
			if n := tc.figure(c); n != tc.want {
				t.Errorf("%d connections, want %d", n, tc.want)
			}
			if !strings.Contains(strings.Join(c.Examples, "; "), tc.text) {
				t.Errorf("%q, want %q", c.Examples, tc.text)
			}
		})
	}
}

// A firewall that permits connections of the clients only drops datagrams of servers on connections that it has forgotten. It translates
// no addresses.
func TestConnectionsOfUDPBehindAFirewall(t *testing.T) {
	b := newRouter(t)
	b.load(`table ip lab {
		ct timeout short { protocol udp; l3proto ip; policy = { unreplied: 1, replied: 1 }; }
		chain filter {
			type filter hook forward priority filter; policy drop;
			ip saddr 198.18.1.253 ct timeout set "short"
			iifname "client" accept
			ct state established accept
		}
	}`)
	c, err := b.Connections(t.Context(), workload.ConnectionsRequest{
		Client: "client", Server: "servers", Protocol: workload.UDP, Clients: 3, Servers: 2, Connections: 300, OpenRate: 200, Timeout: 500 * time.Millisecond, MTU: 1500,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Verified != 200 || c.Unanswered != 100 || !strings.Contains(strings.Join(c.Examples, ""), "the datagram of the server to 198.18.1.253:") {
		t.Errorf("%d verified and %d unanswered, want 200 and 100: %q", c.Verified, c.Unanswered, c.Examples)
	}
}

// A device that keeps the entry and translates the address of a later request to another port has not kept the connection.
func TestConnectionsOfUDPNoticeAnotherPort(t *testing.T) {
	b := newRouter(t)
	port := b.sourcePort(0)
	const turn = "@th,128,32 3" // behind the header of UDP and the number of the run
	c := b.connect(fmt.Sprintf(`}
	chain there { type filter hook prerouting priority raw; udp dport 5001 %[1]s udp sport set 999; }
	chain back {
		type filter hook postrouting priority srcnat + 10; udp sport 5001 udp dport 999 %[1]s udp dport set %[2]d;`, turn, port),
		func(r *workload.ConnectionsRequest) { overUDPFast(r); r.Clients, r.Servers, r.Connections = 1, 1, 1 })
	if want := fmt.Sprintf("and the first one from 198.18.2.1:%d", port); c.Wrong != 1 || !strings.Contains(strings.Join(c.Examples, ""), want) {
		t.Errorf("%d wrong: %q, want %q", c.Wrong, c.Examples, want)
	}
}

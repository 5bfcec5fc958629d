package agent

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nodrop.dev/nodrop/internal/traffic"
)

func member(port, group string, count uint32) traffic.Membership {
	return traffic.Membership{Port: port, Group: netip.MustParseAddr(group), Count: count}
}

// Every owner gets its own ports, and the moments of all come back.
func TestFleetJoinsAndLeaves(t *testing.T) {
	f, engines, _ := newFleet(t, "node-a", "node-b")
	source := member("p2", "ff35::1", 4095)
	source.Source = netip.MustParseAddr("2001:2::1")
	all := []traffic.Membership{member("p1", "239.1.0.1", 1), source, member("p3", "239.1.0.1", 7)}
	at, err := f.Join(t.Context(), all)
	must(t, "joining", err)
	if diff := cmp.Diff(traffic.Moments{"p1": 101, "p3": 102, "p2": 101}, at); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
	for i, want := range [][]traffic.Membership{{all[0], all[2]}, {all[1]}} {
		if diff := cmp.Diff(want, engines[i].memberships(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("agent %d (-want +got):\n%s", i, diff)
		}
	}
	at, err = f.Leave(t.Context(), all[:2])
	must(t, "leaving", err)
	if diff := cmp.Diff(traffic.Moments{"p1": 202, "p2": 201}, at); diff != "" {
		t.Errorf("moments (-want +got):\n%s", diff)
	}
	if got := engines[0].memberships(); !slices.Equal(got, all[2:]) {
		t.Errorf("the first agent is still in %v, want %v", got, all[2:])
	}
	if !slices.Contains(engines[1].log, "leave") || len(engines[1].memberships()) != 0 {
		t.Errorf("the second agent is still in %v", engines[1].memberships())
	}
	if _, err := f.Join(t.Context(), []traffic.Membership{member("p9", "239.1.0.1", 1)}); err == nil || !strings.Contains(err.Error(), "p9") {
		t.Errorf("joining on a port that nobody owns: %v", err)
	}
}

func TestMembershipsEndWithTheSession(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	c := l.dial(t.Context(), l.endpoint(0, address, "p1"))
	_, err := c.Join(t.Context(), []traffic.Membership{member("p1", "239.1.0.1", 1), member("p1", "239.1.0.2", 1)})
	must(t, "joining", err)
	_, err = c.Leave(t.Context(), []traffic.Membership{member("p1", "239.1.0.1", 1)})
	must(t, "leaving", err)
	must(t, "closing", c.Close())
	eventually(t, "all groups were left", func() bool { return len(engine.memberships()) == 0 })
	l.dial(t.Context(), l.endpoint(0, address, "p1")) // waits for the end of the first session
	if n := len(slices.DeleteFunc(slices.Clone(engine.log), func(s string) bool { return s != "leave" })); n != 2 {
		t.Errorf("%d times leave, want once by the controller and once at its end: %v", n, engine.log)
	}
}

// A broken connection ends the session, and with it the memberships; the client
// joins again what it has not left.
func TestMembershipsComeBack(t *testing.T) {
	l, wire := newLab(t), &cable{}
	engine := wire.engine("node-a", "p1", "p2")
	address, _ := l.serve(0, "127.0.0.1:0", engine)
	network := newProxy(t, address)
	c := l.dial(t.Context(), l.endpoint(0, network.address, "p1", "p2"))
	stays := []traffic.Membership{member("p1", "239.1.0.1", 10)}
	_, err := c.Join(t.Context(), append(stays, member("p1", "239.2.0.1", 1)))
	must(t, "joining", err)
	_, err = c.Leave(t.Context(), []traffic.Membership{member("p1", "239.2.0.1", 1)})
	must(t, "leaving", err)
	network.cut()
	eventually(t, "all groups were left", func() bool { return len(engine.memberships()) == 0 })
	// The first call may find the old connection, and report that it broke.
	eventually(t, "the streams were configured in a new session", func() bool {
		return c.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2")}) == nil
	})
	if got := engine.memberships(); !slices.Equal(got, stays) {
		t.Errorf("after the interruption the port is in %v, want %v", got, stays)
	}
	must(t, "configuring again", c.Configure(t.Context(), []traffic.Stream{pair(1, "p1", "p2")}))
	if got := engine.memberships(); !slices.Equal(got, stays) {
		t.Errorf("in the same session the port is in %v, want %v", got, stays)
	}
}

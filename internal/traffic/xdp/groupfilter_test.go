package xdp

import (
	"os"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// A port whose NIC needs the addresses of groups has exactly those that it joined.
func TestGroupsInHardware(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	has := func(mac string) bool {
		t.Helper()
		text, err := os.ReadFile("/proc/thread-self/net/dev_mcast")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, " v2 ") && strings.HasSuffix(line, mac) {
				return true
			}
		}
		return false
	}
	check := func(first, second bool) {
		t.Helper()
		if a, b := has("01005e010101"), has("01005e010102"); a != first || b != second {
			t.Errorf("the NIC has the first group: %v, the second: %v; want %v, %v", a, b, first, second)
		}
	}
	groups := func(first string, count uint32) []traffic.Membership {
		return []traffic.Membership{join("p2", first, count)}
	}
	tell := func(do func([]traffic.Membership) error, m []traffic.Membership) {
		t.Helper()
		if err := do(m); err != nil {
			t.Fatal(err)
		}
	}
	joins := func(m []traffic.Membership) error { _, err := e.Join(t.Context(), m); return err }
	leaves := func(m []traffic.Membership) error { _, err := e.Leave(t.Context(), m); return err }

	tell(joins, groups("225.1.1.1", 2))
	check(false, false) // a veth receives all
	tell(leaves, groups("225.1.1.1", 2))

	e.ports.named("p2").driver = "igbvf"
	tell(joins, groups("225.1.1.1", 2))
	tell(joins, groups("225.1.1.1", 2)) // again
	check(true, true)
	tell(leaves, groups("225.1.1.1", 1))
	check(false, true)
	if err := joins(groups("225.1.2.1", 30)); err == nil || !strings.Contains(err.Error(), "port p2 (v2)") || !strings.Contains(err.Error(), "at most 24 groups") {
		t.Errorf("30 groups more: %v", err)
	}
	tell(leaves, groups("225.1.9.1", 1)) // not joined
	tell(leaves, groups("225.1.1.2", 1)) // or the engine reports it at its end, when p1 has ended
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	check(false, false)
}

package main

import (
	"strings"
	"testing"
)

// TestRunAccessLists measures Linux without and with access lists of 201 entries on both ports, and with one that
// lacks the entry for one direction: the row names the flow that it drops.
func TestRunAccessLists(t *testing.T) {
	l := newLinuxDevice(t, 2)
	list := func(match string, more ...string) string {
		return generated(t, append([]string{"acl", "--dialect", "nftables", "--ports", "e1,e2", "--entries", "201", "--match", match}, more...)...)
	}
	const permit, missing = "198.18.1.0/24,198.18.2.0/24", "\t\tip saddr 198.18.2.0/24 counter accept\n"
	last := list("last", "--permit", permit)
	const profile = `  frameSizes: [128]
  flows:
  - {name: there, share: 50%, pattern: {partialMesh: {senders: [p1], receivers: [p2]}}, packet: {ipv4: {}}}
  - {name: back, share: 50%, pattern: {partialMesh: {senders: [p2], receivers: [p1]}}, packet: {ipv4: {}}}
`
	l.calibrate(profile, latencyAt2Percent)
	d := l.measure(profile, latencyAt2Percent,
		variant{"plain", "flush ruleset\n"},
		variant{"first", list("first", "--permit", permit)},
		variant{"last", last},
		variant{"never", list("never")},
		variant{"gap", strings.Replace(last, missing, "", 1)},
	)
	if len(d.Rows) != 5 {
		t.Fatalf("%d rows: %s", len(d.Rows), d.Message)
	}
	for _, row := range d.Rows {
		for _, f := range row.Flows {
			want := f.Sent
			if row.Variant == "gap" && f.Name == "back" {
				want = 0
			}
			if f.Sent == 0 || f.Received != want {
				t.Errorf("%s: flow %s: %d of %d frames were received, want %d", row.Variant, f.Name, f.Received, f.Sent, want)
			}
		}
		if c := d.Environment.Configurations()[row.Variant]; row.Variant != "plain" && (c.Commands != 1 || !strings.Contains(c.Software, "nftables v")) {
			t.Errorf("%s: %+v", row.Variant, c)
		}
	}
	if row := d.Rows[0]; row.Variant != "plain" {
		t.Errorf("the first row is of %s", row.Variant)
	}
}

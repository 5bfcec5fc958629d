package linux

import (
	"maps"
	"testing"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// statistics is the output of ip on a router with and an interface without labels.
const statistics = `[{"ifindex":1,"ifname":"e2","group":"afstats","subgroup":"mpls"},{"ifindex":4,"ifname":"e1","group":"afstats","subgroup":"mpls",` +
	`"mpls_stats":{"rx":{"bytes":10,"packets":1,"errors":2,"dropped":3,"noroute":4},"tx":{"bytes":50,"packets":5,"errors":6,"dropped":7}}},` +
	`{"ifindex":5,"ifname":"e3","group":"afstats","subgroup":"mpls","mpls_stats":{"rx":{"noroute":8},"tx":{}}}]`

// TestLabels reads what the kernel counts of labelled frames, at the named interfaces only.
func TestLabels(t *testing.T) {
	t.Parallel()
	out := &telemetry.Reading{}
	(&Reader{interfaces: []string{"e1", "e2"}}).labels(out, statistics)
	got := map[string]uint64{}
	for name, c := range out.Counters {
		got[name] = c.Value
	}
	want := map[string]uint64{
		"input errors of labelled frames of e1": 2, "input discards of labelled frames of e1": 3, "input frames without a label route of e1": 4,
		"output errors of labelled frames of e1": 6, "output discards of labelled frames of e1": 7,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, text := range []string{"", "Object \"stats\" is unknown", "{}"} {
		out := &telemetry.Reading{}
		if (&Reader{}).labels(out, text); len(out.Counters) > 0 {
			t.Errorf("%q: %v", text, out.Counters)
		}
	}
}

package routing

import (
	"net/netip"
	"testing"
)

func TestDigestSeesEveryDifference(t *testing.T) {
	t.Parallel()
	med := uint32(10)
	base := Routes{First: netip.MustParsePrefix("198.18.0.0/24"), Count: 8, Attributes: Attributes{ASPath: []uint32{64512, 64513}, Communities: []uint32{1, 2}}}
	want := Readvertised(65000, 65001, []Routes{base})
	other := func(f func(*Routes)) Table {
		set := base
		f(&set)
		return Readvertised(65000, 65001, []Routes{set})
	}
	if got := other(func(r *Routes) { r.Attributes.MED = &med; r.Attributes.Communities = []uint32{2, 1, 2} }); got != want {
		t.Error("MED and the order of communities change what is advertised")
	}
	for what, got := range map[string]Table{
		"prefix":      other(func(r *Routes) { r.First = netip.MustParsePrefix("198.18.1.0/24") }),
		"length":      other(func(r *Routes) { r.First = netip.MustParsePrefix("198.18.0.0/25") }),
		"stride":      other(func(r *Routes) { r.Stride = 2 }),
		"path":        other(func(r *Routes) { r.Attributes.ASPath = []uint32{64513, 64512} }),
		"communities": other(func(r *Routes) { r.Attributes.Communities = []uint32{1} }),
		"family":      other(func(r *Routes) { r.Attributes.Label = 16 }),
		"tester":      Readvertised(65000, 65002, []Routes{base}),
		"device":      Readvertised(65009, 65001, []Routes{base}),
	} {
		if got.Routes != 8 || got.Digest == want.Digest {
			t.Errorf("another %s has the same digest or not 8 routes: %v, %v", what, got, want)
		}
	}
	if got := other(func(r *Routes) { r.Attributes.Communities = []uint32{NoExport} }); got != (Table{}) {
		t.Errorf("routes that must not be exported: %v", got)
	}
}

func TestDigestOfPartsIsThatOfTheWhole(t *testing.T) {
	t.Parallel()
	whole := Routes{First: netip.MustParsePrefix("2001:2::/48"), Count: 1000}
	first, rest := whole, whole
	first.Count = 300
	rest.First, rest.Count = whole.Prefix(300), 700
	if a, b := Readvertised(1, 2, []Routes{whole}), Readvertised(1, 2, []Routes{rest}).Add(Readvertised(1, 2, []Routes{first})); a != b {
		t.Errorf("%v and %v", a, b)
	}
}

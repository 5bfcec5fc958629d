package bgp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"

	"nodrop.dev/nodrop/internal/routing"
)

func TestBookKeepsWhatIsAnnounced(t *testing.T) {
	t.Parallel()
	var b book
	whole, part := set("198.18.0.0/24", 200), set("198.18.10.0/24", 50)
	for range 100 { // flapping does not let it grow
		b.announce(whole)
		b.withdraw(part)
		part.Attributes.MED = new(uint32)
		b.announce(part)
		b.withdraw(part)
		b.announce(part)
	}
	all := b.inOrder()
	if len(all) != 3 || b.count != 3 || all[0].set.Count != 10 || all[1].set.Count != 140 || all[2].set.Attributes.MED == nil {
		t.Errorf("%d entries: %+v", b.count, all)
	}
	b.withdraw(set("198.18.0.0/24", 4096))
	if b.count != 0 || len(b.shelves) != 0 {
		t.Errorf("all is withdrawn, but %+v is left", b.inOrder())
	}
}

// A book has for every prefix the path that was announced last, as a plain map of all
// prefixes has, whatever ranges with whatever strides come and go.
func TestBookIsAMapOfPrefixes(t *testing.T) {
	t.Parallel()
	type name struct {
		prefix netip.Prefix
		path   uint32
		label  bool
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b book
		want, got := map[name]string{}, map[name]string{}
		for i := range 60 {
			first := routing.Routes{First: netip.MustParsePrefix("10.0.0.0/24")}.Prefix(r.Uint32N(40))
			if r.IntN(4) == 0 {
				first = netip.PrefixFrom(netip.MustParseAddr("2001:2::"), 64-r.IntN(2))
			}
			set := routing.Routes{Name: fmt.Sprint(i), First: first, Count: 1 + r.Uint32N(12), Stride: r.Uint32N(4), Attributes: routing.Attributes{PathID: r.Uint32N(2), Label: r.Uint32N(2) * 100}}
			out := r.IntN(3) == 0
			if out {
				b.withdraw(set)
			} else {
				b.announce(set)
			}
			for k := range set.Count {
				n := name{set.Prefix(k), set.Attributes.PathID, set.Attributes.Label > 0}
				if want[n] = fmt.Sprintf("%s label %d", set.Name, set.Part(k, 1).Attributes.Label); out {
					delete(want, n)
				}
			}
		}
		for _, e := range b.inOrder() {
			missing := e.missing()
			for k := range e.set.Count {
				if missing != nil && missing(e.set.Prefix(k)) {
					continue
				}
				n := name{e.set.Prefix(k), e.set.Attributes.PathID, e.set.Attributes.Label > 0}
				if before, twice := got[n]; twice {
					t.Fatalf("seed %d: %v is in %s and in %s", seed, n, before, e.set.Name)
				}
				label := uint32(0)
				if e.set.Attributes.Label > 0 {
					label = e.set.Attributes.Label + k
				}
				got[n] = fmt.Sprintf("%s label %d", e.set.Name, label)
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: got %v\nwant %v", seed, got, want)
		}
	}
}

// BenchmarkBook announces so many sets of one route each, withdraws every second, and
// announces all again.
func BenchmarkBook(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			range24 := routing.Routes{First: netip.MustParsePrefix("16.0.0.0/24")}
			for b.Loop() {
				var all book
				one := func(i int) routing.Routes {
					return routing.Routes{First: range24.Prefix(uint32(2 * (i * 7919 % n))), Count: 1}
				}
				for i := range n {
					all.announce(one(i))
				}
				for i := 0; i < n; i += 2 {
					all.withdraw(one(i))
				}
				for i := range n {
					all.announce(one(i))
				}
				if all.count != n {
					b.Fatalf("%d of %d", all.count, n)
				}
			}
		})
	}
}

package mrt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/mrt"

	"nodrop.dev/nodrop/internal/routing"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// entry is a path of a peer.
type entry struct {
	peer        uint16
	path        []uint32
	med         *uint32
	communities []uint32
}

// written is a dump of a collector with three peers.
type written struct {
	t *testing.T
	bytes.Buffer
}

func newDump(t *testing.T) *written {
	t.Helper()
	w := &written{t: t}
	id := netip.MustParseAddr("198.18.0.1")
	w.add(mrt.PEER_INDEX_TABLE, mrt.NewPeerIndexTable(id, "", []*mrt.Peer{
		mrt.NewPeer(id, netip.MustParseAddr("198.18.0.11"), 64511, true),
		mrt.NewPeer(id, netip.MustParseAddr("198.18.0.12"), 4200000001, true),
		mrt.NewPeer(id, netip.MustParseAddr("2001:2::13"), 64513, true),
	}))
	return w
}

func (w *written) add(kind mrt.MRTSubTypeTableDumpv2, body mrt.Body) {
	w.t.Helper()
	m := must[*mrt.MRTMessage](w.t)(mrt.NewMRTMessage(time.Unix(1_700_000_000, 0), mrt.TABLE_DUMPv2, kind, body))
	w.Write(must[[]byte](w.t)(m.Serialize()))
}

func (w *written) route(prefix string, entries ...entry) {
	w.t.Helper()
	p := netip.MustParsePrefix(prefix)
	kind := mrt.RIB_IPV4_UNICAST
	if p.Addr().Is6() {
		kind = mrt.RIB_IPV6_UNICAST
	}
	var all []*mrt.RibEntry
	for _, e := range entries {
		attributes := []bgp.PathAttributeInterface{
			bgp.NewPathAttributeOrigin(0),
			bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, e.path)}),
		}
		if e.med != nil {
			attributes = append(attributes, bgp.NewPathAttributeMultiExitDisc(*e.med))
		}
		if len(e.communities) > 0 {
			attributes = append(attributes, bgp.NewPathAttributeCommunities(e.communities))
		}
		all = append(all, mrt.NewRibEntry(e.peer, 0, 0, attributes, false))
	}
	// With RF_IPv6_UC the library writes AFI and SAFI, which only RIB_GENERIC has (RFC 6396,
	// section 4.3.2).
	w.add(kind, mrt.NewRib(0, bgp.RF_IPv4_UC, must[*bgp.IPAddrPrefix](w.t)(bgp.NewIPAddrPrefix(p)), all))
}

// small is a dump in which the second peer has the most routes of IPv4, and the third alone
// has some of IPv6.
func small(t *testing.T) []byte {
	w, med := newDump(t), uint32(7)
	path := []uint32{4200000001, 64600}
	w.route("198.18.0.0/24", entry{1, path, nil, nil}, entry{0, []uint32{64511}, nil, nil})
	w.route("198.18.1.0/24", entry{1, path, nil, nil})
	w.route("198.18.2.0/24", entry{1, path, &med, []uint32{65001<<16 | 100}})
	w.route("198.18.0.0/16", entry{1, path, nil, nil})
	w.route("2001:2:0:1::/64", entry{2, []uint32{64513}, nil, nil})
	return w.Bytes()
}

func ofPeer2() []routing.Routes {
	med := uint32(7)
	set := func(first string, count uint32, a routing.Attributes) routing.Routes {
		return routing.Routes{Name: "internet", First: netip.MustParsePrefix(first), Count: count, Stride: 1, Attributes: a}
	}
	path := []uint32{4200000001, 64600}
	return []routing.Routes{
		set("198.18.0.0/16", 1, routing.Attributes{ASPath: path}),
		set("198.18.0.0/24", 2, routing.Attributes{ASPath: path}),
		set("198.18.2.0/24", 1, routing.Attributes{ASPath: path, MED: &med, Communities: []uint32{65001<<16 | 100}}),
		set("2001:2:0:1::/64", 1, routing.Attributes{ASPath: []uint32{64513}}),
	}
}

// compressedByBzip2 is a dump with one route, 198.18.0.0/24 by AS 64511, as the program bzip2
// compresses it; Go can only decompress.
const compressedByBzip2 = "QlpoOTFBWSZTWYsCqjcAACz/BfmOGEDAAAAIQAAJAAIAAQAAECAcoABUNIaRgRgGgjJpID1NAaBLpOQ75IWYjGJVJIh0ExDIsL6ra1PSzVivDHr1kD2RVYGqmrYR7c6hEGEQJEuDou5IpwoSEWBVRuA="

func TestRead(t *testing.T) {
	t.Parallel()
	plain := small(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain": plain, "gzip": zipped.Bytes()} {
		got, err := Read(bytes.NewReader(content), "internet", netip.Addr{})
		if err != nil || !reflect.DeepEqual(got, ofPeer2()) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, ofPeer2())
		}
	}
	one := routing.Routes{Name: "one", First: netip.MustParsePrefix("198.18.0.0/24"), Count: 1, Stride: 1, Attributes: routing.Attributes{ASPath: []uint32{64511}}}
	got, err := Read(bytes.NewReader(plain), "one", netip.MustParseAddr("198.18.0.11"))
	if err != nil || !reflect.DeepEqual(got, []routing.Routes{one}) {
		t.Errorf("of the first peer: %+v, %v", got, err)
	}
	packed, err := base64.StdEncoding.DecodeString(compressedByBzip2)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(bytes.NewReader(packed), "one", netip.Addr{}); err != nil || !reflect.DeepEqual(got, []routing.Routes{one}) {
		t.Errorf("bzip2: %+v, %v", got, err)
	}
}

func TestDumpsThatAreNone(t *testing.T) {
	t.Parallel()
	whole := small(t)
	without := newDump(t)
	for want, c := range map[string]struct {
		content []byte
		peer    string
	}{
		"the dump is empty":                         {content: nil},
		"this is no dump in MRT":                    {content: []byte("# a text file, and no dump of a routing table")},
		"unexpected EOF":                            {content: whole[:len(whole)-1]},
		"the dump has no unicast routes (RFC 6396":  {content: without.Bytes()},
		"the dump has no peer 198.18.0.99: its 3":   {content: whole, peer: "198.18.0.99"},
		"record 1 of the dump: its type is 16, and": {content: append([]byte{0, 0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 0}, whole...)},
		"decompressing the dump: ":                  {content: []byte{0x1f, 0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		var peer netip.Addr
		if c.peer != "" {
			peer = netip.MustParseAddr(c.peer)
		}
		if got, err := Read(bytes.NewReader(c.content), "internet", peer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
}

// A dump has the tables of up to 65,535 peers, of which one is needed: the others are counted and not
// kept, and several paths of a peer to a prefix count once.
func TestDumpKeepsOnePeer(t *testing.T) {
	t.Parallel()
	w := newDump(t)
	for i := range 100 {
		prefix := fmt.Sprintf("198.18.%d.0/24", i)
		w.route(prefix, entry{peer: 0, path: []uint32{64511}}, entry{peer: 1, path: []uint32{64512}}, entry{peer: 1, path: []uint32{64513}}, entry{peer: 2, path: []uint32{64514}})
	}
	counted, kept := dump{}, dump{keeps: true, keep: [2]uint16{1, 1}, interned: map[string]string{}}
	for _, d := range []*dump{&counted, &kept} {
		if err := d.read(bytes.NewReader(w.Bytes())); err != nil {
			t.Fatal(err)
		}
		if want := map[uint16]int{0: 100, 1: 100, 2: 100}; !maps.Equal(d.count[0], want) {
			t.Errorf("counted %v, want %v", d.count[0], want)
		}
	}
	if len(counted.routes[0]) != 0 || len(kept.routes[0]) != 100 || len(kept.interned) != 1 {
		t.Errorf("kept %d and %d routes, and %d attributes; want 0, 100 and 1", len(counted.routes[0]), len(kept.routes[0]), len(kept.interned))
	}
}

// FuzzRead holds the reader to an end, with routes or a reason.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 13, 0, 1, 0, 0, 0, 8, 198, 18, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if all, err := Read(bytes.NewReader(b), "x", netip.Addr{}); err == nil {
			for _, r := range all {
				if err := r.Check(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

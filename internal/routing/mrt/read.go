// Package mrt reads routes from dumps of routing tables in MRT (RFC 6396, TABLE_DUMP_V2), as
// route collectors publish them.
package mrt

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/mrt"

	"nodrop.dev/nodrop/internal/routing"
)

// MaxRoutes is the maximum number of routes that are read from a dump.
const MaxRoutes = 4_000_000

// maxRecord bounds a record: one prefix with the paths of all peers of a collector.
const maxRecord = 16 << 20

// Read reads the unicast routes of a dump, of IPv4 and IPv6. It detects by the content whether
// the dump is compressed by gzip or bzip2. A dump has the tables of many peers. For each IP
// version, Read takes the routes of the peer with the most, or of the peer with an address, if
// that is valid. Prefixes that follow each other and have the same attributes are one set; all
// sets have the name. Next hops are left out, and so are attributes other than AS_PATH,
// MULTI_EXIT_DISC and COMMUNITIES; the members of an AS_SET follow in the path like a
// sequence.
//
// The dump is read twice: first to count the routes of each peer, and then to keep the routes of the
// chosen peers.
func Read(r io.ReadSeeker, name string, peer netip.Addr) ([]routing.Routes, error) {
	var counted dump
	if err := counted.read(r); err != nil {
		return nil, err
	}
	kept := dump{keeps: true, interned: map[string]string{}}
	found := 0
	for version, count := range counted.count {
		kept.keep[version] = counted.chosen(count, peer)
		n := count[kept.keep[version]]
		if n > MaxRoutes {
			return nil, fmt.Errorf("the dump has %d routes of one peer, more than %d", n, MaxRoutes)
		}
		found += n
	}
	if found == 0 {
		return nil, counted.nothing(peer)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the dump again: %w", err)
	}
	if err := kept.read(r); err != nil {
		return nil, err
	}
	return kept.sets(name), nil
}

// read takes all records of a dump in.
func (d *dump) read(r io.Reader) error {
	plain, err := decompressed(r)
	if err != nil {
		return err
	}
	scanner := bufio.NewScanner(plain)
	scanner.Buffer(nil, maxRecord)
	scanner.Split(record)
	for scanner.Scan() {
		d.records++
		if err := d.take(scanner.Bytes()); err != nil {
			return fmt.Errorf("record %d of the dump: %w", d.records, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading the dump: %w", err)
	}
	return nil
}

// decompressed is the content of a dump that may be compressed.
func decompressed(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	magic, err := b.Peek(3)
	switch {
	case err != nil:
		return nil, errors.New("the dump is empty: give a dump of a routing table in MRT (RFC 6396)")
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("decompressing the dump: %w", err)
		}
		return z, nil
	case string(magic) == "BZh":
		return bzip2.NewReader(b), nil
	}
	return b, nil
}

// record cuts one record of a stream.
func record(data []byte, end bool) (advance int, token []byte, err error) {
	if len(data) < mrt.MRT_COMMON_HEADER_LEN {
		if end && len(data) > 0 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		return 0, nil, nil
	}
	length := uint64(binary.BigEndian.Uint32(data[8:])) + mrt.MRT_COMMON_HEADER_LEN
	switch {
	case length > maxRecord:
		return 0, nil, fmt.Errorf("a record has %d bytes, more than any of a routing table: this is no dump in MRT", length)
	case uint64(len(data)) >= length:
		return int(length), data[:length], nil
	case end:
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// route is one prefix of a peer with its attributes, which are shared.
type route struct {
	prefix     netip.Prefix
	attributes string
}

// dump contains what was read so far. Arrays have IPv4 and IPv6.
type dump struct {
	records int
	peers   []netip.Addr
	// seen has by the index of a peer the last record with a path of it.
	seen []int
	// count has the number of routes by the index of the peer.
	count [2]map[uint16]int
	// keeps reports whether routes of the peers in keep are kept.
	keeps  bool
	keep   [2]uint16
	routes [2][]route
	// interned are the attributes, each once.
	interned map[string]string
}

// take takes a record in. Records that are no unicast routes are left out.
func (d *dump) take(b []byte) error {
	h, err := mrt.ParseHeader(b)
	if err != nil {
		return err
	}
	if h.Type != mrt.TABLE_DUMPv2 {
		return fmt.Errorf("its type is %d, and a dump of a routing table has records of type 13, TABLE_DUMP_V2", h.Type)
	}
	switch mrt.MRTSubTypeTableDumpv2(h.SubType) {
	case mrt.PEER_INDEX_TABLE, mrt.RIB_IPV4_UNICAST, mrt.RIB_IPV6_UNICAST, mrt.RIB_IPV4_UNICAST_ADDPATH, mrt.RIB_IPV6_UNICAST_ADDPATH:
	default:
		return nil
	}
	m, err := mrt.ParseBody(b[mrt.MRT_COMMON_HEADER_LEN:], h)
	if err != nil {
		return err
	}
	switch body := m.Body.(type) {
	case *mrt.PeerIndexTable:
		for _, p := range body.Peers {
			d.peers = append(d.peers, p.IpAddress)
		}
		d.seen = make([]int, len(d.peers))
	case *mrt.Rib:
		return d.rib(body)
	}
	return nil
}

// rib takes the paths to one prefix in: of each peer the first.
func (d *dump) rib(r *mrt.Rib) error {
	n, ok := r.Prefix.(*bgp.IPAddrPrefix)
	if !ok {
		return nil
	}
	version := 0
	if n.Prefix.Addr().Is6() {
		version = 1
	}
	if d.count[version] == nil {
		d.count[version] = map[uint16]int{}
	}
	for _, e := range r.Entries {
		if int(e.PeerIndex) >= len(d.peers) {
			return fmt.Errorf("the path to %v is of peer number %d, and the dump has %d", n.Prefix, e.PeerIndex, len(d.peers))
		}
		if d.seen[e.PeerIndex] == d.records {
			continue
		}
		d.seen[e.PeerIndex] = d.records
		d.count[version][e.PeerIndex]++
		if d.keeps && e.PeerIndex == d.keep[version] {
			d.routes[version] = append(d.routes[version], route{n.Prefix.Masked(), d.intern(e.PathAttributes)})
		}
	}
	return nil
}

// intern is the encoded form of what a route keeps of its attributes.
func (d *dump) intern(all []bgp.PathAttributeInterface) string {
	var path, communities []uint32
	med := []uint32{}
	for _, a := range all {
		switch a := a.(type) {
		case *bgp.PathAttributeAsPath:
			for _, s := range a.Value {
				path = append(path, s.GetAS()...)
			}
		case *bgp.PathAttributeMultiExitDisc:
			med = []uint32{a.Value}
		case *bgp.PathAttributeCommunities:
			communities = a.Value
		}
	}
	var b []byte
	for _, list := range [][]uint32{path, med, communities} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
		for _, n := range list {
			b = binary.BigEndian.AppendUint32(b, n)
		}
	}
	if known, ok := d.interned[string(b)]; ok {
		return known
	}
	text := string(b)
	d.interned[text] = text
	return text
}

// attributes decodes the attributes of a route.
func attributes(text string) (a routing.Attributes) {
	b := []byte(text)
	list := func() (all []uint32) {
		n := binary.BigEndian.Uint32(b)
		b = b[4:]
		for range n {
			all = append(all, binary.BigEndian.Uint32(b))
			b = b[4:]
		}
		return all
	}
	a.ASPath = list()
	if med := list(); len(med) > 0 {
		a.MED = &med[0]
	}
	a.Communities = list()
	return a
}

// sets returns the kept routes, IPv4 first.
func (d *dump) sets(name string) []routing.Routes {
	var all []routing.Routes
	shared := map[string]routing.Attributes{}
	for _, routes := range d.routes {
		slices.SortFunc(routes, func(x, y route) int {
			return cmp.Or(cmp.Compare(x.prefix.Bits(), y.prefix.Bits()), x.prefix.Addr().Compare(y.prefix.Addr()))
		})
		before := ""
		for _, r := range routes {
			if n := len(all); before == r.attributes && n > 0 {
				last := &all[n-1]
				if last.First.Bits() == r.prefix.Bits() && last.First.Addr().BitLen() == r.prefix.Addr().BitLen() && last.Prefix(last.Count) == r.prefix {
					last.Count++
					continue
				}
			}
			before = r.attributes
			a, ok := shared[before]
			if !ok {
				a = attributes(before)
				shared[before] = a
			}
			all = append(all, routing.Routes{Name: name, First: r.prefix, Count: 1, Stride: 1, Attributes: a})
		}
	}
	return all
}

// chosen returns the index of the peer with an address, or without one of that with the most routes.
func (d *dump) chosen(count map[uint16]int, peer netip.Addr) uint16 {
	most, found := uint16(0), -1
	for i := range d.peers {
		n := count[uint16(i)]
		if (!peer.IsValid() || d.peers[i] == peer) && n > found {
			most, found = uint16(i), n
		}
	}
	if found < 0 {
		return uint16(len(d.peers)) // has no routes
	}
	return most
}

// nothing returns an error that explains why no route was found.
func (d *dump) nothing(peer netip.Addr) error {
	if peer.IsValid() && !slices.Contains(d.peers, peer) {
		return fmt.Errorf("the dump has no peer %v: its %d peers begin with %v", peer, len(d.peers), d.peers[:min(3, len(d.peers))])
	}
	if peer.IsValid() {
		return fmt.Errorf("the dump has no unicast routes of peer %v: leave peer out for the one with the most", peer)
	}
	return errors.New("the dump has no unicast routes (RFC 6396, RIB_IPV4_UNICAST, RIB_IPV6_UNICAST)")
}

package bgp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

// FuzzMessages holds the reader and the table to never crashing, and a table to having no
// more routes than came. Run it with: go test -fuzz FuzzMessages ./internal/routing/bgp
func FuzzMessages(f *testing.F) {
	s := tester(0)
	s.Families = []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast, routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast}
	var all []byte
	for _, addPath := range []bgp.BGPAddPathMode{0, bgp.BGP_ADD_PATH_BOTH} {
		p := packer{session: &s, addPath: map[bgp.Family]bgp.BGPAddPathMode{}}
		for _, rf := range families {
			p.addPath[rf] = addPath
		}
		four, six := set("198.18.0.0/24", 3), set("2001:2::/48", 3)
		lfour, lsix := four, six
		lfour.Attributes.Label, lsix.Attributes.Label = 16, 17
		for _, r := range []routing.Routes{four, six, lfour, lsix} {
			for _, withdraw := range []bool{false, true} {
				if err := p.pack(r, withdraw, nil, func(c chunk) error {
					f.Add(bytes.Clone(c.bytes), addPath > 0)
					all = append(all, c.bytes...)
					return nil
				}); err != nil {
					f.Fatal(err)
				}
			}
		}
	}
	f.Add(all, false)
	for _, m := range []*bgp.BGPMessage{opening(nil), bgp.NewBGPKeepAliveMessage(), bgp.NewBGPNotificationMessage(6, 2, []byte("\x03abc")), bgp.NewBGPRouteRefreshMessage(1, 0, 1)} {
		f.Add(serialize(m), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, addPath bool) {
		o := &bgp.MarshallingOption{AddPath: map[bgp.Family]bgp.BGPAddPathMode{}}
		for _, rf := range families {
			if addPath {
				o.AddPath[rf] = bgp.BGP_ADD_PATH_BOTH
			} else {
				o.AddPath[rf] = 0
			}
		}
		table, r, buffer := newTable(65001), bytes.NewReader(b), make([]byte, maxLength)
		for {
			m, err := read(r, buffer, o)
			if err != nil {
				if ended(err).text == "" {
					t.Error("a failure without a cause")
				}
				return
			}
			switch body := m.Body.(type) {
			case *bgp.BGPUpdate:
				table.update(body)
				if table.Routes > table.Updates || table.Routes != uint64(len(table.small)+len(table.large)) || table.Routes == 0 && table.Digest != 0 {
					t.Errorf("%+v with %d and %d routes", table.Learnt, len(table.small), len(table.large))
				}
			case *bgp.BGPNotification:
				if notified(body).text == "" {
					t.Error("a NOTIFICATION without words")
				}
			case *bgp.BGPOpen:
				s := tester(0)
				_, _ = agree(&s, body)
			}
		}
	})
}

// TestPackedMessagesAreWhatTheyMean reads back what the packer writes.
func TestPackedMessagesAreWhatTheyMean(t *testing.T) {
	t.Parallel()
	s := tester(0)
	s.Families = []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast, routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast}
	for _, mode := range []bgp.BGPAddPathMode{0, bgp.BGP_ADD_PATH_BOTH} {
		o := &bgp.MarshallingOption{AddPath: map[bgp.Family]bgp.BGPAddPathMode{}}
		for _, rf := range families {
			o.AddPath[rf] = mode
		}
		p := packer{session: &s, addPath: o.AddPath}
		for _, first := range []string{"198.18.0.0/24", "0.0.0.0/32", "2001:2::/48", "2001:2::/128", "2001:2::/61"} {
			for _, label := range []uint32{0, 500} {
				r := set(first, 30_000)
				r.Attributes.Label, r.Attributes.PathID = label, 9
				got := newTable(65999)
				feed := func(c chunk) error {
					for reader, buffer := bytes.NewReader(c.bytes), make([]byte, maxLength); reader.Len() > 0; {
						m, err := read(reader, buffer, o)
						if err != nil {
							return err
						}
						got.update(m.Body.(*bgp.BGPUpdate))
					}
					return nil
				}
				if err := p.pack(r, false, nil, feed); err != nil {
					t.Fatal(err)
				}
				path := routing.PathDigest(append([]uint32{s.LocalASN}, r.Attributes.ASPath...), nil, r.Attributes.Communities)
				var want routing.Table
				for i := range r.Count {
					want = want.Add(routing.Table{Routes: 1, Digest: routing.RouteDigest(r.Family(), r.Prefix(i), path)})
				}
				if got.Table != want {
					t.Errorf("%s label %d: %+v, want %+v", first, label, got.Table, want)
				}
				odd := func(p netip.Prefix) bool { i, _ := r.Index(p); return i%2 == 1 }
				if err := p.pack(r, true, odd, feed); err != nil {
					t.Fatal(err)
				}
				if got.Routes != 15_000 || got.Withdrawn != 15_000 {
					t.Errorf("%s label %d: %+v after half was withdrawn", first, label, got.Learnt)
				}
			}
		}
	}
}

package plan

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// peers gives the bed a session on every port, and the profile these routes.
func peers(sets ...v1alpha1.RouteSet) func(*objects) {
	return func(o *objects) {
		o.bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
			{Name: "peer", ASN: 65001},
		}}}
		if len(sets) > 0 {
			o.profile.Spec.Routing = &v1alpha1.ProfileRouting{Routes: sets}
		}
	}
}

// modelled makes the bed a simulated one with as many ports, with sessions and routes.
func modelled(ports int32, sets ...v1alpha1.RouteSet) func(*objects) {
	return func(o *objects) {
		simulated(ports)(o)
		peers(sets...)(o)
	}
}

func eight() v1alpha1.RouteSet {
	return v1alpha1.RouteSet{Name: "networks", First: "20.0.128.0/24", Count: 8}
}

func TestSessions(t *testing.T) {
	o := router(func(o *objects) {
		o.bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
			{Name: "peer", ASN: 65001},
			{Name: "more", Port: "p2", ASN: 4200000000, Count: 2, Address: "198.18.2.10", Families: []v1alpha1.BGPFamily{"ipv4Unicast", "ipv6Unicast"}, BFD: &v1alpha1.BFD{}},
			{Name: "inner", Port: "p1", ASN: 65000, Count: 2, Address: "2001:2:0:1::10", Families: []v1alpha1.BGPFamily{"ipv6Unicast"}, PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: "inner"}},
		}}}
	})
	sessions, errs := Sessions(&o.bed)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	var got []string
	for _, s := range sessions {
		got = append(got, fmt.Sprintf("%s %s %s AS%d to %s AS%d id %s %v %s", s.Name, s.Port, s.Local, s.LocalASN, s.Remote, s.RemoteASN, s.RouterID, s.Families, s.HoldTime))
	}
	want := []string{
		"peer-p1 p1 198.18.1.2 AS65001 to 198.18.1.1 AS65000 id 198.18.1.2 [ipv4Unicast] 1m30s",
		"peer-p2 p2 198.18.2.2 AS65002 to 198.18.2.1 AS65000 id 198.18.2.2 [ipv4Unicast] 1m30s",
		"more p2 198.18.2.10 AS4200000000 to 198.18.2.1 AS65000 id 198.18.2.10 [ipv4Unicast ipv6Unicast] 1m30s",
		"more-2 p2 198.18.2.11 AS4200000001 to 198.18.2.1 AS65000 id 198.18.2.11 [ipv4Unicast ipv6Unicast] 1m30s",
		"inner p1 2001:2:0:1::10 AS65000 to 2001:2:0:1::1 AS65000 id 198.18.1.2 [ipv6Unicast] 1m30s",
		"inner-2 p1 2001:2:0:1::11 AS65000 to 2001:2:0:1::1 AS65000 id 198.18.1.3 [ipv6Unicast] 1m30s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sessions\n%q\nwant\n%q", got, want)
	}
	if b := sessions[2].BFD; b == nil || *b != (routing.BFD{Interval: 150 * time.Millisecond, Multiplier: 3}) {
		t.Errorf("BFD %+v", b)
	}
	if p := sessions[5].Password; p == nil || p.Key != "inner" {
		t.Errorf("password %+v", p)
	}
}

func TestNth(t *testing.T) {
	for _, tc := range []struct {
		first     string
		stride, n uint32
		want      string
	}{
		{"198.19.128.0/24", 1, 0, "198.19.128.0/24"},
		{"198.19.128.0/24", 1, 255, "198.20.127.0/24"},
		{"198.19.128.0/24", 4, 3, "198.19.140.0/24"},
		{"10.0.0.0/8", 1, 245, "255.0.0.0/8"},
		{"10.0.0.0/8", 1, 246, "invalid Prefix"},
		{"198.18.0.0/30", 1, 65536, "198.22.0.0/30"},
		{"198.18.0.7/32", 1, 200000, "198.21.13.71/32"},
		{"2001:2::/64", 1, 65537, "2001:2:1:1::/64"},
		{"2001:2::/49", 3, 1, "2001:2:1:8000::/49"},
		{"ffff::/16", 1, 1, "invalid Prefix"},
	} {
		if got := nth(netip.MustParsePrefix(tc.first), tc.stride, tc.n); got.String() != tc.want {
			t.Errorf("prefix %d of %s with stride %d is %s, want %s", tc.n, tc.first, tc.stride, got, tc.want)
		}
	}
}

// Every session announces its own networks, and frames go to one address in each.
func TestStreamsToNetworks(t *testing.T) {
	o := router(modelled(256, eight()))
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sessions) != 256 || len(p.Announcements) != 256 || len(p.Streams) != 256 {
		t.Fatalf("%d sessions, %d announcements, %d streams", len(p.Sessions), len(p.Announcements), len(p.Streams))
	}
	if a := p.Announcements[255]; a.First.String() != "20.8.120.0/24" || a.Last().String() != "20.8.127.0/24" {
		t.Errorf("the last session announces %s to %s", a.First, a.Last())
	}
	s := p.Streams[0]
	want := traffic.Headers{
		SrcIP: netip.MustParseAddr("198.18.0.2"), SrcIPCount: 1, DstIP: netip.MustParseAddr("20.0.136.1"), DstIPCount: 8, DstIPBits: 24,
		SrcPort: 20001, SrcPortCount: 1, DstPort: 9, DstPortCount: 1,
	}
	if fmt.Sprint(s.Headers) != fmt.Sprint(want) || s.NextHop() != netip.MustParseAddr("198.18.0.1") {
		t.Errorf("stream %+v to %s, want %+v", s.Headers, s.NextHop(), want)
	}
	whole := p.At(Bytes(64)).FramesPerSecond(Share(v1alpha1.PPM))
	o = router(simulated(256))
	plain, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.At(Bytes(64)).FramesPerSecond(Share(v1alpha1.PPM)); got.Cmp(whole) != 0 {
		t.Errorf("a load is %s frames/s with networks, and %s without", whole, got)
	}
	head, tail := s.Split(3)
	if head.Headers.DstIPCount != 3 || tail.Headers.DstIP != netip.MustParseAddr("20.0.139.1") || tail.Headers.DstIPCount != 5 || head.Times != 3 || tail.Times != 5 || head.Part != 8 || tail.Part != 8 {
		t.Errorf("split into %+v and %+v", head, tail)
	}
}

// Frames go by the preferred path: other sessions that announce the same networks get
// none, and are known as further paths.
func TestPathsOfNetworks(t *testing.T) {
	shared := new(true)
	first, second := eight(), eight()
	first.Sessions, second.Name, second.Sessions, second.ASPath, second.Shared = []string{"peer-p2"}, "second", []string{"peer-p3", "peer-p4"}, []int64{64512}, shared
	third := eight()
	third.Name, third.Traffic, third.First, third.Count = "covering", new(false), "20.0.0.0/14", 1
	third.Sessions = []string{"peer-p1"}
	longer := second
	longer.Name, longer.Sessions, longer.ASPath = "third", []string{"peer-p4"}, []int64{64512, 64513}
	second.Sessions = second.Sessions[:1]
	o := router(modelled(4, longer, second, first, third))
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Streams {
		text := fmt.Sprintf("%d>%d %s x%d", s.Tx, s.Rx[0], s.Headers.DstIP, s.Headers.DstIPCount)
		if s.Networks != nil {
			for _, other := range s.Networks.Others {
				text += " or " + p.Sessions[p.Announcements[other].Session].Name
			}
		}
		got = append(got, text)
	}
	want := []string{"0>1 20.0.128.1 x8 or peer-p3 or peer-p4", "1>0 198.18.0.2 x1", "2>3 198.19.128.2 x1", "3>2 198.19.0.2 x1"}
	if !slices.Equal(got, want) {
		t.Errorf("streams %q, want %q", got, want)
	}
}

func TestRoutesAreRefused(t *testing.T) {
	set := func(change func(*v1alpha1.RouteSet)) v1alpha1.RouteSet {
		s := eight()
		change(&s)
		return s
	}
	session := func(change func(*v1alpha1.BGPSession)) func(*objects) {
		return func(o *objects) {
			peers()(o)
			change(&o.bed.Spec.Routing.BGP.Sessions[0])
		}
	}
	for name, tc := range map[string]struct {
		change func(*objects)
		want   []string
	}{
		"an engine without sessions": {func(o *objects) {
			peers(eight())(o)
			o.bed.Spec.Engine.Kind = v1alpha1.EngineTRex
		}, []string{"TestBed/bed.spec.routing.bgp.sessions[0]: Invalid value: \"trex\"", "cannot hold BGP sessions"}},
		"a bed without sessions": {func(o *objects) {
			modelled(4, eight())(o)
			o.bed.Spec.Routing = nil
		}, []string{"TrafficProfile/profile.spec.routing.routes: Invalid value: 1: test bed bed has no sessions", "add routing.bgp or routing.ldp to the bed"}},
		"an unknown session": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.Sessions = []string{"peer-p9"} })),
			[]string{`routing.routes[0].sessions[0]: Invalid value: "peer-p9"`, "its 4 sessions are peer-p1 to peer-p4"}},
		"another family": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.First = "2001:2::/64" })),
			[]string{`routing.routes[0].first: Invalid value: "2001:2::/64"`, "no session of test bed bed carries ipv6Unicast"}},
		"beyond the last address": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.First, s.Count = "255.255.0.0/24", 200 })),
			[]string{"routing.routes[0].count: Invalid value: 200: the routes of session peer-p2 go beyond the last address"}},
		"the network of a port": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.First, s.Count = "198.17.255.0/24", 4 })),
			[]string{"routing.routes[0].first", "reach into 198.18.0.0/17, the network of port p1"}},
		"overlapping sets": {modelled(4, eight(), set(func(s *v1alpha1.RouteSet) { s.Name, s.First, s.Sessions = "more", "20.0.130.0/24", []string{"peer-p1"} })),
			[]string{"routing.routes[1].first", "begin within those of session peer-p1"}},
		"paths of one length": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.Shared = new(true) })),
			[]string{"routing.routes[0].asPath", "AS paths of one length"}},
		"labels on unicast": {modelled(4, set(func(s *v1alpha1.RouteSet) { s.Label, s.Traffic = 1000, new(false) })),
			[]string{"routing.routes[0].first", "no session of test bed bed carries ipv4LabeledUnicast"}},
		"two paths of a session": {modelled(4, eight(), set(func(s *v1alpha1.RouteSet) { s.Name, s.ASPath = "longer", []int64{64512} })),
			[]string{"routing.routes[1].first", "session peer-p1 announces the same networks as routes networks and longer, and each path replaces the one before it: give the session addPath, or name other sessions"}},
		"labels of some paths": {func(o *objects) {
			modelled(4, eight(), set(func(s *v1alpha1.RouteSet) {
				s.Name, s.Sessions, s.Label, s.Traffic, s.Shared = "paths", []string{"labels"}, 1000, new(false), new(true)
			}))(o)
			o.profile.Spec.Routing.Routes[0].Sessions = []string{"peer-p2"}
			o.bed.Spec.Routing.BGP.Sessions = append(o.bed.Spec.Routing.BGP.Sessions, v1alpha1.BGPSession{Name: "labels", Port: "p1", ASN: 65100, Address: "198.18.0.9", Families: []v1alpha1.BGPFamily{"ipv4LabeledUnicast"}})
		}, []string{"routing.routes[1].label: Invalid value: 1000: routes networks and paths are to the same networks, and only one has labels"}},
		"more than the engine counts": {func(o *objects) {
			modelled(512, set(func(s *v1alpha1.RouteSet) { s.First, s.Count, s.Stride = "100.0.0.0/24", 4, 2 }), set(func(s *v1alpha1.RouteSet) { s.Name = "more" }))(o)
			o.profile.Spec.Pattern = v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}}
		}, []string{"routing.routes: Invalid value: 523264: the pattern to the networks of these routes makes 523264 streams"}},
		"a session on no port": {session(func(s *v1alpha1.BGPSession) { s.Port = "p9" }),
			[]string{"TestBed/bed.spec.routing.bgp.sessions[0].port: Invalid value: \"p9\""}},
		"sessions that do not fit": {session(func(s *v1alpha1.BGPSession) { s.Port, s.Count = "p1", 300 }),
			[]string{"sessions[0].count: Invalid value: 300", "do not fit into 198.18.1.0/24, the network of port p1"}},
		"an address elsewhere": {session(func(s *v1alpha1.BGPSession) { s.Port, s.Address = "p1", "198.18.2.9" }),
			[]string{"sessions[0].address: Invalid value: \"198.18.2.9\"", "outside of 198.18.1.0/24"}},
		"the address of the gateway": {session(func(s *v1alpha1.BGPSession) { s.Port, s.Address, s.DeviceAddress = "p1", "198.18.1.1", "198.18.1.3" }),
			[]string{"sessions[0].address", "would have the address of the gateway of port p1"}},
		"AS numbers beyond the last": {session(func(s *v1alpha1.BGPSession) { s.ASN = 4294967295 }),
			[]string{"sessions[0].asn: Invalid value: 4294967295", "count up to 4294967296"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := router(tc.change)
			refusal(t, o, tc.want)
		})
	}
}

// Engines whose destinations do not count up by networks send one stream to each.
func TestNetworksWithoutStrides(t *testing.T) {
	o := router(modelled(4, eight()))
	ports, errs := Ports(&o.bed)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	all := streams(&o.profile, routed(&o.profile, &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 100}}))
	if len(all) != 4*8 || all[1].Headers.DstIP != netip.MustParseAddr("20.0.137.1") || all[1].Headers.DstIPCount != 1 || all[1].Headers.DstIPBits != 24 || all[1].Part != 8 {
		t.Errorf("%d streams, the second %+v", len(all), all[1])
	}
	o.profile.Spec.Routing.Routes[0].First = "198.200.0.0/32"
	all = streams(&o.profile, routed(&o.profile, &o.bed, ports, traffic.Capabilities{Limits: traffic.Limits{MaxStreams: 100}}))
	if len(all) != 4 || all[0].Headers.DstIPCount != 8 || all[0].Headers.DstIPBits != 32 {
		t.Errorf("%d streams, the first %+v", len(all), all[0])
	}
}

// Sets with the same networks are further paths of a session with add-path, each with an
// identifier, and the device advertises all of them where add-path is.
func TestFurtherPathsOfASession(t *testing.T) {
	longer := eight()
	longer.Name, longer.ASPath, longer.Traffic = "longer", []int64{64512}, new(false)
	o := router(modelled(2, eight(), longer))
	o.profile.Spec.Routing.Routes[0].Sessions, o.profile.Spec.Routing.Routes[1].Sessions = []string{"peer-p1"}, []string{"peer-p1"}
	o.bed.Spec.Routing.BGP.Sessions[0].AddPath = new(true)
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Announcements; len(a) != 2 || a[0].Attributes.PathID != 1 || a[1].Attributes.PathID != 2 {
		t.Fatalf("%+v", a)
	}
	all := func(int) bool { return true }
	want := routing.Readvertised(65000, 65001, []routing.Routes{p.Announcements[0].Routes}).Add(routing.Readvertised(65000, 65001, []routing.Routes{p.Announcements[1].Routes}))
	if got := p.Advertised(1, all); got != want || got.Routes != 16 {
		t.Errorf("with add-path %+v, want %+v", got, want)
	}
	p.Sessions[1].AddPath = false
	if got := p.Advertised(1, all); got != routing.Readvertised(65000, 65001, []routing.Routes{p.Announcements[0].Routes}) {
		t.Errorf("without add-path %+v", got)
	}
}

// Labeled routes are announced on the sessions that carry them, from the label on.
func TestLabeledRoutes(t *testing.T) {
	paths := eight()
	paths.Label, paths.Traffic = 1000, new(false)
	o := router(modelled(2, paths))
	o.bed.Spec.Routing.BGP.Sessions[0].Families = []v1alpha1.BGPFamily{"ipv4LabeledUnicast", "ipv6Unicast"}
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	if p.Sessions[0].Local.Is6() || len(p.Announcements) != 2 || p.Announcements[1].Attributes.Label != 1000 || p.Announcements[1].First.String() != "20.0.136.0/24" {
		t.Fatalf("%v %+v", p.Sessions[0].Local, p.Announcements)
	}
	if part := p.Announcements[1].Part(3, 2); part.Attributes.Label != 1003 || part.First.String() != "20.0.139.0/24" || part.Count != 2 {
		t.Errorf("%+v", part)
	}
	if got := p.Advertised(0, func(int) bool { return true }); got.Routes != 8 {
		t.Errorf("%+v", got)
	}
}

// The routes of a dump are announced by one session, with the attributes that they have
// there, and no frames go to them.
func TestRoutesOfADump(t *testing.T) {
	// with has the second set from a dump, with the routes that were read from it.
	with := func(session string, routes ...routing.Routes) *objects {
		o := router(modelled(2, eight(), v1alpha1.RouteSet{Name: "internet", Sessions: []string{session}, Traffic: new(false), MRT: &v1alpha1.MRTDump{File: "rib.gz"}}))
		if routes != nil {
			o.profile.Spec.Routing.Routes[1].MRT.Routes = &v1alpha1.DumpedRoutes{Sets: routes}
		}
		return o
	}
	four := routing.Routes{Name: "internet", First: netip.MustParsePrefix("20.1.0.0/24"), Count: 2, Stride: 1, Attributes: routing.Attributes{ASPath: []uint32{64512, 64513}}}
	six := routing.Routes{Name: "internet", First: netip.MustParsePrefix("2001:2:9::/48"), Count: 1, Stride: 1}
	o := with("peer-p1", four, six)
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Announcements) != 3 || p.Announcements[2].Session != 0 || !reflect.DeepEqual(p.Announcements[2].Routes, four) {
		t.Errorf("announcements %+v", p.Announcements)
	}
	for _, s := range p.Streams {
		if s.Networks == nil || s.Networks.Announcement == 2 {
			t.Errorf("a stream goes to %+v", s.Networks)
		}
	}
	unread := with("peer-p1")
	if errs := Validate(&unread.benchmark, &unread.profile, &unread.bed); len(errs) > 0 {
		t.Errorf("before the dump is read: %v", errs)
	}
	for want, o := range map[string]*objects{
		"one session announces a dump, and these are 2 of test bed": with("peer", four),
		"one session announces a dump, and these are 0 of test bed": with("peer-p9", four),
		"the dump has no routes of a family that session peer-p1":   with("peer-p1", six),
		"the routes of session peer-p1 begin within those of":       with("peer-p1", routing.Routes{First: netip.MustParsePrefix("20.0.129.0/24"), Count: 1, Stride: 1}),
	} {
		if errs := Validate(&o.benchmark, &o.profile, &o.bed); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
}

package membership

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

var (
	group4, source4 = netip.MustParseAddr("239.1.2.3"), netip.MustParseAddr("198.18.0.1")
	group6, source6 = netip.MustParseAddr("ff35::1:2"), netip.MustParseAddr("2001:2::1")
	host            = Host{MAC: traffic.MAC{2, 0, 0, 0, 0, 9}, IPv4: netip.MustParseAddr("198.18.0.9"), MTU: 1500}
)

// An independent decoder reads the reports, and agrees with their checksums.
func TestReports(t *testing.T) {
	frames := host.Reports([]Record{
		{Kind: ToExclude, Group: group4}, {Kind: ToExclude, Group: group6},
		{Kind: Allow, Group: group4, Sources: []netip.Addr{source4}},
		{Kind: Block, Group: group6, Sources: []netip.Addr{source6, source6.Next()}},
	})
	if len(frames) != 2 {
		t.Fatalf("%d frames, want one of each protocol", len(frames))
	}
	p := gopacket.NewPacket(frames[0], layers.LayerTypeEthernet, gopacket.Default)
	ip := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if ip.TTL != 1 || ip.TOS != 0xc0 || !ip.SrcIP.Equal(host.IPv4.AsSlice()) || ip.DstIP.String() != "224.0.0.22" || len(ip.Options) == 0 || ip.Options[0].OptionType != 148 {
		t.Errorf("IPv4 %+v", ip)
	}
	if eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet); eth.DstMAC.String() != "01:00:5e:00:00:16" || eth.SrcMAC.String() != host.MAC.String() {
		t.Errorf("Ethernet %+v", eth)
	}
	igmp := p.Layer(layers.LayerTypeIGMP).(*layers.IGMP)
	if igmp.Type != layers.IGMPMembershipReportV3 || len(igmp.GroupRecords) != 2 || frame.Checksum(frame.Sum(ip.Payload)) != 0 || frame.Checksum(frame.Sum(frames[0][14:38])) != 0 {
		t.Errorf("IGMP %+v", igmp)
	}
	if r := igmp.GroupRecords[1]; r.Type != layers.IGMPAllow || !r.MulticastAddress.Equal(group4.AsSlice()) || len(r.SourceAddresses) != 1 || !r.SourceAddresses[0].Equal(source4.AsSlice()) {
		t.Errorf("record %+v", r)
	}

	p = gopacket.NewPacket(frames[1], layers.LayerTypeEthernet, gopacket.Default)
	ip6 := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	if ip6.HopLimit != 1 || ip6.SrcIP.String() != "fe80::ff:fe00:9" || ip6.DstIP.String() != "ff02::16" {
		t.Errorf("IPv6 %+v", ip6)
	}
	icmp := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
	if err := icmp.SetNetworkLayerForChecksum(ip6); err != nil {
		t.Fatal(err)
	}
	if err, wrong := p.VerifyChecksums(); err != nil || len(wrong) > 0 {
		t.Errorf("checksums: %v %v", err, wrong)
	}
	mld := p.Layer(layers.LayerTypeMLDv2MulticastListenerReport).(*layers.MLDv2MulticastListenerReportMessage)
	if len(mld.MulticastAddressRecords) != 2 || len(mld.MulticastAddressRecords[1].SourceAddresses) != 2 || mld.MulticastAddressRecords[0].RecordType != layers.MLDv2MulticastAddressRecordTypeChangeToExcludeMode {
		t.Errorf("MLD %+v", mld)
	}
}

// However many groups there are, each is reported once, in frames that fit.
func TestManyGroups(t *testing.T) {
	var records []Record
	group, group2 := netip.MustParseAddr("239.0.0.0"), netip.MustParseAddr("ff35::")
	for range 4095 {
		records = append(records, Record{Kind: ToExclude, Group: group}, Record{Kind: ToExclude, Group: group2})
		group, group2 = group.Next(), group2.Next()
	}
	reported := 0
	for _, b := range host.Reports(records) {
		if len(b) > 1514 {
			t.Errorf("a frame of %d bytes", len(b))
		}
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		if l, ok := p.Layer(layers.LayerTypeIGMP).(*layers.IGMP); ok {
			reported += len(l.GroupRecords)
		}
		if l, ok := p.Layer(layers.LayerTypeMLDv2MulticastListenerReport).(*layers.MLDv2MulticastListenerReportMessage); ok {
			reported += len(l.MulticastAddressRecords)
		}
	}
	if reported != 2*4095 {
		t.Errorf("%d groups were reported, want %d", reported, 2*4095)
	}
}

func TestManySources(t *testing.T) {
	sources := make([]netip.Addr, 1000)
	for i := range sources {
		sources[i] = netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	}
	reported := 0
	for i, b := range host.Reports([]Record{{Kind: ToInclude, Group: group4, Sources: sources}}) {
		r := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeIGMP).(*layers.IGMP).GroupRecords[0]
		if (i == 0) != (r.Type == layers.IGMPToIn) || (i > 0) != (r.Type == layers.IGMPAllow) {
			t.Errorf("part %d is of type %v", i, r.Type)
		}
		reported += len(r.SourceAddresses)
	}
	if reported != len(sources) {
		t.Errorf("%d sources, want %d", reported, len(sources))
	}
}

func TestGroups(t *testing.T) {
	any, other := netip.Addr{}, source4.Next()
	var g Groups
	for i, step := range []struct {
		got  Record
		want Record
	}{
		{g.Join(group4, source4), Record{Allow, group4, []netip.Addr{source4}}},
		{g.Join(group4, other), Record{Allow, group4, []netip.Addr{other}}},
		{g.Join(group4, any), Record{Kind: ToExclude, Group: group4}},
		{g.Leave(group4, other), Record{Kind: ToExclude, Group: group4}},
		{g.Leave(group4, any), Record{ToInclude, group4, []netip.Addr{source4}}},
		{g.Leave(group4, source4), Record{Block, group4, []netip.Addr{source4}}},
		{g.Leave(group4, any), Record{Kind: ToInclude, Group: group4}},
	} {
		if step.got.Kind != step.want.Kind || step.got.Group != step.want.Group || !slices.Equal(step.got.Sources, step.want.Sources) {
			t.Errorf("step %d: %+v, want %+v", i, step.got, step.want)
		}
	}
	if g.Len() != 0 {
		t.Errorf("%d groups are left", g.Len())
	}
}

func TestAnswer(t *testing.T) {
	var g Groups
	g.Join(group4, netip.Addr{})
	g.Join(group4.Next(), source4)
	g.Join(group6, netip.Addr{})
	for name, test := range map[string]struct {
		query Query
		want  int
		first Kind
	}{
		"all of IPv4":      {Query{}, 2, 0},
		"all of IPv6":      {Query{IPv6: true}, 1, IsExclude},
		"a group":          {Query{Group: group4}, 1, IsExclude},
		"another group":    {Query{Group: netip.MustParseAddr("239.9.9.9")}, 0, 0},
		"a group's source": {Query{Group: group4.Next()}, 1, IsInclude},
		"a wanted source":  {Query{Group: group4.Next(), Sources: []netip.Addr{source4, source4.Next()}}, 1, IsInclude},
		"an unwanted one":  {Query{Group: group4.Next(), Sources: []netip.Addr{source4.Next()}}, 0, 0},
		"one of any":       {Query{Group: group4, Sources: []netip.Addr{source4.Next()}}, 1, IsInclude},
	} {
		got := g.Answer(test.query)
		if len(got) != test.want || test.first != 0 && got[0].Kind != test.first {
			t.Errorf("%s: %+v", name, got)
		}
		if len(test.query.Sources) > 0 && len(got) > 0 && len(got[0].Sources) != 1 {
			t.Errorf("%s: sources %v", name, got[0].Sources)
		}
	}
	if records := g.LeaveAll(); len(records) != 3 || g.Len() != 0 {
		t.Errorf("leaving all: %+v", records)
	}
}

// queryCase is a frame, and the query in it.
type queryCase struct {
	b    []byte
	want Query
	ok   bool
}

func queryCases() map[string]queryCase {
	ipv4 := append(make([]byte, 12), 0x08, 0, 0x45, 0, 0, 36, 0, 0, 0, 0, 1, 2, 0, 0, 198, 18, 0, 1, 239, 1, 2, 3)
	v3 := append(slices.Clone(ipv4), 0x11, 10, 0, 0, 239, 1, 2, 3, 2, 125, 0, 1, 198, 18, 0, 1)
	v2 := append(slices.Clone(ipv4), 0x11, 10, 0, 0, 0, 0, 0, 0)
	v2[17] = 28
	report := append(slices.Clone(ipv4), 0x16, 10, 0, 0, 239, 1, 2, 3)
	report[17] = 28
	many := slices.Clone(v3)
	many[45] = 2
	ipv6 := make([]byte, 14+48+28)
	copy(ipv6[12:], []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 36, 0, 1})
	copy(ipv6[54:], []byte{58, 0, 5, 2, 0, 0, 1, 0, 130})
	copy(ipv6[70:], group6.AsSlice())
	all6 := slices.Clone(ipv6)
	clear(all6[70:86])
	return map[string]queryCase{
		"IGMPv3 of a source": {v3, Query{Group: group4, Sources: []netip.Addr{source4}}, true},
		"IGMPv2 of all":      {v2, Query{}, true},
		"a report":           {report, Query{}, false},
		"too many sources":   {many, Query{}, false},
		"cut off":            {v3[:40], Query{}, false},
		"MLDv2 of a group":   {ipv6, Query{IPv6: true, Group: group6}, true},
		"MLDv2 of all":       {all6, Query{IPv6: true}, true},
		"MLDv1 cut off":      {ipv6[:80], Query{}, false},
		"nothing":            {nil, Query{}, false},
	}
}

func TestParseQuery(t *testing.T) {
	for name, test := range queryCases() {
		got, ok := ParseQuery(test.b)
		if ok != test.ok || got.IPv6 != test.want.IPv6 || got.Group != test.want.Group || !slices.Equal(got.Sources, test.want.Sources) {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, ok, test.want, test.ok)
		}
	}
}

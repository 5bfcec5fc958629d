package frame

import (
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// An independent decoder reads the tags, and only the frames of a VLAN lose them.
func TestVLANs(t *testing.T) {
	plain := make([]byte, 60)
	plain[0], plain[6], plain[12], plain[13] = 2, 4, 0x08, 0x06
	one := VLANs{{ID: 100, Priority: 5}}
	two := VLANs{{ID: 2000, Priority: 7}, {ID: 100, Priority: 1}}
	for name, tc := range map[string]struct {
		tags  VLANs
		types []layers.EthernetType
		text  string
	}{
		"none": {nil, []layers.EthernetType{layers.EthernetTypeARP}, ""},
		"one":  {one, []layers.EthernetType{layers.EthernetTypeDot1Q, layers.EthernetTypeARP}, "VLAN 100"},
		"two":  {two, []layers.EthernetType{layers.EthernetTypeQinQ, layers.EthernetTypeDot1Q, layers.EthernetTypeARP}, "VLAN 100 of service VLAN 2000"},
	} {
		b := tc.tags.Tag(plain)
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		types := []layers.EthernetType{p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).EthernetType}
		for _, l := range p.Layers() {
			if tag, ok := l.(*layers.Dot1Q); ok {
				want := tc.tags[len(types)-1]
				if tag.VLANIdentifier != want.ID || tag.Priority != want.Priority {
					t.Errorf("%s: tag %d is %d with priority %d", name, len(types), tag.VLANIdentifier, tag.Priority)
				}
				types = append(types, tag.Type)
			}
		}
		if len(types) != len(tc.types) {
			t.Fatalf("%s: EtherTypes %v, want %v", name, types, tc.types)
		}
		for i := range types {
			if types[i] != tc.types[i] {
				t.Errorf("%s: EtherTypes %v, want %v", name, types, tc.types)
			}
		}
		if got, ok := tc.tags.Untag(b); !ok || string(got) != string(plain) {
			t.Errorf("%s: untagged it is % x", name, got)
		}
		if tc.tags.String() != tc.text {
			t.Errorf("%s: %q, want %q", name, tc.tags, tc.text)
		}
	}
	for name, b := range map[string][]byte{
		"untagged": plain, "another VLAN": VLANs{{ID: 101}}.Tag(plain), "cut off": one.Tag(plain)[:17], "the outer of two": two.Tag(plain),
	} {
		if _, ok := one.Untag(b); ok {
			t.Errorf("%s: taken for a frame in VLAN 100", name)
		}
	}
	if _, ok := two.Untag(one.Tag(plain)); ok {
		t.Error("one tag is taken for two")
	}
}

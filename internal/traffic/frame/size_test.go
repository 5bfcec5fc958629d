package frame

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func TestMinimumSizeFollowsFromTheHeaders(t *testing.T) {
	ip, tag := &v1alpha1.IPPacket{}, &v1alpha1.VLANTag{ID: 1}
	labels := func(n int) *v1alpha1.MPLSStack { return &v1alpha1.MPLSStack{Labels: make([]int32, n)} }
	for name, tc := range map[string]struct {
		packet v1alpha1.Packet
		least  int
		text   string
	}{
		"IPv4":              {v1alpha1.Packet{IPv4: ip}, 64, "14 Ethernet, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"IPv6":              {v1alpha1.Packet{IPv6: ip}, 86, "14 Ethernet, 40 IPv6, 8 UDP, 20 signature, 4 FCS"},
		"tagged IPv4":       {v1alpha1.Packet{IPv4: ip, VLAN: tag}, 68, "14 Ethernet, 4 VLAN, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"service VLAN":      {v1alpha1.Packet{IPv4: ip, VLAN: &v1alpha1.VLANTag{ID: 1, Service: &v1alpha1.ServiceTag{ID: 2}}}, 72, "14 Ethernet, 4 service VLAN, 4 VLAN, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"VXLAN":             {v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{VXLAN: &v1alpha1.VirtualNetwork{}}}, 114, "14 Ethernet, 20 IPv4, 8 UDP, 8 VXLAN, 14 Ethernet, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"IPv6 in GTP-U":     {v1alpha1.Packet{IPv6: ip, Tunnel: &v1alpha1.Tunnel{GTPU: &v1alpha1.GTPUTunnel{}}}, 142, "14 Ethernet, 40 IPv6, 8 UDP, 8 GTP-U, 40 IPv6, 8 UDP, 20 signature, 4 FCS"},
		"GRE":               {v1alpha1.Packet{IPv4: ip, Tunnel: &v1alpha1.Tunnel{GRE: &v1alpha1.GRETunnel{}}}, 88, "14 Ethernet, 20 IPv4, 4 GRE, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"four labels":       {v1alpha1.Packet{IPv4: ip, VLAN: tag, MPLS: labels(4)}, 84, "14 Ethernet, 4 VLAN, 16 MPLS, 20 IPv4, 8 UDP, 18 signature, 4 FCS"},
		"Ethernet":          {v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}}, 64, "the least of Ethernet; 14 Ethernet, 18 signature, 4 FCS would fit into 36"},
		"Ethernet, all fit": {v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}, VLAN: tag, MPLS: labels(4)}, 64, "the least of Ethernet; 14 Ethernet, 4 VLAN, 16 MPLS, 18 signature, 4 FCS would fit into 56"},
	} {
		if got := MinimumSize(tc.packet); got != tc.least {
			t.Errorf("%s: %d bytes, want %d", name, got, tc.least)
		}
		if got := DescribeMinimum(tc.packet); got != tc.text {
			t.Errorf("%s: %q, want %q", name, got, tc.text)
		}
	}
}

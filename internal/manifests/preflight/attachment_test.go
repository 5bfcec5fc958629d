package preflight

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cards sets the engine trex on network cards.
func cards(total string) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
			HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse(total)},
		}}
		for i := range b.Spec.Ports {
			b.Spec.Ports[i].Attachment = &v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/dut", NetworkName: "dut"}}
		}
	}
}

// sockets sets the engine trex in software mode.
func sockets(b *v1alpha1.TestBed) {
	b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
}

// claims sets resource claims with these interfaces for the ports.
func claims(interfaces ...string) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		for i, name := range interfaces {
			b.Spec.Ports[i].Attachment = &v1alpha1.Attachment{ResourceClaim: &v1alpha1.ResourceClaimAttachment{TemplateName: "dut", Interface: name}}
		}
	}
}

// setUp takes the network from the ports, and changes the settings of the second.
func setUp(change func(*v1alpha1.SRIOVAttachment)) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		for i := range b.Spec.Ports {
			b.Spec.Ports[i].Attachment.SRIOV.NetworkName = ""
		}
		change(b.Spec.Ports[1].Attachment.SRIOV)
	}
}

// ports sets some on one node, and one on another.
func ports(n int) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		b.Spec.Ports = nil
		for i := range n + 1 {
			b.Spec.Ports = append(b.Spec.Ports, port(i+1))
		}
		b.Spec.Ports[0].Node = "node2"
	}
}

func TestAttachments(t *testing.T) {
	both := func(changes ...func(*v1alpha1.TestBed)) func(*v1alpha1.TestBed) {
		return func(b *v1alpha1.TestBed) {
			for _, c := range changes {
				c(b)
			}
		}
	}
	virtual := func(b *v1alpha1.TestBed) {
		b.Spec.Device = v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TestBed)
		want   string
	}{
		"cards of one pool and one network": {cards("4Gi"), ""},
		"claims on cards": {both(cards("4Gi"), claims("", "")),
			`spec.ports[0].attachment: Invalid value: "resourceClaim": TRex on DPDK learns the addresses of its cards from the environment variable of their device plugin, and drivers of resource claims set none: use sriov`},
		"other networks of one resource": {both(cards("4Gi"), func(b *v1alpha1.TestBed) { b.Spec.Ports[1].Attachment.SRIOV.NetworkName = "other" }),
			`spec.ports[1].attachment.sriov.networkName: Invalid value: "other": port p1 on node node1 shares resource intel.com/dut with port p2 and has networkName "dut", and TRex cannot tell which card is set up for which of them: give each port its own resource, or equal settings`},
		"another VLAN of one resource": {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.VLAN = new(int32(100)) })),
			`spec.ports[1].attachment.sriov.vlan: Invalid value: 100: port p1 on node node1 shares resource intel.com/dut with port p2 and has vlan 0`},
		"other trust in one resource": {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.Trust = new(false) })),
			`spec.ports[1].attachment.sriov.trust: Invalid value: false: port p1 on node node1 shares resource intel.com/dut with port p2 and has trust true`},
		"other spoof check in one resource": {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.SpoofCheck = new(true) })),
			`spec.ports[1].attachment.sriov.spoofCheck: Invalid value: true: port p1 on node node1 shares resource intel.com/dut with port p2 and has spoofCheck false`},
		"said and taken without it": {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) {
			a.VLAN, a.Trust, a.SpoofCheck = new(int32(0)), new(true), new(false)
		})), ""},
		"a resource for each":             {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.ResourceName, a.VLAN = "intel.com/other", new(int32(100)) })), ""},
		"one resource of two nodes":       {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.VLAN = new(int32(100)) }), func(b *v1alpha1.TestBed) { b.Spec.Ports[1].Node = "node2" }), ""},
		"one resource on packet sockets":  {both(cards("4Gi"), setUp(func(a *v1alpha1.SRIOVAttachment) { a.VLAN = new(int32(100)) }), sockets), ""},
		"any interface in software":       {sockets, ""},
		"claims in software":              {both(sockets, claims("a", "b")), ""},
		"as many ports as a server takes": {both(ports(32), sockets), ""},
		"one port more":                   {both(ports(33), sockets), `spec.ports[1].node: Invalid value: "node1": 33 ports of the bed are on this node, and a TRex server takes 32`},
		"more ports of another engine":    {ports(33), ""},
		"half a page":                     {cards("1536Mi"), `spec.engine.trex.hugePages.total: Invalid value: "1536Mi": pages have 1Gi: give a multiple of it, such as 4Gi`},
		"no page":                         {cards("0"), `spec.engine.trex.hugePages.total: Invalid value: "0": pages have 1Gi`},
		"an interface for DPDK": {both(cards("4Gi"), func(b *v1alpha1.TestBed) { b.Spec.Ports[1].Attachment = port(2).Attachment }),
			`spec.ports[1].attachment: Invalid value: "hostDevice": DPDK takes a network card as a device, and hostDevice moves only its interface: use sriov, with a resource of the SR-IOV network device plugin, or engine.trex.software in place of hugePages`},
		"claims for the links of a virtual device": {both(virtual, claims("", "")), `spec.ports[0].attachment: Invalid value: "resourceClaim": the links of a containerlab device are interfaces of the node itself`},
		"two claims of one name":                   {claims("nic", "nic"), `spec.ports[1].attachment.resourceClaim.interface: Invalid value: "nic": port p1 has an interface of this name in the traffic pod of node node1 already`},
		"the name of another port":                 {claims("p2"), `spec.ports[0].attachment.resourceClaim.interface: Invalid value: "p2": port p2 has an interface of this name`},
		"a name that every pod has":                {claims("eth0"), `spec.ports[0].attachment.resourceClaim.interface: Invalid value: "eth0": this interface exists in every pod already`},
		"one name on two nodes":                    {both(claims("nic", "nic"), func(b *v1alpha1.TestBed) { b.Spec.Ports[1].Node = "node2" }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := bed("one", tc.change)
			problems := TestBed(&b)
			if tc.want == "" {
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			if len(problems) == 0 || !strings.Contains(problems[0].Error(), tc.want) {
				t.Errorf("%v, want %s", problems, tc.want)
			}
		})
	}
}

func TestAttachmentWarnings(t *testing.T) {
	b := bed("one", cards("4Gi"))
	if got := attachmentWarnings(&b); len(got) > 0 {
		t.Errorf("%q", got)
	}
	yes, no := true, false
	b.Spec.Ports[1].Attachment.SRIOV.Trust, b.Spec.Ports[1].Attachment.SRIOV.SpoofCheck = &no, &yes
	sockets(&b)
	want := []string{"spec.engine: TRex in software sends some hundred thousand", "spec.ports[1].attachment.sriov.trust is false", "spec.ports[1].attachment.sriov.spoofCheck is true"}
	got := attachmentWarnings(&b)
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("%s, want %s", fmt.Sprint(got), want)
		}
	}
}

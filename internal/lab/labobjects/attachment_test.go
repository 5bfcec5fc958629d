package labobjects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

// eightPorts is a bed of four ports on each of two nodes.
func eightPorts(engine v1alpha1.Engine, attach func(port int) *v1alpha1.Attachment) *v1alpha1.TestBed {
	bed := objects.TestBed("switch", objects.Physical("example", "one"), objects.BedFunc(func(b *v1alpha1.TestBed) { b.Spec.Engine = engine }))
	for i := range 8 {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("p%d", i+1), Node: fmt.Sprintf("lab-%d", i/4+1), Speed: "100G",
			Addresses:  []string{fmt.Sprintf("198.18.%d.2/24", i+1), fmt.Sprintf("2001:2:0:%d::2/64", i+1)},
			Gateways:   []string{fmt.Sprintf("198.18.%d.1", i+1), fmt.Sprintf("2001:2:0:%d::1", i+1)},
			Attachment: attach(i + 1),
		})
	}
	return bed
}

// virtualFunctions are attachments of each sort that sriov allows: a network of
// the owner, settings of the bed, none at all, and two ports of one
// resource.
func virtualFunctions(port int) *v1alpha1.Attachment {
	a := &v1alpha1.SRIOVAttachment{ResourceName: fmt.Sprintf("intel.com/dut_p%d", port)}
	switch port {
	case 1, 5:
		a.NetworkName = fmt.Sprintf("dut-p%d", port)
	case 2, 6:
		a.VLAN, a.Trust, a.SpoofCheck = ptr(int32(100)), ptr(false), ptr(true)
	case 3, 4:
		a.ResourceName = "intel.com/dut_any"
	}
	return &v1alpha1.Attachment{SRIOV: a}
}

func claims(port int) *v1alpha1.Attachment {
	c := &v1alpha1.ResourceClaimAttachment{TemplateName: "dut-port"}
	if port%2 == 0 {
		c.Interface = fmt.Sprintf("net%d", port)
	}
	return &v1alpha1.Attachment{ResourceClaim: c}
}

// interfaces of the nodes, as a bed for functional tests has them.
func interfaces(port int) *v1alpha1.Attachment {
	return &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: fmt.Sprintf("nd-p%d", port)}}
}

// manifests are all objects of one traffic pod, in the order in which they are made,
// with the files of its secret as text.
func manifests(t *testing.T, bed *v1alpha1.TestBed, a Agent) []byte {
	t.Helper()
	sec := must(AgentSecret(labWithTRex(), aRun(), a, bed, aProfile(1), nil))
	sec.StringData = map[string]string{}
	for name, text := range sec.Data {
		sec.StringData[name] = string(text)
	}
	sec.Data = nil
	objects := []any{sec}
	for _, n := range must(Networks(labWithTRex(), aRun(), a)) {
		objects = append(objects, n.Object)
	}
	objects = append(objects, must(AgentPod(labWithTRex(), aRun(), a, bed)))
	var out bytes.Buffer
	for _, o := range objects {
		fmt.Fprintf(&out, "---\n%s", must(yaml.Marshal(o)))
	}
	return out.Bytes()
}

func labWithTRex() Settings {
	s := settings()
	s.TRexImage = "localhost/trex:v3.08"
	return s
}

// TestGoldenAttachments holds the pods of beds with network cards to testdata.
func TestGoldenAttachments(t *testing.T) {
	xdp := v1alpha1.Engine{Kind: v1alpha1.EngineXDP}
	for name, bed := range map[string]*v1alpha1.TestBed{
		"xdp-sriov":     eightPorts(xdp, virtualFunctions),
		"xdp-claims":    eightPorts(xdp, claims),
		"trex-sriov":    eightPorts(onCards(), virtualFunctions),
		"trex-software": eightPorts(onSockets(), interfaces),
		"trex-claims":   eightPorts(onSockets(), claims),
	} {
		for _, a := range Agents(bed) {
			if file := fmt.Sprintf("%s-%d", name, a.Index); a.Index == 0 || name == "trex-sriov" {
				t.Run(file, func(t *testing.T) { golden(t, file, manifests(t, bed, a)) })
			}
		}
	}
}

func TestNetworkOfAVirtualFunction(t *testing.T) {
	for name, tc := range map[string]struct {
		attachment v1alpha1.SRIOVAttachment
		want       map[string]any
	}{
		"trusted and unchecked without settings": {
			want: map[string]any{"trust": "on", "spoofchk": "off"},
		},
		"all settings": {
			attachment: v1alpha1.SRIOVAttachment{VLAN: ptr(int32(4094)), Trust: ptr(false), SpoofCheck: ptr(true)},
			want:       map[string]any{"vlan": 4094.0, "trust": "off", "spoofchk": "on"},
		},
		"a VLAN of 0 takes the function out of its VLAN": {
			attachment: v1alpha1.SRIOVAttachment{VLAN: ptr(int32(0)), Trust: ptr(true), SpoofCheck: ptr(false)},
			want:       map[string]any{"vlan": 0.0, "trust": "on", "spoofchk": "off"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.attachment.ResourceName = "intel.com/dut_p1"
			a := Agent{Ports: []v1alpha1.Port{{Name: "p1", Attachment: &v1alpha1.Attachment{SRIOV: &tc.attachment}}}}
			n := must(Networks(settings(), aRun(), a))[0]
			if got := n.GetAnnotations()["k8s.v1.cni.cncf.io/resourceName"]; got != "intel.com/dut_p1" {
				t.Errorf("the network is for resource %q", got)
			}
			text, _, _ := unstructured.NestedString(n.Object, "spec", "config")
			var got map[string]any
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			tc.want["cniVersion"], tc.want["name"], tc.want["type"] = "0.3.1", n.GetName(), "sriov"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInterfacesOfTheAgent: the agent's configuration has the names of its ports in the
// pod, for every kind of attachment.
func TestInterfacesOfTheAgent(t *testing.T) {
	xdp := v1alpha1.Engine{Kind: v1alpha1.EngineXDP}
	for name, tc := range map[string]struct {
		attach func(int) *v1alpha1.Attachment
		want   []string
	}{
		"sriov":  {attach: virtualFunctions, want: []string{"p5", "p6", "p7", "p8"}},
		"claims": {attach: claims, want: []string{"p5", "net6", "p7", "net8"}},
	} {
		t.Run(name, func(t *testing.T) {
			bed := eightPorts(xdp, tc.attach)
			sec := must(AgentSecret(settings(), aRun(), Agents(bed)[1], bed, aProfile(1), nil))
			var cfg agent.Config
			if err := json.Unmarshal(sec.Data["agent.json"], &cfg); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range cfg.Ports {
				got = append(got, p.Interface)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("interfaces (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPortWithoutAttachment: the error names what to set.
func TestPortWithoutAttachment(t *testing.T) {
	a := Agent{Ports: []v1alpha1.Port{{Name: "p1"}}}
	const want = "port p1 has no attachment: set attachment.hostDevice, attachment.sriov or attachment.resourceClaim"
	_, networks := Networks(settings(), aRun(), a)
	_, pod := AgentPod(settings(), aRun(), a, aBed())
	for what, err := range map[string]error{"networks": networks, "pod": pod} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
}

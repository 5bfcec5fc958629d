package router

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func labBed() *v1alpha1.TestBed {
	port := func(name, inside, address, gateway string) v1alpha1.Port {
		return v1alpha1.Port{
			Name: name, Speed: "1G", Addresses: []string{address}, Gateways: []string{gateway},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: inside}},
		}
	}
	bed := objects.TestBed("")
	bed.Name, bed.Spec.Engine.Kind = "frr", v1alpha1.EngineXDP
	bed.Spec.Ports = []v1alpha1.Port{port("p1", "nd-p1", "198.18.1.2/24", "198.18.1.1"), port("p2", "nd-p2", "198.18.2.2/24", "198.18.2.1")}
	bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 65001, PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: "peer"}},
	}}}
	return bed
}

// The files that a topology mentions are made, with the interfaces that its links have.
func TestFilesOfAVirtualDevice(t *testing.T) {
	t.Parallel()
	passwords := map[string]routing.Secret{"peer-p1": "one", "peer-p2": "two"}
	l := NewBedSessions(labBed(), passwords)
	files, err := l.Files("binds: [device.frr.conf:/etc/frr/frr.conf:ro]", map[string]string{"nd-p1": "eth7", "nd-p2": "eth3"})
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Collect(maps.Keys(files)); !slices.Equal(names, []string{"device.frr.conf"}) {
		t.Errorf("files %q", names)
	}
	text := string(files["device.frr.conf"])
	for _, want := range []string{"interface eth7\n description port p1 of the tester\n ip address 198.18.1.1/24\n", "interface eth3\n", " neighbor 198.18.1.2 remote-as 65001\n", " neighbor 198.18.2.2 remote-as 65002\n", " neighbor 198.18.2.2 password two\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if files, err = l.Files("a device.bird.conf b", nil); err != nil || !strings.Contains(string(files["device.bird.conf"]), `password "one"`) {
		t.Errorf("%s, %v", files, err)
	}
	delete(passwords, "peer-p2")
	if _, err := l.Files("device.frr.conf", nil); err == nil || err.Error() != "configuring the device: the password of session peer-p2 is missing" {
		t.Errorf("without a password: %v", err)
	}
	if files, err := l.Files("frr.conf", nil); err != nil || len(files) > 0 {
		t.Errorf("a topology that mentions none: %s, %v", files, err)
	}
	bed := labBed()
	bed.Spec.Routing = &v1alpha1.BedRouting{PIM: &v1alpha1.PIMRouting{}}
	files, err = NewBedSessions(bed, nil).Files("device.frr.conf", map[string]string{"nd-p1": "eth7", "nd-p2": "eth3"})
	for _, want := range []string{"interface eth7\n description port p1 of the tester\n ip address 198.18.1.1/24\n ip pim\n ip igmp\n", "ip pim rp 198.18.1.1 224.0.0.0/4\n"} {
		if text := string(files["device.frr.conf"]); err != nil || !strings.Contains(text, want) || strings.Contains(text, "router bgp") {
			t.Errorf("multicast routing: %v, want %q in\n%s", err, want, text)
		}
	}
	if _, err := NewBedSessions(bed, nil).Files("device.bird.conf", nil); err == nil || !strings.Contains(err.Error(), "pim: BIRD does not route multicast") {
		t.Errorf("multicast routing of BIRD: %v", err)
	}
	bed.Spec.Routing = nil
	if l := NewBedSessions(bed, nil); l != nil {
		t.Errorf("a bed without sessions: %+v", l)
	}
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "the password is empty: give 1 to 80 characters",
		strings.Repeat("x", 81): "the password has 81 bytes: give at most 80",
		"two words":             "the password has a character that configurations do not hold: give visible ASCII without quotation mark and backslash",
		"good!":                 "",
	} {
		if err := CheckPassword(routing.Secret(text)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// A configuration of FRR is divided among its daemons.
func TestParts(t *testing.T) {
	t.Parallel()
	const bgp, bfd = "router bgp 1\n neighbor a bfd\nexit\n", "bfd\n profile x\n exit\nexit\n"
	for config, want := range map[string]map[string]string{
		bgp + bfd + "end\n": {bgpd: bgp, bfdd: bfd},
		bgp:                 {bgpd: bgp},
		bfd:                 {bfdd: bfd},
		"! a comment\nip forwarding\ninterface p1\n description x\n ip address 198.18.1.1/24\n ip pim\n ip igmp\nexit\ninterface p2\n ip address 198.18.2.1/24\nexit\nip pim rp 198.18.1.1\nip prefix-list X seq 10 permit any\n" + bgp: {
			pimd: "interface p1\n ip pim\n ip igmp\nexit\nip pim rp 198.18.1.1\n", bgpd: "ip prefix-list X seq 10 permit any\n" + bgp,
		},
	} {
		if got := parts(config); !maps.Equal(got, want) {
			t.Errorf("%q gives %q, want %q", config, got, want)
		}
	}
}

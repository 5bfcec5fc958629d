package scale

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
)

func list(match v1alpha1.AccessListMatch, permit ...v1alpha1.AddressPrefix) v1alpha1.DeviceScale {
	return v1alpha1.DeviceScale{
		Name: "acl", AccessList: v1alpha1.AccessListScale{Ports: []string{"e1", "e2"}, Permit: permit, Match: match},
		Range: v1alpha1.ScaleRange{Minimum: 2, Maximum: 400},
	}
}

// TestWrite adds a list to what a device has, in the words of each platform: nothing that it has is lost.
func TestWrite(t *testing.T) {
	for name, base := range map[string]string{
		"nftables": "flush ruleset\ntable ip lab {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t}\n}\n",
		"eos":      "hostname leaf-1\ninterface e1\n   ip address 198.18.1.1/24\ninterface e2\n   ip address 198.18.2.1/24\n",
		"nxos":     "hostname leaf-1\ninterface e1\n  ip address 198.18.1.1/24\ninterface e2\n  ip address 198.18.2.1/24\n",
		"junos":    "set system host-name leaf-1\nset interfaces e1 unit 0 family inet address 198.18.1.1/24\n",
	} {
		kind, err := platform.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		have, err := kind.Language.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		described := list("", "198.18.1.0/24", "198.18.2.0/24")
		lines := map[int64]int{}
		for _, n := range []int64{2, 3, 400} {
			text, err := Write(name, have, &described, n)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := configure.Whole(kind.Language, text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, difference := range kind.Language.Differences(have, want) {
				if !strings.HasPrefix(difference, "+ ") {
					t.Errorf("%s, %d entries: %q: the list takes something away", name, n, difference)
				}
				lines[n]++
			}
			if got := strings.Count(text, "198.19."); got != int(n)-2 {
				t.Errorf("%s: %d entries deny an address, want %d", name, got, n-2)
			}
		}
		each := lines[3] - lines[2]
		if each < 1 || lines[400]-lines[2] != 398*each {
			t.Errorf("%s: an entry is not always the same number of lines: %v", name, lines)
		}
	}
}

func TestValidateBed(t *testing.T) {
	for name, tc := range map[string]struct {
		platform v1alpha1.DevicePlatform
		scale    v1alpha1.DeviceScale
		want     string
	}{
		"two networks":          {"nftables", list("last", "198.18.1.0/24", "198.18.2.0/24"), ""},
		"no match on Linux":     {"nftables", list("never"), ""},
		"no match":              {"eos", list("never"), `lists of eos end with an implicit deny, so that traffic without a matching entry is dropped: want first, middle or last`},
		"never with a network":  {"nftables", list("never", "198.18.1.0/24"), "permit: Forbidden: with match never no entry permits the traffic: leave it out"},
		"no network":            {"nxos", list("first"), "permit: Required value: give the networks that traffic comes from"},
		"more than the minimum": {"nftables", list("last", "198.18.1.0/24", "198.18.2.0/24", "198.18.3.0/24"), "entries: Invalid value: 2: want at least 3, one for each network of permit"},
		"a denied network":      {"nftables", list("last", "198.19.1.0/24"), "it overlaps 198.19.0.0/16, whose addresses the list denies"},
		"IPv6":                  {"nftables", list("last", "2001:2::/64"), "want an IPv4 network"},
		"another platform":      {"frr", list("last", "198.18.1.0/24"), `dialect: Unsupported value: "frr"`},
	} {
		bed := &v1alpha1.TestBed{}
		bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Management: &v1alpha1.DeviceManagement{SSH: &v1alpha1.SSHManagement{Platform: tc.platform, Scales: []v1alpha1.DeviceScale{tc.scale}}}}
		problems := ValidateBed(bed)
		if (len(problems) == 0) != (tc.want == "") || len(problems) > 0 && (!strings.HasPrefix(problems[0].Error(), `spec.device.physical.management.ssh.scales[0]: Invalid value: "acl": `) || !strings.Contains(problems[0].Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, problems, tc.want)
		}
	}
	if problems := ValidateBed(&v1alpha1.TestBed{}); len(problems) > 0 {
		t.Errorf("a bed without lists: %v", problems)
	}
}

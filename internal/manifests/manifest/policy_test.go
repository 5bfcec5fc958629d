package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func TestReadPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want v1alpha1.TrafficPolicy
		// refused are words of the error.
		refused string
	}{
		"all members": {
			text: "vlans: [{first: 100, last: 199}]\nmplsLabels: [{first: 16}]\ngroups: [225.0.0.0/8]\nsourceAddresses: [10.0.0.0/8]\ndestinationAddresses: [\"2001:2::/48\"]\nethernet: false\n",
			want: v1alpha1.TrafficPolicy{
				VLANs: []v1alpha1.VLANRange{{First: 100, Last: 199}}, MPLSLabels: []v1alpha1.MPLSLabelRange{{First: 16}},
				Groups: []v1alpha1.AddressPrefix{"225.0.0.0/8"}, SourceAddresses: []v1alpha1.AddressPrefix{"10.0.0.0/8"},
				DestinationAddresses: []v1alpha1.AddressPrefix{"2001:2::/48"}, Ethernet: new(false),
			},
		},
		"nothing":                 {text: "# as built in\n"},
		"an empty list is given":  {text: "groups: []\n", want: v1alpha1.TrafficPolicy{Groups: []v1alpha1.AddressPrefix{}}},
		"a typo":                  {text: "vlan: [{first: 1}]\n", refused: `vlan: unknown field: did you mean "vlans"?`},
		"a tag that there is not": {text: "vlans: [{first: 5000}]\n", refused: "vlans[0].first: Invalid value: 5000"},
		"an empty range":          {text: "vlans: [{first: 5, last: 4}]\n", refused: "vlans[0]: Invalid value: last is 4, which is below first, 5"},
		"an address of a host":    {text: "sourceAddresses: [10.0.0.1/8]\n", refused: `"10.0.0.1/8" is not a network: give its first address`},
		"groups that are none":    {text: "groups: [10.0.0.0/8]\n", refused: `"10.0.0.0/8" is not a range of multicast groups`},
		"no YAML":                 {text: "vlans: [", refused: "reading the default policy from"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadPolicy(file)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%v, want %s", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := ReadPolicy(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

package platform

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPlatforms compares the platforms with those that a TestBed may name.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	if got, want := Names(), strings.Join([]string{string(v1alpha1.PlatformFRR), (&v1alpha1.DeviceManagement{GNMI: &v1alpha1.GNMIManagement{}}).Platform(), string(v1alpha1.PlatformIPRoute2), string(v1alpha1.PlatformNETCONF), string(v1alpha1.PlatformNFTables), string(v1alpha1.PlatformOpenVSwitch)}, ", "); got != want {
		t.Errorf("the platforms are %s, want %s", got, want)
	}
	for _, p := range All {
		if found, err := Named(p.Name); err != nil || found != p {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if _, err := Named("ios"); err == nil || !strings.Contains(err.Error(), "nftables, openvswitch") {
		t.Errorf("%v", err)
	}
}

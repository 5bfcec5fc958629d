package platform

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPlatforms compares the platforms with the ones that a TestBed may name for a physical device, and files, which only containers have.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	want := []string{"files", (&v1alpha1.DeviceManagement{GNMI: &v1alpha1.GNMIManagement{}}).Platform()}
	for _, p := range []v1alpha1.DevicePlatform{v1alpha1.PlatformEOS, v1alpha1.PlatformFRR, v1alpha1.PlatformIOSXE, v1alpha1.PlatformIPRoute2, v1alpha1.PlatformJunos, v1alpha1.PlatformNETCONF, v1alpha1.PlatformNFTables, v1alpha1.PlatformNXOS, v1alpha1.PlatformOpenVSwitch, v1alpha1.PlatformSRLinux} {
		want = append(want, string(p))
	}
	slices.Sort(want)
	if got, want := Names(), strings.Join(want, ", "); got != want {
		t.Errorf("the platforms are %s, want %s", got, want)
	}
	for _, p := range All {
		if found, err := Named(p.Name); err != nil || found != p {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if _, err := Named("ios"); err == nil || !strings.Contains(err.Error(), "nxos, openvswitch") {
		t.Errorf("%v", err)
	}
}

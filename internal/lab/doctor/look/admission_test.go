package look

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// The pod that is tried has the capability for hosts only for a bed that allows them.
func TestPodLikeHasTheCapabilityForHosts(t *testing.T) {
	t.Parallel()
	for _, hosts := range []bool{false, true} {
		added := podLike(doctor.XDP, hosts).Spec.Containers[0].SecurityContext.Capabilities.Add
		if got := slices.Contains(added, labobjects.HostCapability); got != hosts {
			t.Errorf("hosts %t: %v", hosts, added)
		}
	}
}

package result

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// A row of a virtual device says on which processors it worked.
func TestSoftwareDeviceHasItsProcessorsInTheReason(t *testing.T) {
	in := Input{Bed: objects.TestBed("")}
	in.Bed.Spec.Device.Containerlab = &v1alpha1.ContainerlabDevice{}
	for want, host := range map[string]traffic.Host{
		"the device is software on processors 2-3 of the tester's machine: ":                                                                          {TesterCPUs: []int{0, 1}, DeviceCPUs: []int{2, 3}},
		"tester and device together on processors 0, so that their limit is that of both, because the machine has one processor for both: the result": {TesterCPUs: []int{0}, Together: "the machine has one processor for both"},
		"the device is software on processors that it shares with the tester: ":                                                                       {},
	} {
		in.Info.Hosts = []traffic.Host{host}
		validity, reasons := Judge(in)
		if validity != v1alpha1.ValidityVirtual || len(reasons) != 1 || !strings.HasPrefix(reasons[0], want) {
			t.Errorf("%s, %q, want %q", validity, reasons, want)
		}
	}
}

package result

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
)

// Rows of a card in a virtual machine are Virtual, unless the lab states that the card is
// passed through and nothing shows the opposite.
func TestCardsOfVirtualMachines(t *testing.T) {
	const machine = "QEMU Standard PC"
	for name, tc := range map[string]struct {
		port          traffic.PortInfo
		passedThrough bool
		want          v1alpha1.Validity
		reason        string
	}{
		"bare metal":               {traffic.PortInfo{Driver: "igb"}, false, v1alpha1.ValidityValid, ""},
		"emulated":                 {traffic.PortInfo{Driver: "igb", Hypervisor: machine, Emulated: "QEMU"}, false, v1alpha1.ValidityVirtual, "port p1 is a card that QEMU emulates"},
		"emulated, not passed":     {traffic.PortInfo{Driver: "igb", Hypervisor: machine, Emulated: "QEMU"}, true, v1alpha1.ValidityVirtual, "port p1 is a card that QEMU emulates"},
		"nothing is known":         {traffic.PortInfo{Driver: "mlx5_core", Hypervisor: machine}, false, v1alpha1.ValidityVirtual, "a card of a virtual machine (QEMU Standard PC), where an emulated card looks like a physical one"},
		"the remedy":               {traffic.PortInfo{Driver: "mlx5_core", Hypervisor: machine}, false, v1alpha1.ValidityVirtual, "set passedThrough of port p1 in the TestBed"},
		"passed through":           {traffic.PortInfo{Driver: "mlx5_core", Hypervisor: machine}, true, v1alpha1.ValidityValid, ""},
		"virtio is always virtual": {traffic.PortInfo{Driver: "virtio_net", Hypervisor: machine}, true, v1alpha1.ValidityVirtual, "(virtio)"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.port.Name = "p1"
			got, reasons := Judge(Input{
				Bed:     objects.TestBed("", objects.BackToBack(), objects.Ports(v1alpha1.Port{Name: "p1", PassedThrough: tc.passedThrough})),
				Info:    traffic.Info{Ports: []traffic.PortInfo{tc.port}},
				Outcome: trials.Outcome{Trial: &trials.Trial{Sending: trials.Sending{Intended: 1, Sent: 1, Duration: time.Second}, Counts: trials.Counts{Received: 1}}},
			})
			if all := strings.Join(reasons, "\n"); got != tc.want || (tc.reason == "") != (all == "") || !strings.Contains(all, tc.reason) {
				t.Errorf("%s %q, want %s with %q", got, reasons, tc.want, tc.reason)
			}
		})
	}
}

package report

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestCardLines checks what the appendix says of cards: ports of the same description are
// together, and what is not known is left out.
func TestCardLines(t *testing.T) {
	igb := func() *v1alpha1.CardEnvironment {
		return &v1alpha1.CardEnvironment{
			DriverVersion: "7.3.4", Firmware: "2.1.0", PCIe: "2.5 GT/s PCIe x1", NUMANode: new(int32), InterruptCPUs: "0-1",
			ReceiveRing: 256, TransmitRing: 512, Coalescing: "receive 3 µs, transmit 3 µs", ReceiveQueues: 2, TestQueue: new(int32(1)), Pause: "off",
		}
	}
	got := cardLines([]v1alpha1.PortEnvironment{
		{Name: "p1", Card: igb()}, {Name: "p2"}, {Name: "p3", Card: igb()}, {Name: "p4", Card: &v1alpha1.CardEnvironment{ReceiveQueues: 8, Pause: "receive"}},
		{Name: "p5", Card: &v1alpha1.CardEnvironment{ReceiveQueues: 1}},
	})
	want := []string{
		"p1, p3: driver 7.3.4, firmware 2.1.0, 2.5 GT/s PCIe x1, NUMA node 0, interrupts on processors 0-1, rings of 256 (receive) and 512 (transmit), coalescing: receive 3 µs, transmit 3 µs, test frames in queue 1 of 2, pause frames: off",
		"p4: test frames in 8 queues, pause frames: receive",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are\n%q, want\n%q", got, want)
	}
}

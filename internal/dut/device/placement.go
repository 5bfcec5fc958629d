package device

import "slices"

// Placement assigns the processors of one machine to tester and device. In a cluster the pod
// that starts the device reports it as JSON.
type Placement struct {
	// Tester are the processors that the tester sends on.
	Tester []int `json:"tester,omitempty"`
	// Device are the processors on which the device takes frames from its interfaces;
	// empty if it shares the processors of the tester.
	Device []int `json:"device,omitempty"`
	// Preferred reports whether the kernel's soft interrupts, which the device works in, come
	// before all processes on its processors.
	Preferred bool `json:"preferred,omitempty"`
	// Together is the reason why the device has no processors of its own; empty if it has.
	Together string `json:"together,omitempty"`
}

// Place splits the processors of a machine between a tester and a device with so many
// interfaces. The device gets half of them, rounded down, and at most one per interface,
// since one processor takes the frames of an interface; the tester gets the others. One
// processor is not split.
func Place(processors []int, interfaces int) Placement {
	device := min(len(processors)/2, interfaces)
	switch {
	case interfaces == 0:
		return Placement{Tester: processors, Together: "the device has no veth to the machine's ports"}
	case device == 0:
		return Placement{Tester: processors, Together: "the machine has one processor for both"}
	}
	tester := len(processors) - device
	return Placement{Tester: slices.Clone(processors[:tester]), Device: slices.Clone(processors[tester:])}
}

// Placed is implemented by drivers of devices that work on this machine.
type Placed interface {
	// Place gives a prepared device processors of its own, until Restore. If that fails,
	// it changes nothing that matters, and the placement contains the reason.
	Place() Placement
}

package dut

import (
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/processors"
)

// place gives a device with so many interfaces processors of its own, on which it takes in
// what they receive: steer binds an interface to a processor. If that fails, the device shares
// the tester's processors, and the placement contains the reason.
func place(interfaces int, steer func(i, processor int) error) device.Placement {
	usable, err := processors.Usable()
	if err != nil {
		return device.Placement{Together: err.Error()}
	}
	p := device.Place(usable, interfaces)
	for i := 0; i < interfaces && p.Together == ""; i++ {
		if err := steer(i, p.Device[i%len(p.Device)]); err != nil {
			return device.Placement{Tester: usable, Together: err.Error()}
		}
	}
	return p
}

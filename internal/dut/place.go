package dut

import (
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/napi"
	"nodrop.dev/nodrop/internal/processors"
)

// place gives a device processors of its own, on which it takes in what its interfaces
// receive. These are in the calling thread's network namespace. Where that cannot be
// done the device works in the tester's time, and the placement says why.
func place(interfaces []string) device.Placement {
	usable, err := processors.Usable()
	if err != nil {
		return device.Placement{Together: err.Error()}
	}
	p := device.Place(usable, len(interfaces))
	if p.Together != "" {
		return p
	}
	for i, name := range interfaces {
		if err := napi.Steer(name, p.Device[i%len(p.Device)]); err != nil {
			return device.Placement{Tester: usable, Together: err.Error()}
		}
	}
	return p
}

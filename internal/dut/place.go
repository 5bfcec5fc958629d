package dut

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/napi"
)

// place gives a device processors of its own, on which it takes in what its interfaces
// receive. These are in the calling thread's network namespace. Where that cannot be
// done the device works in the tester's time, and the placement says why.
func place(interfaces []string) device.Placement {
	usable, err := processors()
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

// processors are those that this process may use.
func processors() (all []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("asking for the usable processors: %w", err)
	}
	for n := 0; len(all) < set.Count(); n++ {
		if set.IsSet(n) {
			all = append(all, n)
		}
	}
	return all, nil
}

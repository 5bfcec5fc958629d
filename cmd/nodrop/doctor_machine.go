//go:build linux && !standalone

package main

import (
	"os"

	vm "nodrop.dev/nodrop/internal/dut/machine"
	"nodrop.dev/nodrop/internal/lab/doctor"
)

// examineMachines looks at what this computer lacks for emulated machines.
func examineMachines() (doctor.Report, error) {
	var all []doctor.Finding
	for _, f := range vm.Look(os.Getenv(vm.DirEnv), "", nil) {
		level := doctor.Good
		switch {
		case f.Missing:
			level = doctor.Missing
		case f.Slow:
			level = doctor.Warning
		}
		all = append(all, doctor.Finding{Check: f.Check, Level: level, Seen: f.Seen, Advice: f.Advice})
	}
	return doctor.Here(doctor.Machine, all), nil
}

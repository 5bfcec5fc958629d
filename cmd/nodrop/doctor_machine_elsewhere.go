//go:build !linux && !standalone

package main

import (
	"runtime"

	"nodrop.dev/nodrop/internal/lab/doctor"
)

// examineMachines explains that emulated machines need Linux.
func examineMachines() (doctor.Report, error) {
	return doctor.Report{}, errLinux("nodrop doctor --engine "+string(doctor.Machine), runtime.GOOS)
}

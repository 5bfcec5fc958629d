package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// maxSharedWith is the maximum number of benchmarks in status.sharedWith.
const maxSharedWith = 16

// shared is the note about a bed that is a port group of its device; empty about others.
func shared(s *v1alpha1.BenchmarkStatus, bed *v1alpha1.TestBed) string {
	if bed == nil || bed.Spec.PortGroup == nil {
		return ""
	}
	text := fmt.Sprintf("the bed is a port group of device %s: ", bed.Spec.PortGroup.Device)
	switch n := len(s.SharedWith); n {
	case 0:
		return text + "no benchmark had another one during the measurement"
	case maxSharedWith:
		return text + quantity(int64(n), "benchmark") + " or more had others during the measurement: " + strings.Join(s.SharedWith, ", ")
	default:
		return text + quantity(int64(n), "benchmark") + " had others during the measurement: " + strings.Join(s.SharedWith, ", ")
	}
}

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// What the engine trex takes for fields that a bed does not give. The schema does
// not fill them in, as some depend on whether software is given.
const (
	trexCPUs                 = 4
	trexCPUsSoftware         = 2
	trexMemory               = "2Gi"
	trexMemorySoftware       = "1Gi"
	trexRingFrames           = 16384
	trexTimedFramesPerSecond = 1000
)

// Processors is how many processors each TRex server has for itself.
func (e *TRexEngine) Processors() int32 {
	switch {
	case e.CPUs != nil:
		return *e.CPUs
	case e.Software != nil:
		return trexCPUsSoftware
	}
	return trexCPUs
}

// MemoryBytes is the memory of each TRex server beside its huge pages.
func (e *TRexEngine) MemoryBytes() resource.Quantity {
	switch {
	case e.Memory != nil:
		return e.Memory.DeepCopy()
	case e.Software != nil:
		return resource.MustParse(trexMemorySoftware)
	}
	return resource.MustParse(trexMemory)
}

// TimedRate is how many frames of each stream are timed in a second.
func (e *TRexEngine) TimedRate() int {
	if e.TimedFramesPerSecond != nil {
		return int(*e.TimedFramesPerSecond)
	}
	return trexTimedFramesPerSecond
}

// Ring is how many frames the ring between kernel and TRex holds per port and
// direction.
func (s *TRexSoftware) Ring() int {
	if s.RingFrames != nil {
		return int(*s.RingFrames)
	}
	return trexRingFrames
}

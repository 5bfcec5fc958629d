package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// What the engine trex takes for fields that a bed does not give. The schema does
// not fill them in, as some depend on whether software is given.
const (
	trexCPUs                 = 4
	trexMemory               = "2Gi"
	trexMemorySoftware       = "1Gi"
	trexRingFrames           = 16384
	trexTimedFramesPerSecond = 1000
)

// Server returns the settings of the bed's TRex servers, or nil with other engines. Without
// settings in the bed the servers run in software, which every node supports.
func (e *Engine) Server() *TRexEngine {
	switch {
	case e.Kind != EngineTRex:
		return nil
	case e.TRex == nil:
		return &TRexEngine{Software: &TRexSoftware{}}
	}
	return e.TRex
}

// TRexMode is the mode of a bed's TRex servers; empty with other engines.
func (e *Engine) TRexMode() TRexMode {
	switch server := e.Server(); {
	case server == nil:
		return ""
	case server.Software != nil:
		return TRexInSoftware
	}
	return TRexOnCards
}

// What the containers of a traffic pod with TRex request of a node's processors, in
// thousandths.
const (
	// The agent that runs with a server with processors of its own has less than one on
	// purpose: a whole one would be kept from others.
	besideOwnMilli = 900
	// Where the server shares processors, each has what others leave, and at least this.
	serverSharedMilli = 500
	besideSharedMilli = 100
)

// Processors returns the number of processors that each TRex server has for itself. It is 0 if
// the server shares the processors of the node, in software without cpus.
func (e *TRexEngine) Processors() int32 {
	switch {
	case e.CPUs != nil:
		return *e.CPUs
	case e.Software != nil:
		return 0
	}
	return trexCPUs
}

// CPURequests returns the processor requests of each TRex server and of the agent that runs
// with it. If the server has processors of its own, the requests are also the limits.
func (e *TRexEngine) CPURequests() (server, beside resource.Quantity) {
	milli := func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }
	if own := e.Processors(); own > 0 {
		return milli(1000 * int64(own)), milli(besideOwnMilli)
	}
	return milli(serverSharedMilli), milli(besideSharedMilli)
}

// MemoryBytes is the memory of each TRex server without its huge pages.
func (e *TRexEngine) MemoryBytes() resource.Quantity {
	switch {
	case e.Memory != nil:
		return e.Memory.DeepCopy()
	case e.Software != nil:
		return resource.MustParse(trexMemorySoftware)
	}
	return resource.MustParse(trexMemory)
}

// TimedRate returns the number of timed frames of each stream per second.
func (e *TRexEngine) TimedRate() int {
	if e.TimedFramesPerSecond != nil {
		return int(*e.TimedFramesPerSecond)
	}
	return trexTimedFramesPerSecond
}

// Ring returns the number of frames that the ring between kernel and TRex holds per port and
// direction.
func (s *TRexSoftware) Ring() int {
	if s.RingFrames != nil {
		return int(*s.RingFrames)
	}
	return trexRingFrames
}

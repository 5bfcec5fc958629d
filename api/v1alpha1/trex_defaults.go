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

// Server is what the bed's TRex servers are to be; nil with other engines. One that
// the bed says nothing of is in software, which every node can do.
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
	// The agent beside a server with processors of its own has less than one on
	// purpose: a whole one would be kept from others.
	besideOwnMilli = 900
	// Where the server shares processors, each has what others leave, and at least this.
	serverSharedMilli = 500
	besideSharedMilli = 100
)

// Processors is how many processors each TRex server has for itself; 0 where it
// shares those of the node, in software without cpus.
func (e *TRexEngine) Processors() int32 {
	switch {
	case e.CPUs != nil:
		return *e.CPUs
	case e.Software != nil:
		return 0
	}
	return trexCPUs
}

// CPURequests are what each TRex server and the agent beside it request of a node's
// processors. With processors of its own for the server they are limits too.
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

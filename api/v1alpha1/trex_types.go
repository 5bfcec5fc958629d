package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// TRexEngine holds the settings of the engine trex: a TRex server in every traffic
// pod, together with NoDrop's agent.
//
// +kubebuilder:validation:XValidation:rule="has(self.hugePages) != has(self.software)",messageExpression="has(self.hugePages) ? 'hugePages and software are both given: keep hugePages for DPDK on network cards, or software for packet sockets on any interface' : 'engine.trex needs hugePages, for DPDK on network cards, or software, for packet sockets on any interface: give one of them'"
// +kubebuilder:validation:XValidation:rule="has(self.software) || !has(self.cpus) || self.cpus >= 3",message="cpus is 2, and TRex on network cards needs one to direct, one to receive and one to send: give 3 to 256, or leave it out for 4"
type TRexEngine struct {
	// image of the TRex server, as Dockerfile.trex makes it. Without it the one that
	// the operator was installed with is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// cpus is the number of processors that each TRex server has for itself, 3 to 256: one
	// directs, one receives timed frames, the others send. The default is 4. With software the
	// default is none, and the server shares the processors of the node with others; there the
	// minimum is 2.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=256
	CPUs *int32 `json:"cpus,omitempty"`
	// memory of each TRex server without its huge pages; 2Gi without it, 1Gi with
	// software.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// hugePages of each TRex server, which DPDK keeps frames in.
	// +optional
	HugePages *TRexHugePages `json:"hugePages,omitempty"`
	// software sends and receives through the kernel's packet sockets, on any
	// interface and without huge pages. It is for functional tests: it sends some
	// hundred thousand frames per second.
	// +optional
	Software *TRexSoftware `json:"software,omitempty"`
	// timedFramesPerSecond is the number of timed frames of each stream per second, 1 to
	// 100000; the default is 1000. TRex receives timed frames with one processor, so that it
	// cannot time all frames.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	TimedFramesPerSecond *int32 `json:"timedFramesPerSecond,omitempty"`
}

// TRexMode is the way in which a TRex server reaches the interfaces. The performance of a
// tester in one mode does not predict its performance in the other.
//
// +kubebuilder:validation:Enum=Cards;Software
type TRexMode string

const (
	// TRexOnCards is DPDK on network cards, with huge pages.
	TRexOnCards TRexMode = "Cards"
	// TRexInSoftware is packet sockets on any interface.
	TRexInSoftware TRexMode = "Software"
)

// TRexHugePages are huge pages of the node.
type TRexHugePages struct {
	// pageSize is the size of one page: 2Mi or 1Gi.
	// +required
	// +kubebuilder:validation:Enum="2Mi";"1Gi"
	PageSize string `json:"pageSize"`
	// total is the size of all pages together, such as 4Gi: whole pages of pageSize.
	// +required
	Total resource.Quantity `json:"total"`
}

// TRexSoftware holds the settings of TRex on packet sockets.
type TRexSoftware struct {
	// ringFrames is the number of frames that the ring between kernel and TRex holds per port
	// and direction, a multiple of 32 from 512 to 131072; the default is 16384. Small rings
	// drop frames.
	// +optional
	// +kubebuilder:validation:Minimum=512
	// +kubebuilder:validation:Maximum=131072
	// +kubebuilder:validation:MultipleOf=32
	RingFrames *int32 `json:"ringFrames,omitempty"`
}

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

// Processor requests of the containers of a traffic pod with TRex, in thousandths of a processor.
const (
	// The agent that runs with a server with processors of its own has less than one on
	// purpose: a whole one would be kept from others.
	othersOwnMilli = 900
	// Where the server shares processors, each has what others leave, and at least this.
	serverSharedMilli = 500
	othersSharedMilli = 100
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
func (e *TRexEngine) CPURequests() (server, others resource.Quantity) {
	milli := func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }
	if own := e.Processors(); own > 0 {
		return milli(1000 * int64(own)), milli(othersOwnMilli)
	}
	return milli(serverSharedMilli), milli(othersSharedMilli)
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

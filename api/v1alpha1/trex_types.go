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

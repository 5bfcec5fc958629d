package traffic

import (
	"context"
	"net/netip"
	"time"
)

// Generator sends and receives test frames on a set of ports. It is the part that
// every engine has. What only some engines can do is an interface of its own:
// Sampler, ProgressReporter, GroupMember, MicroflowCounter and Armer. Callers find these with As, once,
// when they get the Generator.
//
// The calls of one trial come in the order Configure (once for a set of
// streams), then for every trial Start, Wait or Stop, and Read. The methods of
// Generator and Armer are used by one goroutine at a time; those of Sampler,
// ProgressReporter and GroupMember may be called while Wait runs. A Wait that is given
// up by its context leaves the trial as it is. Every call ends when its context does.
type Generator interface {
	// Info describes engine, host and ports.
	Info(ctx context.Context) (Info, error)
	// Resolve finds the hardware address of a neighbor on a port by ARP or ND. It fails
	// with *UnresolvedError if no answer arrives before ctx ends.
	Resolve(ctx context.Context, port string, addr netip.Addr) (MAC, error)
	// Configure replaces all streams by those of the whole bed. An engine that owns
	// only some of the ports uses the sending half of streams whose TxPort it owns and
	// the receiving half of those whose RxPorts it owns. Of the rest it takes what it
	// needs to tell frames apart.
	Configure(ctx context.Context, streams []Stream) error
	// Start clears all counters and begins to send. It returns once sending began.
	Start(ctx context.Context, trial Trial) error
	// Wait returns when sending has ended by itself: the duration passed or the
	// frames were sent.
	Wait(ctx context.Context) error
	// Stop ends sending at once; without a trial it does nothing. What counts as
	// intended then is said by ProgressReporter.
	Stop(ctx context.Context) error
	// Read returns the counters of the last trial. The caller has waited for
	// sending to end and for frames in flight to settle.
	Read(ctx context.Context) (Measurement, error)
	// Clock is the time in which the generator lives: the machine's, or simulated.
	Clock() Clock
	// Close stops sending and gives everything back.
	Close() error
}

// Clock tells time and waits.
type Clock interface {
	// Now is the current time.
	Now() time.Time
	// Sleep waits for d, or until ctx ends and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
	// Go runs f in a goroutine of its own and returns the function that waits until f
	// has returned. Goroutines that use the clock are started with it: simulated time
	// passes only when each of them waits.
	Go(f func()) (wait func())
}

// Info describes a generator.
type Info struct {
	// Engine is the engine's kind: xdp, trex, sim.
	Engine string
	// Detail describes how the engine sends and receives, for the report.
	Detail string
	// Host that the engine runs on, one per agent.
	Hosts []Host
	// Ports the engine owns, in the order of the bed.
	Ports []PortInfo
	// Capabilities of the engine.
	Capabilities Capabilities
}

// Host is a machine of the tester.
type Host struct {
	// Name of the host or node, kernel release and processor model.
	Name, Kernel, CPU string
	// CPUs that the tester may use.
	CPUs int
	// TesterCPUs are the numbers of those that it sends on, where a virtual device works
	// on the same host, and DeviceCPUs of those that the device has of its own.
	TesterCPUs, DeviceCPUs []int
	// Together is the reason why a virtual device has no processors of its own and shares
	// the tester's; empty if it has its own, or if there is no virtual device.
	Together string
	// Clock describes how the clock is kept right by which frames are sent and timed; nil if it
	// is not known.
	Clock *ClockDiscipline
}

// ClockDiscipline describes how a clock is kept right.
type ClockDiscipline struct {
	// AdjustmentPPB is the lasting adjustment of its frequency in parts per billion.
	AdjustmentPPB int64
	// Synchronized reports whether a time source, such as NTP or PTP, disciplines it. Otherwise
	// its frequency comes from the oscillator alone, which nothing was compared with.
	Synchronized bool
	// MaxError is the kernel's bound of the error of the time.
	MaxError time.Duration
}

// PortInfo describes one port.
type PortInfo struct {
	// Name of the port in the bed.
	Name string
	// Interface and Driver behind it, empty when modeled.
	Interface, Driver string
	// MAC is the port's hardware address.
	MAC MAC
	// Hypervisor describes the hypervisor of the machine that has the port; empty on bare
	// metal, and where the engine does not report it.
	Hypervisor string
	// Emulated names the emulator of the port's card, such as QEMU; empty where the card
	// shows none.
	Emulated string
	// Card behind the port; nil where it is none.
	Card *Card
	// Notes describe what the port cannot do, and what is used instead.
	Notes []string
}

// FILO describes the latency that is measured by engines that timestamp whole frames, in the
// terms of RFC 1242 section 3.8.
const FILO = "first bit in to last bit out (FILO), which exceeds the latency of RFC 1242 by the time of one frame on the wire for bit-forwarding devices, and of two for store-and-forward devices"

// Limits are the capabilities that depend on the ports and the options of an engine, so that
// only an open engine knows them. Package capability declares the most of each kind.
type Limits struct {
	// MaxStreams of a bed, on all its hosts together: each counts those of the others.
	MaxStreams int
	// MaxFrameSize in bytes with FCS.
	MaxFrameSize int
	// MaxMicroflows is the number of microflows that a port counts, of all streams with Track
	// that it receives; 0 if the engine counts streams only. Above 0 the engine is a
	// MicroflowCounter.
	MaxMicroflows int
	// SampledLatency reports whether the latency of a share of each stream's frames is
	// measured, which travel among the others.
	SampledLatency bool
	// Lateness is the longest time by which the engine may end a trial late by itself, at
	// any load; 0 if it ends in time. A trial that ended later than the resolution of a
	// search allows counts with its offered load.
	Lateness time.Duration
	// LatencyType describes the two points between which latency is measured.
	LatencyType string
}

// Capabilities describes what an engine can measure; admission refuses tests that need more.
// Package capability declares them for each kind, and an open engine reports its Limits.
type Capabilities struct {
	Limits
	// MinFrameSize in bytes with FCS.
	MinFrameSize int
	// PerFrameLatency reports whether the latency of every frame is measured.
	PerFrameLatency bool
	// TimedStreams is the number of streams of a bed that are timed at once; 0 means all.
	TimedStreams int
	// CrossHostLatency reports whether latency between ports of different hosts is
	// meaningful (a common clock).
	CrossHostLatency bool
	// CrossHost reports whether a host counts frames that another host sends.
	CrossHost bool
	// Ordering reports whether reordered and duplicate frames are counted.
	Ordering bool
	// FrameChecks reports whether the length and the content of every received frame are
	// checked, and that frames of an earlier trial are counted (RFC 2544 section 10).
	FrameChecks bool
	// ArrivalTimes reports whether it is known when the first and the last frame of a
	// stream arrived, and between which two frames the longest time lay.
	ArrivalTimes bool
	// Gaps reports whether it is known where in a stream frames were lost.
	Gaps bool
	// Ethernet reports whether frames without a network layer are sent and counted.
	Ethernet bool
	// Multicast reports whether ports can join multicast groups: the engine is a GroupMember.
	Multicast bool
	// Sampling reports whether the counters of a trial are read while it runs: the engine is
	// a Sampler.
	Sampling bool
	// Capture reports whether received frames are kept for people, see Capture.
	Capture bool
	// MPLS reports whether labeled frames are sent and counted.
	MPLS bool
	// ServiceVLANs reports whether frames with two tags are sent and counted.
	ServiceVLANs bool
	// Tunnels reports whether frames whose packet is in a tunnel are sent and counted.
	Tunnels bool
	// Strides reports whether destination addresses count up by networks (Headers.DstIPBits).
	Strides bool
	// Routing reports whether the ports hold BGP sessions: there is a routing.Speaker next to the
	// engine.
	Routing bool
	// Workloads reports whether hosts with TCP run on the ports: there is a workload.Engine next to
	// the engine.
	Workloads bool
	// RoCE reports whether frames of RoCEv2 are sent and counted.
	RoCE bool
	// CongestionMarks reports whether received frames with the mark CE are counted.
	CongestionMarks bool
	// Pauses reports whether received frames of flow control are counted.
	Pauses bool
	// CustomBytes reports whether frames whose headers are given byte by byte are sent and
	// counted.
	CustomBytes bool
}

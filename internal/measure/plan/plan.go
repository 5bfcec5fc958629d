package plan

import (
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// Plan is everything that a run does.
type Plan struct {
	// Engine that sends and receives.
	Engine v1alpha1.EngineKind
	// Ports of the bed, in its order.
	Ports []Port
	// Streams without their frame size; Traffic makes them complete. Those that are
	// really sent at a size are At(size).Streams().
	Streams []Stream
	// Sizes that the steps measure.
	Sizes []Size
	// Steps are run in their order; each makes at most one result row.
	Steps []Step
	// Sessions of the bed, and what they announce, in the order in which they do.
	Sessions      []Session
	Announcements []Announcement
	// RoutesMulticast reports whether the device routes multicast: it forwards a group from a
	// sender some time after the first frames of it have arrived.
	RoutesMulticast bool
	// Settle is waited after sending before counters are read, Rest between trials.
	Settle, Rest time.Duration

	// profile whose packet Between sends.
	profile *v1alpha1.TrafficProfile
}

// Stream is the traffic from one port to another, or to many, of any frame size.
type Stream struct {
	// ID of the stream, counting from 0.
	ID uint16
	// Tx is the index in Plan.Ports of the port that sends.
	Tx int
	// Rx are the indexes of the ports that receive every frame: one for unicast.
	Rx []int
	// Watch are the indexes of ports that should receive nothing, and count what they
	// do receive: frames that the device floods. None of it is in the sums of a trial.
	Watch []int
	// Track selects what the ports count of each microflow.
	Track traffic.Track
	// Further are the indexes of ports at which a frame may arrive in place of the one
	// receiver, by a further path of the device; none of a stream to many.
	Further []int
	// Delay is the time by which the stream begins after the others.
	Delay time.Duration
	// Part is the divisor of the sending port's line rate for the stream: the number of
	// streams among which the port divides its load. It is higher in a pattern whose
	// receivers would otherwise get more than line rate. Times is the multiplier, where
	// streams of a port differ in their share of the load; 0 means 1.
	Part, Times int64
	// Headers without hardware addresses.
	Headers traffic.Headers
	// Gateway is the device's address on the sending port; invalid when sender and
	// receiver are on one layer-2 network.
	Gateway netip.Addr
	// InClass is the class of the stream in samples; empty for that of its destination.
	InClass string
	// ObeysPause lets the device hold the sending port back by pause frames.
	ObeysPause bool
	// Networks that the frames go to in turn; nil for the address of the receiver.
	Networks *Networks
	// Size in bytes with FCS, and weight, of a component of a mix; 0 where all
	// streams have the size that is measured.
	Size   int
	weight int64
	// mix that it is a component of; nil for none.
	mix *Mix
	// Flow of the profile that the stream is of; empty without flows.
	Flow string
	// own is the size of the flow; nil where it has the size that is measured.
	own *Size
	// of is the ID in the plan, of a stream at a size.
	of uint16
}

// Arrivals returns the indexes of the ports at which frames of the stream may arrive: the receivers, and
// the ports with further paths.
func (s Stream) Arrivals() []int {
	if len(s.Further) == 0 {
		return s.Rx
	}
	return slices.Concat(s.Rx, s.Further)
}

// The classes of streams.
const (
	ClassUnicast   = "unicast"
	ClassMulticast = "multicast"
)

// Class of the stream: what its frames are counted with in samples.
func (s Stream) Class() string {
	if s.Flow != "" {
		return s.Flow
	}
	if s.InClass != "" {
		return s.InClass
	}
	if s.Headers.DstIP.IsMulticast() {
		return ClassMulticast
	}
	return ClassUnicast
}

// NextHop is the address whose hardware address the frames are sent to: the
// gateway, or the receiver itself.
func (s Stream) NextHop() netip.Addr {
	if s.Gateway.IsValid() {
		return s.Gateway
	}
	return s.Headers.DstIP
}

// Step is one row of the result: a test at one frame size, and for many methods
// at one load.
type Step struct {
	// Test is the test as the benchmark gives it.
	Test v1alpha1.Test
	// Variant of the device; empty when the benchmark names none.
	Variant v1alpha1.VariantName
	// Method of the test.
	Method v1alpha1.Method
	// Size of the frames.
	Size Size
	// Load that the step measures; empty when the method finds the load itself.
	Load v1alpha1.Load
	// Amount is the amount of Load; zero for the load throughput, and if the method finds
	// the load itself. LoadPPM is the same in parts per million of line rate, rounded if
	// Load is a rate.
	Amount  Amount
	LoadPPM int64
	// Repetition of the test, counting from 1; 0 if the test is measured once.
	Repetition int32
	// Source is the name of the nearest throughput test before, which the load
	// throughput means; empty without.
	Source string
	// LossRatioPPM is the loss ratio of a partial drop rate, 0 for all else.
	LossRatioPPM int64
	// Servers is the number of servers of an incast, 0 for all else.
	Servers int32
	// MessageSize is the number of bytes of a request of rpcLatency, or of the message of a host of collectives; 0 for all else.
	MessageSize int32
	// Search bounds a throughput test.
	Search search.Config
	// Goals are the search goals of MLRsearch: that of the step's own loss ratio,
	// and for the throughput those of all loss ratios of the test.
	Goals []search.Goal
	// TrialDuration is the length of the trial that makes the row.
	TrialDuration time.Duration
	// Trials is about how many trials the step takes, and Duration how long they
	// take, with settling and rest.
	Trials   int
	Duration time.Duration
	// Certain is the part of the sending time of Duration that no result shortens: 0 where
	// what was measured before decides whether a trial is run. Admission refuses a deadline
	// below the sum.
	Certain time.Duration
}

// Name names the step for a person: "throughput 64 B", "latency 64 B at 50%".
func (s Step) Name() string { return s.ID().Name() }

// ID is the identity of the row that the step makes.
func (s Step) ID() v1alpha1.RowID {
	return v1alpha1.RowID{
		Test: s.Test.Name, Variant: s.Variant, Method: s.Method,
		FrameSize: int32(s.Size.Bytes), FrameMix: s.Size.mixName(), Load: s.Load, LossRatioPPM: s.LossRatioPPM,
		Servers: s.Servers, MessageSize: s.MessageSize, Repetition: s.Repetition,
	}
}

// Trials is about how many trials the whole plan takes.
func (p Plan) Trials() int {
	n := 0
	for _, s := range p.Steps {
		n += s.Trials
	}
	return n
}

// Duration is about how long the whole plan takes.
func (p Plan) Duration() time.Duration {
	var d time.Duration
	for _, s := range p.Steps {
		d += s.Duration
	}
	return d
}

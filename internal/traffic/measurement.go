package traffic

import "time"

// Measurement contains the counts of one trial.
type Measurement struct {
	// Tx has one entry per stream that sent.
	Tx map[uint16]TxCount
	// Rx has one entry per stream and receiving port.
	Rx map[RxKey]RxCount
	// TxTime is the actual sending time, the longest of all ports.
	TxTime time.Duration
	// Misdelivered counts test frames of this engine that arrived at a port which is
	// no receiver of their stream, by the port's name; ports without any are absent.
	Misdelivered map[string]uint64
	// Dropped counts frames that a port of the tester received and lost before they
	// could be counted, by the name of the port; ports without any are absent. Frames of
	// others may be among them, such as those of a protocol that the port does not know.
	Dropped map[string]uint64
	// Unsent counts frames that are among those Sent and that the port's card did not send,
	// by the name of the port; ports without any are absent.
	Unsent map[string]uint64
	// WireErrors counts frames that the port's card dropped because they arrived damaged,
	// by the name of the port; ports without any are absent.
	WireErrors map[string]uint64
	// Pacing describes how constant the load of each sending port was, by port name. Ports
	// for which the engine does not know it are absent.
	Pacing map[string]Pacing
	// Damaged counts test frames that did not come back as they were sent (RFC 2544
	// section 10), by the name of the port; ports without any are absent. They are
	// not received ones, and so count as lost.
	Damaged map[string]Damage
	// Began contains when sending began, for each port of the engine; nil where the engine does not
	// know it. Samples count from then.
	Began Moments
	// Stale counts test frames of an earlier trial that arrived in this one, by port name;
	// ports without any are absent. The measurement of the earlier trial counted them as
	// lost.
	Stale map[string]uint64
	// Pauses counts the frames of flow control that a port received, by the name of the port;
	// ports without any are absent.
	Pauses map[string]PauseCount
	// Notifications counts the congestion notification packets that a port received, by the name
	// of the port; ports without any are absent.
	Notifications map[string]uint64
	// Microflows are the sums of a MicroflowCounter. Engines leave them out: the caller that
	// reads the measurement asks for them.
	Microflows []MicroflowSum
	// Captured are the frames that the engine was asked to keep.
	Captured []CapturedFrame
	// Notes are observations that bear on validity: foreign CPU load, frames that
	// the tester could not send, clock steps.
	Notes []Note
}

// Put sets the entry of a port in one of the maps of a Measurement, which is nil while
// no port has one.
func Put[T any](to *map[string]T, port string, value T) {
	if *to == nil {
		*to = map[string]T{}
	}
	(*to)[port] = value
}

// Pacing describes how constant the load of a port was.
type Pacing struct {
	// MaxLag is the furthest that the port was behind its schedule.
	MaxLag time.Duration
	// MaxBurst is the most frames that it sent in a row, without the gaps of its
	// schedule, to make up for a lag.
	MaxBurst uint64
	// CaughtUp counts the frames of all such bursts of the trial. What the device lost
	// beyond that many frames, it lost of a constant load.
	CaughtUp uint64
	// MaxClump is the most frames that it gave to its device at once.
	MaxClump uint64
	// SpacingError bounds by how much the time between two frames differed from that of
	// the schedule, for 99 % of the frames; within a quarter. 0 when it is not known.
	SpacingError time.Duration
}

// With returns the pacing of a port with two senders, of which p and other are the pacing of
// one each.
func (p Pacing) With(other Pacing) Pacing {
	return Pacing{
		MaxLag: max(p.MaxLag, other.MaxLag), MaxBurst: max(p.MaxBurst, other.MaxBurst), CaughtUp: p.CaughtUp + other.CaughtUp,
		MaxClump: max(p.MaxClump, other.MaxClump), SpacingError: max(p.SpacingError, other.SpacingError),
	}
}

// Damage counts test frames by what became of them on their way. Of a frame with
// several faults the first one counts.
type Damage struct {
	// Truncated frames are shorter than they were sent.
	Truncated uint64
	// Corrupted frames are as long as they were sent or longer, and their content is
	// another. What a router, NAT or a VLAN hop changes by its nature is no fault.
	Corrupted uint64
	// Fragmented frames came back in pieces (RFC 791, RFC 8200 section 4.5).
	Fragmented uint64
}

// Add adds the frames of another port.
func (d *Damage) Add(other Damage) {
	d.Truncated += other.Truncated
	d.Corrupted += other.Corrupted
	d.Fragmented += other.Fragmented
}

// NoteKind is the kind of a note. It determines which validity the note affects.
type NoteKind string

const (
	// NoteUnsent means that the tester sent less than intended.
	NoteUnsent NoteKind = "Unsent"
	// NoteForeignLoad means that others used the processors of the tester.
	NoteForeignLoad NoteKind = "ForeignLoad"
	// NoteReceiver means that the tester's receive side dropped frames or restarted.
	NoteReceiver NoteKind = "Receiver"
	// NoteDropped explains the Dropped frames of a port. It speaks against a row only
	// when those can be among the lost frames.
	NoteDropped NoteKind = "Dropped"
	// NoteCardUnsent explains the Unsent frames of a port.
	NoteCardUnsent NoteKind = "CardUnsent"
	// NoteWire explains the WireErrors of a port. It speaks against a row only when those
	// can be among the lost frames.
	NoteWire NoteKind = "Wire"
	// NoteMiscount means that a card sent more frames than the engine: others use the
	// interface.
	NoteMiscount NoteKind = "Miscount"
	// NoteHeldBack means that the device held a port of the tester back, by pause
	// frames or by making its link busy (RFC 2285 section 3.7.1): what the port sent
	// less than intended is the device's doing. An engine that cannot tell gives no
	// such note.
	NoteHeldBack NoteKind = "HeldBack"
	// NoteClock means that the clock of a host was stepped during the trial, or that
	// the host slept: latency and times of the trial cannot be believed.
	NoteClock NoteKind = "Clock"
	// NoteCounter means that an interface of the tester was disturbed during the
	// trial: its link went down, or one of its counters ran backwards.
	NoteCounter NoteKind = "Counter"
	// NoteSession means that a BGP session of the tester was down during the trial: what
	// was lost then may be due to routes that were not there.
	NoteSession NoteKind = "Session"
	// NoteRouter means that the routing software of the device, which the lab had started,
	// ended during the trial.
	NoteRouter NoteKind = "Router"
	// NoteOvertaken means that frames which count as reordered came into the tester by
	// another receive queue or processor than the frames before them: the tester may have
	// changed their order.
	NoteOvertaken NoteKind = "Overtaken"
	// NoteMisdelivered means that test frames arrived at ports that do not expect them. It
	// affects no validity; the row's message carries it.
	NoteMisdelivered NoteKind = "Misdelivered"
	// NoteDamaged means that test frames came back truncated, corrupted or in
	// fragments. It speaks against no validity; the row's message carries it.
	NoteDamaged NoteKind = "Damaged"
	// NoteLate means that frames came back so long after later ones that the engine
	// cannot distinguish them from copies. It speaks against no validity; the row's
	// message carries it.
	NoteLate NoteKind = "Late"
	// NoteDeviceDropped reports the frames that the device's own interfaces counted as
	// dropped. It affects no validity; the row's message carries it if frames were lost.
	NoteDeviceDropped NoteKind = "DeviceDropped"
	// NoteFallback means that a port did not use the XDP of its driver: it received by
	// generic XDP, or sent through a packet socket. It speaks against no validity; the
	// row's message carries it.
	NoteFallback NoteKind = "Fallback"
	// NotePauses explains the Pauses of a port. It affects no validity; the row's message
	// carries it.
	NotePauses NoteKind = "Pauses"
	// NoteModel names values that are missing in the model of a modeled device. It affects
	// no validity; the row's message carries it.
	NoteModel NoteKind = "Model"
)

// Note is one observation about a trial.
type Note struct {
	// Kind determines which validity the note affects.
	Kind NoteKind
	// Text is one sentence for a person, with port, numbers and units.
	Text string
}

// TxCount is the sending side of a stream.
type TxCount struct {
	// Intended is the number of frames that the load asked for in the trial.
	Intended uint64
	// Sent is the number of frames that left the port.
	Sent uint64
	// Ahead is the place in the stream of a frame that was sent while one before it was not,
	// when sending ended; 0 for none. All others have the places below Sent - 1.
	Ahead uint64
	// Duration from the first frame to the end of sending.
	Duration time.Duration
}

// Places returns which places of the stream were sent.
func (c TxCount) Places() SentPlaces { return SentPlaces{Frames: c.Sent, Ahead: c.Ahead} }

// RxKey identifies a stream at one receiving port.
type RxKey struct {
	// Stream is the stream's ID.
	Stream uint16
	// Port that received.
	Port string
}

// RxCount is the receiving side of a stream at one port.
type RxCount struct {
	// Received frames, each counted once.
	Received uint64
	// Duplicate frames: copies of a frame that was already received.
	Duplicate uint64
	// Reordered frames (RFC 4737 type-P-reordered): their sequence number is below
	// the highest seen before.
	Reordered uint64
	// OutOfSequence frames in an older count than RFC 4737: their number is not the
	// one after that of the frame received before them, so that 1 2 4 3 5 has three.
	// The first frame after a lost one counts too; copies take no part.
	OutOfSequence uint64
	// Order describes how far behind the reordered frames arrived.
	Order Order
	// Congested frames are received ones that arrived with the mark CE, congestion
	// experienced (RFC 3168).
	Congested uint64
	// Notified is the number of congestion notification packets by which the port answered
	// frames with the mark.
	Notified uint64
	// Late frames came back so long after later ones that the engine no longer knows
	// whether they are copies: they are neither received nor duplicate.
	Late uint64
	// Next is one above the highest sequence number received; 0 without a frame.
	Next uint64
	// GapEnd is the sequence number of the last frame that arrived before one or
	// more of those below it: what was lost in between, was lost below GapEnd. 0
	// when no number was skipped.
	GapEnd uint64
	// FirstNs and LastNs are the times at which the first and the last frame arrived, in
	// nanoseconds of the clock of the port's host, as in Moments; 0 without a frame.
	FirstNs, LastNs uint64
	// SilentFromNs and SilentToNs are the times of the two frames between which no frame
	// arrived for the longest time, by the same clock; 0 with fewer than two frames.
	SilentFromNs, SilentToNs uint64
	// Latency of every received frame.
	Latency Latency
}

// Latency sums up the latency of frames in nanoseconds.
type Latency struct {
	// Count of measured frames.
	Count uint64
	// MinNs, MaxNs and SumNs of the latency, in nanoseconds.
	MinNs, MaxNs, SumNs uint64
	// JitterCount, JitterMaxNs and JitterSumNs of the absolute difference between
	// consecutive frames of a stream (RFC 4689).
	JitterCount, JitterMaxNs, JitterSumNs uint64
	// Buckets counts frames by latency; BucketBounds gives the bounds of an index.
	// Sparse: an absent index is 0.
	Buckets map[uint32]uint64
}

package v1alpha1

import "fmt"

// RowID identifies a row among all rows of one benchmark. It is comparable: rows are
// resumed, compared and shown by it.
type RowID struct {
	// test is the name of the test.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Test string `json:"test"`
	// variant of the device that was measured; absent when the benchmark names none.
	// +optional
	Variant VariantName `json:"variant,omitempty"`
	// method of the test.
	// +required
	Method Method `json:"method"`
	// frameSize in bytes, with FCS; absent in a row of a mix, which has no one size,
	// and in rows of tests that send no test frames.
	// +optional
	FrameSize int32 `json:"frameSize,omitempty"`
	// frameMix is the name of the mix that was sent in place of frames of one size, or flows
	// where every flow of the profile has a size of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	FrameMix string `json:"frameMix,omitempty"`
	// load is the load asked for, such as "50%" or "throughput"; absent when the
	// method finds the load itself.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=17
	Load Load `json:"load,omitempty"` // without the rule of its type, which was checked where the load was asked for
	// lossRatioPPM is the loss ratio of a partial drop rate in parts per million of
	// the frames sent; absent for all other rows.
	// +optional
	LossRatioPPM int64 `json:"lossRatioPPM,omitempty"`
	// servers is the number of servers of an incast; absent for all other rows.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Servers int32 `json:"servers,omitempty"`
	// messageSize is the number of bytes of a request of rpcLatency and of its response, or of the message of each host of
	// collectives; absent for all other rows.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MessageSize int32 `json:"messageSize,omitempty"`
	// repetition counts the independent measurements of the row from 1; absent if the test
	// asks for one, and in rows that summarize all repetitions.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Repetition int32 `json:"repetition,omitempty"`
}

// Summarized returns the identity of the row that summarizes all repetitions.
func (id RowID) Summarized() RowID {
	id.Repetition = 0
	return id
}

// TestName names the row's test for a person, with the variant of the device where
// there is one: "throughput", "throughput (fec-on)".
func (id RowID) TestName() string {
	if id.Variant == "" {
		return id.Test
	}
	return fmt.Sprintf("%s (%s)", id.Test, id.Variant)
}

// SizeName names the row's frame size or mix for a person: "64 B", "mix
// imix-simple"; empty for a row that has neither.
func (id RowID) SizeName() string {
	if id.FrameSize == 0 && id.FrameMix == "" {
		return ""
	}
	return SizeName(id.FrameSize, id.FrameMix)
}

// Name names the row for a person: "throughput 64 B", "latency (fec-on) 64 B at
// 50%", "throughput 64 B with up to 0.1% loss".
func (id RowID) Name() string {
	name := id.TestName()
	if size := id.SizeName(); size != "" {
		name += " " + size
	}
	if id.LossRatioPPM > 0 {
		name += fmt.Sprintf(" with up to %s loss", FormatPPM(id.LossRatioPPM))
	}
	if id.Load != "" {
		name += " at " + string(id.Load)
	}
	if id.Servers > 0 {
		name += " with " + ServersName(id.Servers)
	}
	if id.MessageSize > 0 {
		name += " with " + MessageSizeName(id.MessageSize)
	}
	if id.Repetition > 0 {
		name += fmt.Sprintf(", repetition %d", id.Repetition)
	}
	return name
}

// MessageSizeName names the size of messages for a person: "messages of 64 B".
func MessageSizeName(bytes int32) string { return fmt.Sprintf("messages of %d B", bytes) }

// ServersName names a number of servers for a person: "1 server", "8 servers".
func ServersName(n int32) string {
	if n == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", n)
}

// FrameSection contains the counts of sent and received frames in the trial that decided a
// row, summed over all ports, and the load of that trial.
type FrameSection struct {
	// lineRatePPM is the intended load (RFC 2285 section 3.5.1) in parts per million of
	// the full load: for a throughput test the throughput, 0 when no load passed. The full
	// load is the line rate of each sending port, or less where pattern or flows of the
	// profile let a port send less. What left the tester is offeredFramesPerSecond: that
	// is the load that reports print.
	// +required
	LineRatePPM int64 `json:"lineRatePPM"`
	// framesPerSecond is the intended load in frames/s summed over all sending
	// ports, rounded to the nearest. A frame counts once for each of its receivers:
	// for multicast it is the rate that all receivers get together when none is lost
	// (the aggregated multicast throughput of RFC 3918).
	// +required
	FramesPerSecond int64 `json:"framesPerSecond"`
	// bitsPerSecond is framesPerSecond in bit/s at layer 2: frames with FCS,
	// without preamble and inter-frame gap.
	// +required
	BitsPerSecond int64 `json:"bitsPerSecond"`
	// offeredFramesPerSecond is the offered load (RFC 2285 section 3.5.2): the part of
	// framesPerSecond that left the tester in that trial, counted in the same way. Where no
	// load passed, it is the offered load of the trial at the lowest load.
	// +optional
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// portLoad is the offered load of the ports that offered least and most of their line
	// rate. Absent where the profile lets every sending port send at line rate, so that
	// lineRatePPM is the intended load of each, and where no load passed.
	// +optional
	PortLoad *PortLoad `json:"portLoad,omitempty"`
	// sent frames.
	// +optional
	Sent int64 `json:"sent"`
	// received frames, without duplicates; one that many ports receive counts at
	// each of them.
	// +optional
	Received int64 `json:"received"`
	// lost frames: sent and never received, at each port that should have.
	// +optional
	Lost int64 `json:"lost"`
	// lostByEvent is the part of lost that an event of the test explains: frames to networks
	// that the tester had not announced yet or had withdrawn. Absent for tests that announce no
	// routes while frames are sent.
	// +optional
	LostByEvent *int64 `json:"lostByEvent,omitempty"`
	// doubtfulLost is the number of lost frames that the tester may have lost or caused: its
	// ports dropped received frames, frames arrived damaged at its cards, or it sent bursts to
	// catch up with its schedule. The device lost at least lost minus doubtfulLost. Absent if
	// the tester is not known to have a part in the loss.
	// +optional
	DoubtfulLost int64 `json:"doubtfulLost,omitempty"`
	// duplicate frames; absent if the engine does not distinguish them from others.
	// +optional
	Duplicate *int64 `json:"duplicate,omitempty"`
	// reordered frames (RFC 4737); absent when the engine does not know the order.
	// +optional
	Reordered *int64 `json:"reordered,omitempty"`
	// outOfSequence frames in an older count: frames whose number does not follow the
	// number of the frame received before them. Absent when the engine does not know the
	// order.
	// +optional
	OutOfSequence *int64 `json:"outOfSequence,omitempty"`
	// congested frames are received frames that the device marked with CE, congestion
	// experienced (RFC 3168). Absent if the profile sends no frames that a device may mark
	// (ecn of the packet).
	// +optional
	Congested *int64 `json:"congested,omitempty"`
	// congestedPPM is the share of congested frames among the received ones, in parts per
	// million. Absent where congested is.
	// +optional
	CongestedPPM *int64 `json:"congestedPPM,omitempty"`
	// cnp contains the congestion notification packets of the trial. Absent if the profile asks
	// for none (cnp of rocev2).
	// +optional
	CNP *CNPSummary `json:"cnp,omitempty"`
	// flowControl contains the frames by which the device asked the test ports to send nothing
	// for a time. Absent if the ports received none, except with frames of RoCEv2, and if the
	// engine does not count them.
	// +optional
	FlowControl *FlowControlSummary `json:"flowControl,omitempty"`
	// truncated frames came back shorter than they were sent (RFC 2544 section 10).
	// They count as lost. Absent when the engine does not check received frames.
	// +optional
	Truncated *int64 `json:"truncated,omitempty"`
	// corrupted frames came back with another content, or longer than they were sent.
	// They count as lost. Absent when the engine does not check received frames.
	// +optional
	Corrupted *int64 `json:"corrupted,omitempty"`
	// fragmented frames came back in pieces, each frame counted once. They count as
	// lost. Absent when the engine does not check received frames.
	// +optional
	Fragmented *int64 `json:"fragmented,omitempty"`
	// late frames came back so long after later ones that the engine cannot distinguish
	// them from copies. They count as lost. Absent when the engine does not know the order.
	// +optional
	Late *int64 `json:"late,omitempty"`
	// stale frames of an earlier trial arrived during the trials of this row: they were
	// counted as lost in their own trial, so that settleTime is too short. Absent when
	// the engine does not check received frames.
	// +optional
	Stale *int64 `json:"stale,omitempty"`
	// lossPPM is the share of lost frames among the sent ones in parts per million,
	// rounded half up but never to 0; absent where a method does not ask for it.
	// +optional
	LossPPM *int64 `json:"lossPPM,omitempty"`
	// receivedFramesPerSecond is the received frames over the length of the trial;
	// absent where a method does not ask for it.
	// +optional
	ReceivedFramesPerSecond *int64 `json:"receivedFramesPerSecond,omitempty"`
	// trialMilliseconds is the length of the trial that decided the row.
	// +optional
	TrialMilliseconds int64 `json:"trialMilliseconds"`
}

// CNPSummary contains the congestion notification packets of a trial.
type CNPSummary struct {
	// sent packets, by which receiving ports answered marked frames.
	// +optional
	Sent int64 `json:"sent"`
	// received packets at all ports. Those sent and not received were lost on their way back.
	// +optional
	Received int64 `json:"received"`
}

// FlowControlSummary contains the frames of flow control that the test ports received during the
// trial of a row. Frames that end a pause count too.
type FlowControlSummary struct {
	// pauseFrames are frames for the whole link (IEEE 802.3 annex 31B).
	// +optional
	PauseFrames int64 `json:"pauseFrames"`
	// pfcFrames are frames of priority-based flow control (PFC, IEEE 802.1Qbb), each counted
	// once for each priority that it enables.
	// +optional
	PFCFrames int64 `json:"pfcFrames"`
	// pfcPriorities has the pfcFrames of each priority that has any.
	// +optional
	// +listType=map
	// +listMapKey=priority
	// +kubebuilder:validation:MaxItems=8
	PFCPriorities []PriorityFrames `json:"pfcPriorities,omitempty"`
}

// PriorityFrames is a number of frames of a priority.
type PriorityFrames struct {
	// priority of the link, 0 to 7 (IEEE 802.1Q).
	// +required
	Priority int32 `json:"priority"`
	// frames of the priority.
	// +required
	Frames int64 `json:"frames"`
}

// OrZero returns the section, or one of zeros for a row that has none.
func (f *FrameSection) OrZero() FrameSection {
	if f == nil {
		return FrameSection{}
	}
	return *f
}

// ResultRow is one row of the result table: one test at one frame size, and for
// many methods at one load. It is an identity, a validity, and a section for each
// kind of thing that was measured.
type ResultRow struct {
	RowID `json:",inline"`
	// validity states whether the row can be trusted.
	// +required
	Validity Validity `json:"validity"`
	// validityReasons explain a validity other than Valid.
	// +optional
	// +listType=atomic
	ValidityReasons []string `json:"validityReasons,omitempty"`
	// message explains an unusual result, such as a throughput of 0.
	// +optional
	Message string `json:"message,omitempty"`
	// trials that the row took.
	// +optional
	Trials int32 `json:"trials"`
	// elapsedMilliseconds is the duration of the row in milliseconds.
	// +optional
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds"`
	// repeated contains the medians and confidence intervals of the figures of a row that was
	// measured several times; absent in the row of a single measurement. The other fields are
	// of the repetition whose main figure is the median.
	// +optional
	Repeated *RepeatedSummary `json:"repeated,omitempty"`
	// frames contains the counts of sent and received frames; absent in rows of tests that
	// send no test frames.
	// +optional
	Frames *FrameSection `json:"frames,omitempty"`
	// search contains the effort and the result of the search for a throughput or partial drop
	// rate.
	// +optional
	Search *SearchSummary `json:"search,omitempty"`
	// latency of every received frame, or of every timed one; absent when there
	// was none, and where no load passed.
	// +optional
	Latency *LatencySummary `json:"latency,omitempty"`
	// backToBack is the result of a back-to-back test.
	// +optional
	BackToBack *BackToBackSummary `json:"backToBack,omitempty"`
	// forwardingRate is the result of a forwarding rate test.
	// +optional
	ForwardingRate *ForwardingRateSummary `json:"forwardingRate,omitempty"`
	// ordering is the result of an ordering test.
	// +optional
	Ordering *OrderingSummary `json:"ordering,omitempty"`
	// recovery is the result of a system recovery test.
	// +optional
	Recovery *RecoverySummary `json:"recovery,omitempty"`
	// multicast contains the counts of frames that the groups received; absent for unicast.
	// +optional
	Multicast *MulticastSummary `json:"multicast,omitempty"`
	// multicastLatency is the latency of multicast at each receiving port in the order of
	// the bed, at most 256 of them; absent for unicast, and where no latency was measured.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	MulticastLatency []PortLatency `json:"multicastLatency,omitempty"`
	// classes contains the counts of sent and received frames of the traffic classes of a
	// mixed pattern; absent if all frames belong to one class.
	// +optional
	Classes *ClassesSummary `json:"classes,omitempty"`
	// flows contains the counts of sent and received frames of every flow of a profile with
	// flows, in their order, in the trial that decided the row.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Flows []FlowSummary `json:"flows,omitempty"`
	// microflows contains how many combinations of addresses and ports were delivered in the
	// trial that decided the row; absent where the profile does not track them.
	// +optional
	Microflows *MicroflowsSummary `json:"microflows,omitempty"`
	// addressCaching is the result of an address caching test.
	// +optional
	AddressCaching *AddressCachingSummary `json:"addressCaching,omitempty"`
	// addressLearning is the result of an address learning test.
	// +optional
	AddressLearning *AddressLearningSummary `json:"addressLearning,omitempty"`
	// broadcast is the result of a broadcast test.
	// +optional
	Broadcast *BroadcastSummary `json:"broadcast,omitempty"`
	// headOfLineBlocking is the result of a head of line blocking test.
	// +optional
	HeadOfLineBlocking *HeadOfLineBlockingSummary `json:"headOfLineBlocking,omitempty"`
	// congestionControl is the result of a congestion control test.
	// +optional
	CongestionControl *CongestionControlSummary `json:"congestionControl,omitempty"`
	// groupDelay is the result of a group join delay or group leave delay test.
	// +optional
	GroupDelay *GroupDelaySummary `json:"groupDelay,omitempty"`
	// groupCapacity is the result of a group capacity test.
	// +optional
	GroupCapacity *GroupCapacitySummary `json:"groupCapacity,omitempty"`
	// reset is the result of a reset test.
	// +optional
	Reset *ResetSummary `json:"reset,omitempty"`
	// rfc2544Latency contains the result of a latency test by RFC 2544 section 26.2.
	// +optional
	RFC2544Latency *RFC2544LatencySummary `json:"rfc2544Latency,omitempty"`
	// bufferSize is the number of frames that a port of the device buffered.
	// +optional
	BufferSize *BufferSizeSummary `json:"bufferSize,omitempty"`
	// routeCapacity is the number of routes that the device held.
	// +optional
	RouteCapacity *RouteCapacitySummary `json:"routeCapacity,omitempty"`
	// convergence is the result of a convergence test.
	// +optional
	Convergence *ConvergenceSummary `json:"convergence,omitempty"`
	// routeFlap is the result of a route flap test.
	// +optional
	RouteFlap *RouteFlapSummary `json:"routeFlap,omitempty"`
	// fibTruth is the number of routes to which the device forwards, and the others.
	// +optional
	FIBTruth *FIBTruthSummary `json:"fibTruth,omitempty"`
	// routeRefresh is the time that the device took to send its routes again.
	// +optional
	RouteRefresh *RouteRefreshSummary `json:"routeRefresh,omitempty"`
	// bgpRestart contains the outage and the losses of a restart of the device's BGP.
	// +optional
	BGPRestart *BGPRestartSummary `json:"bgpRestart,omitempty"`
	// sessionScale is the number of BGP sessions that the device held.
	// +optional
	SessionScale *SessionScaleSummary `json:"sessionScale,omitempty"`
	// configurationScale is the number of entries of a list that had no effect.
	// +optional
	ConfigurationScale *ConfigurationScaleSummary `json:"configurationScale,omitempty"`
	// incast is the result of an incast.
	// +optional
	Incast *IncastSummary `json:"incast,omitempty"`
	// connections is the result of a connections test.
	// +optional
	Connections *ConnectionsSummary `json:"connections,omitempty"`
	// rpcLatency is the result of requests over TCP.
	// +optional
	RPCLatency *RPCLatencySummary `json:"rpcLatency,omitempty"`
	// collectives is the result of a collective operation over TCP.
	// +optional
	Collectives *CollectivesSummary `json:"collectives,omitempty"`
	// bulk is the result of a data set that was moved over TCP.
	// +optional
	Bulk *BulkSummary `json:"bulk,omitempty"`
	// messageRate is the result of a search for a rate of multicast messages.
	// +optional
	MessageRate *MessageRateSummary `json:"messageRate,omitempty"`
	// series is the rates in the course of the trial; absent where a test asks for no
	// samplingInterval.
	// +optional
	Series *RateSeries `json:"series,omitempty"`
	// trialRecords are the finished trials of the row in compact form. The row of a partial drop
	// rate that was found by the search of the throughput has only the trial that decided it.
	// +optional
	TrialRecords *TrialLog `json:"trialRecords,omitempty"`
	// readings contains what the device reported of itself while the row was measured; absent where
	// NoDrop does not read it.
	// +optional
	Readings *DeviceReadings `json:"readings,omitempty"`
	// power of the device in the trial that decided the row; absent where NoDrop reads no meter.
	// +optional
	Power *RowPower `json:"power,omitempty"`
	// capture is the file with frames of the row's trials; absent where none were kept.
	// +optional
	Capture *CaptureFile `json:"capture,omitempty"`
}

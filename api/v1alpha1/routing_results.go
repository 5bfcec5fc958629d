package v1alpha1

// RouteCapacitySummary is the number of routes that a device holds.
type RouteCapacitySummary struct {
	// routes is the number of routes of full blocks that the witness had received and to which
	// frames arrived, if any were sent. The device holds at least this number.
	// +required
	Routes int64 `json:"routes"`
	// announced is the number of routes that had been announced with the last block.
	// +required
	Announced int64 `json:"announced"`
	// received is the number of announced routes that the witness had received in the end.
	// +required
	Received int64 `json:"received"`
	// full reports whether a block was not held; otherwise all routes of the set were.
	// +optional
	Full bool `json:"full"`
	// block is the number of routes that were announced at once.
	// +required
	Block int32 `json:"block"`
	// fullBlocks is the number of blocks that the device held.
	// +required
	FullBlocks int32 `json:"fullBlocks"`
	// witness is the name of the session that received the routes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Witness string `json:"witness"`
	// routesPerSecond is the rate at which the witness received the routes of the blocks that
	// were held: from the first message of an announcement to the last of the witness. Absent
	// when the time is too short to be seen.
	// +optional
	RoutesPerSecond *int64 `json:"routesPerSecond,omitempty"`
	// slowestBlockNs is the duration of the slowest of these blocks in nanoseconds.
	// +optional
	SlowestBlockNs *int64 `json:"slowestBlockNs,omitempty"`
	// memory of the device's routing software; absent where it cannot be read.
	// +optional
	Memory *RouteMemorySummary `json:"memory,omitempty"`
}

// RouteMemorySummary is the memory that the routing software of a device uses for routes.
type RouteMemorySummary struct {
	// idleBytes is the memory in use before the first block.
	// +required
	IdleBytes int64 `json:"idleBytes"`
	// heldBytes is the memory in use after the last block that was held; 0 if no block was
	// held.
	// +optional
	HeldBytes int64 `json:"heldBytes"`
	// endBytes is the memory in use at the end of the test; absent if the software had ended
	// by then.
	// +optional
	EndBytes *int64 `json:"endBytes,omitempty"`
	// bytesPerRoute is the additional memory of the blocks that were held, divided by the
	// number of their routes.
	// +optional
	BytesPerRoute int64 `json:"bytesPerRoute"`
	// blocks contains the memory in use after blocks that were held: after each block or, with
	// more than 64 blocks, after every blocksEach blocks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Blocks []int64 `json:"blocks,omitempty"`
	// blocksEach is the number of blocks for each entry of blocks.
	// +optional
	BlocksEach int32 `json:"blocksEach,omitempty"`
}

// EventTimes contains the durations of an event over all its repetitions, in nanoseconds.
type EventTimes struct {
	// avgNs is the average.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest.
	// +required
	MaxNs int64 `json:"maxNs"`
	// lossDerivedAvgNs is the average of the times derived from frames that were
	// lost after an announcement, or still forwarded after a withdrawal, over the rate at
	// which they were sent (RFC 6412 section 3.4).
	// +required
	LossDerivedAvgNs int64 `json:"lossDerivedAvgNs"`
	// unseen is the number of repetitions whose end did not come in time. The figures do not
	// include them.
	// +optional
	Unseen int32 `json:"unseen,omitempty"`
}

// ConvergenceSummary contains the times that a device takes to begin to forward to routes, and
// to cease.
type ConvergenceSummary struct {
	// cycles that were measured.
	// +required
	Cycles int32 `json:"cycles"`
	// routes that were announced and withdrawn in each.
	// +required
	Routes int64 `json:"routes"`
	// announce is from the first UPDATE message to the end of the first interval from
	// which on all frames are forwarded.
	// +required
	Announce EventTimes `json:"announce"`
	// withdraw is from the first UPDATE message that withdraws to the end of the last
	// interval in which frames are forwarded.
	// +required
	Withdraw EventTimes `json:"withdraw"`
	// resolutionNs is the maximum amount in nanoseconds by which a true time may be shorter:
	// the sampling interval, or more if a sample came late.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
	// neverForwarded is the number of routes to which no frame was forwarded in a cycle or
	// more. It is absent if the engine does not count the frames to each route, or if each
	// route gets a frame less than twice in announcedTime.
	// +optional
	NeverForwarded *int64 `json:"neverForwarded,omitempty"`
	// neverForwardedPrefixes are the first 100 of these routes, by their addresses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=64
	NeverForwardedPrefixes []string `json:"neverForwardedPrefixes,omitempty"`
}

// RouteFlapSummary contains the losses and the times until frames are forwarded again while
// routes flap.
type RouteFlapSummary struct {
	// flaps of the routes.
	// +required
	Flaps int32 `json:"flaps"`
	// routes of the set, and flapped of them.
	// +required
	Routes int64 `json:"routes"`
	// flapped is the number of routes that were withdrawn and announced again.
	// +required
	Flapped int64 `json:"flapped"`
	// withdraw is the time from a withdrawal until all frames to the flapped networks were
	// forwarded again, to any port. If the device has no other path it is always unseen.
	// +required
	Withdraw EventTimes `json:"withdraw"`
	// announce is the time from an announcement until all frames to the flapped networks were
	// forwarded to the port that announces them again.
	// +required
	Announce EventTimes `json:"announce"`
	// flappedLost is the number of frames to the flapped networks that no port received.
	// +required
	FlappedLost int64 `json:"flappedLost"`
	// stableLost is the number of lost frames to the other networks.
	// +required
	StableLost int64 `json:"stableLost"`
	// elsewhere is the number of frames to the flapped networks that other ports received, by
	// the further paths.
	// +required
	Elsewhere int64 `json:"elsewhere"`
	// lowestFlappedPPM is the lowest receive rate of any interval in parts per million of
	// what was sent in it, of the flapped networks at any port.
	// +required
	LowestFlappedPPM int64 `json:"lowestFlappedPPM"`
	// lowestStablePPM is the same of the other networks; absent when all networks flap.
	// +optional
	LowestStablePPM *int64 `json:"lowestStablePPM,omitempty"`
	// resolutionNs is the maximum amount in nanoseconds by which a true time may be shorter:
	// the sampling interval, or more if a sample came late.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
	// stable is the series of the networks that do not flap. The series of the row is
	// of the networks that flap. Absent when all networks flap.
	// +optional
	Stable *RateSeries `json:"stable,omitempty"`
}

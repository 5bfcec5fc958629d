package v1alpha1

// RouteCapacitySummary is how many routes a device holds.
type RouteCapacitySummary struct {
	// routes is how many routes the witness had received of full blocks, to which frames
	// arrived where any were sent: so many the device holds at least.
	// +required
	Routes int64 `json:"routes"`
	// announced is how many routes had been announced with the last block.
	// +required
	Announced int64 `json:"announced"`
	// received is how many of them the witness had received in the end.
	// +required
	Received int64 `json:"received"`
	// full reports whether a block was not held; otherwise all routes of the set were.
	// +optional
	Full bool `json:"full"`
	// block is how many routes were announced at once.
	// +required
	Block int32 `json:"block"`
	// fullBlocks is how many blocks were held.
	// +required
	FullBlocks int32 `json:"fullBlocks"`
	// witness is the name of the session that received the routes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Witness string `json:"witness"`
	// routesPerSecond is at what rate the witness received the routes of the blocks that
	// were held: from the first message of an announcement to the last of the witness.
	// Absent when the time is too short to be seen.
	// +optional
	RoutesPerSecond *int64 `json:"routesPerSecond,omitempty"`
	// slowestBlockNs is how long the slowest of these blocks took, in nanoseconds.
	// +optional
	SlowestBlockNs *int64 `json:"slowestBlockNs,omitempty"`
	// memory of the device's routing software; absent where it cannot be read.
	// +optional
	Memory *RouteMemorySummary `json:"memory,omitempty"`
}

// RouteMemorySummary is how much memory the routing software of a device uses for routes.
type RouteMemorySummary struct {
	// idleBytes is how much it used before the first block.
	// +required
	IdleBytes int64 `json:"idleBytes"`
	// heldBytes is how much it used after the last block that was held; 0 when none was.
	// +optional
	HeldBytes int64 `json:"heldBytes"`
	// endBytes is how much it used at the end of the test. Absent when the software had
	// ended then.
	// +optional
	EndBytes *int64 `json:"endBytes,omitempty"`
	// bytesPerRoute is what the blocks that were held took more, over their routes.
	// +optional
	BytesPerRoute int64 `json:"bytesPerRoute"`
	// blocks is how much it used after blocks that were held: after each, or where there
	// were more than 64, after every so many as blocksEach says.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Blocks []int64 `json:"blocks,omitempty"`
	// blocksEach is how many blocks an entry of blocks stands for.
	// +optional
	BlocksEach int32 `json:"blocksEach,omitempty"`
}

// EventTimes are how long an event took, over all its repetitions, in nanoseconds.
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
	// lossDerivedAvgNs is the average of the times derived from frames: those that were
	// lost after an announcement, or still forwarded after a withdrawal, over the rate at
	// which they were sent (RFC 6412 section 3.4).
	// +required
	LossDerivedAvgNs int64 `json:"lossDerivedAvgNs"`
	// unseen is how often the end did not come in time; these are not in the figures.
	// +optional
	Unseen int32 `json:"unseen,omitempty"`
}

// ConvergenceSummary is how long a device takes to forward to routes, and to cease.
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
	// resolutionNs is how much shorter a true time may be at most: the sampling interval,
	// or more where a sample came late.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
}

// RouteFlapSummary is what becomes of frames while routes flap.
type RouteFlapSummary struct {
	// flaps of the routes.
	// +required
	Flaps int32 `json:"flaps"`
	// routes of the set, and flapped of them.
	// +required
	Routes int64 `json:"routes"`
	// flapped is how many routes were withdrawn and announced again.
	// +required
	Flapped int64 `json:"flapped"`
	// withdraw is how long after a withdrawal all frames to the flapped networks were
	// forwarded again, to any port. Where the device has no other path it is always unseen.
	// +required
	Withdraw EventTimes `json:"withdraw"`
	// announce is how long after an announcement all frames to the flapped networks were
	// forwarded to the port that announces them again.
	// +required
	Announce EventTimes `json:"announce"`
	// flappedLost is how many frames to the flapped networks no port received.
	// +required
	FlappedLost int64 `json:"flappedLost"`
	// stableLost is how many frames to the other networks were lost.
	// +required
	StableLost int64 `json:"stableLost"`
	// elsewhere is how many frames to the flapped networks other ports received, by the
	// further paths.
	// +required
	Elsewhere int64 `json:"elsewhere"`
	// lowestFlappedPPM is the lowest receive rate of any interval in parts per million of
	// what was sent in it, of the flapped networks at any port.
	// +required
	LowestFlappedPPM int64 `json:"lowestFlappedPPM"`
	// lowestStablePPM is the same of the other networks; absent when all networks flap.
	// +optional
	LowestStablePPM *int64 `json:"lowestStablePPM,omitempty"`
	// resolutionNs is how much shorter a true time may be at most: the sampling interval,
	// or more where a sample came late.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
	// stable is the series of the networks that do not flap; that of those that do is
	// the series of the row. Absent when all networks flap.
	// +optional
	Stable *RateSeries `json:"stable,omitempty"`
}

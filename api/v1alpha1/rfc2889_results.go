package v1alpha1

// AddressCachingSummary is the number of hardware addresses that the device learned on one
// port and to which it forwarded without flooding or loss (RFC 2889 section 5.7). It does not
// include the address of the test port, which the device also holds.
type AddressCachingSummary struct {
	// addresses is the capacity; 0 when not even one was learned.
	// +required
	Addresses int64 `json:"addresses"`
	// exceededAt is the least number of addresses of which frames were flooded or lost;
	// absent when the greatest number that was tried passed, so that the capacity is
	// at least that.
	// +optional
	ExceededAt int64 `json:"exceededAt,omitempty"`
	// framesPerSecond is the intended load of learning and test frames.
	// +required
	FramesPerSecond int64 `json:"framesPerSecond"`
	// iterations of the search, in their order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Iterations []AddressIteration `json:"iterations"`
}

// AddressLearningSummary is the highest rate of new hardware addresses at which the
// device learned them all (RFC 2889 section 5.8).
type AddressLearningSummary struct {
	// addressesPerSecond is the learning rate; 0 when no rate passed.
	// +required
	AddressesPerSecond int64 `json:"addressesPerSecond"`
	// exceededAt is the lowest rate at which frames were flooded or lost, in addresses
	// per second; absent when the highest rate that was tried passed, so that the
	// device learns at least at that.
	// +optional
	ExceededAt int64 `json:"exceededAt,omitempty"`
	// offeredPerSecond is the rate, in addresses per second, at which the addresses were offered
	// when all were learned; absent if it differs from addressesPerSecond by a hundredth at most.
	// +optional
	OfferedPerSecond int64 `json:"offeredPerSecond,omitempty"`
	// addresses that were offered at each rate.
	// +required
	Addresses int64 `json:"addresses"`
	// iterations of the search, in their order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Iterations []AddressIteration `json:"iterations"`
}

// AddressIteration is one iteration of a search: addresses were learned, and frames
// sent to them.
type AddressIteration struct {
	// addresses that were offered.
	// +required
	Addresses int64 `json:"addresses"`
	// learningFramesPerSecond is the rate at which they were offered.
	// +required
	LearningFramesPerSecond int64 `json:"learningFramesPerSecond"`
	// sent is the number of test frames that left the test port.
	// +required
	Sent int64 `json:"sent"`
	// received is the number of test frames that arrived at the learning port.
	// +required
	Received int64 `json:"received"`
	// flooded is the number of test frames that arrived at the monitoring port.
	// +required
	Flooded int64 `json:"flooded"`
}

// BroadcastSummary describes how the device forwards broadcast frames, in addition to their
// throughput, which is the row's load (RFC 2889 section 5.10).
type BroadcastSummary struct {
	// receivers is the number of ports that receive every frame.
	// +required
	Receivers int32 `json:"receivers"`
	// maxLoadPPM is the maximum offered load in parts per million of line rate, as it left
	// the tester.
	// +required
	MaxLoadPPM int64 `json:"maxLoadPPM"`
	// forwardingRate at that load, in frames/s summed over the receiving ports.
	// +required
	ForwardingRate int64 `json:"forwardingRate"`
	// forwardingRateBounds bound forwardingRate; absent if it is exact.
	// +optional
	ForwardingRateBounds *RateBounds `json:"forwardingRateBounds,omitempty"`
	// lossPPM at that load: the share of lost frames in parts per million of all that
	// the receivers should have got, rounded half up but never to 0.
	// +required
	LossPPM int64 `json:"lossPPM"`
	// doubtfulLossPPM is the part of lossPPM that the tester may have lost or caused.
	// +optional
	DoubtfulLossPPM int64 `json:"doubtfulLossPPM,omitempty"`
	// latencyMinNs is the least latency of a single frame over the receiving ports, in
	// nanoseconds; absent when the engine measured none.
	// +optional
	LatencyMinNs *int64 `json:"latencyMinNs,omitempty"`
	// latencyAvgNs is the mean over the receiving ports.
	// +optional
	LatencyAvgNs *int64 `json:"latencyAvgNs,omitempty"`
	// latencyMaxNs is the greatest over the receiving ports.
	// +optional
	LatencyMaxNs *int64 `json:"latencyMaxNs,omitempty"`
}

// HeadOfLineBlockingSummary is the effect of a congested port on one that is not congested
// (RFC 2285 section 3.7.3). Shares are of the frames sent to the port, in parts per million,
// rounded half up but never to 0.
type HeadOfLineBlockingSummary struct {
	// blocking reports whether the uncongested port lost frames that it does not lose
	// alone; absent when no port was congested.
	// +optional
	Blocking *bool `json:"blocking,omitempty"`
	// uncongestedLossPPM is the loss ratio of the uncongested port.
	// +required
	UncongestedLossPPM int64 `json:"uncongestedLossPPM"`
	// uncongestedFramesPerSecond is its forwarding rate.
	// +required
	UncongestedFramesPerSecond int64 `json:"uncongestedFramesPerSecond"`
	// congestedLossPPM is the loss ratio of the congested port.
	// +required
	CongestedLossPPM int64 `json:"congestedLossPPM"`
	// aloneLossPPM is the loss ratio of the uncongested port without congestion.
	// +required
	AloneLossPPM int64 `json:"aloneLossPPM"`
	// delayNs is the mean latency at the uncongested port, in nanoseconds; absent when
	// none was measured.
	// +optional
	DelayNs *int64 `json:"delayNs,omitempty"`
	// aloneDelayNs is the mean latency there without congestion.
	// +optional
	AloneDelayNs *int64 `json:"aloneDelayNs,omitempty"`
}

// CongestionControlSummary describes how the device handles a congested port (RFC 2889 section
// 5.5). Shares are of the frames sent to the port, in parts per million, rounded half up but
// never to 0. The row contains the intended and the offered load of the senders.
type CongestionControlSummary struct {
	// backPressure reports whether the device held the senders back (RFC 2285 section 3.7.1);
	// absent when it is not known, because the tester cannot distinguish that from its own
	// shortfall, or since no port was congested.
	// +optional
	BackPressure *bool `json:"backPressure,omitempty"`
	// headOfLineBlocking reports whether frames were lost at the uncongested port; absent
	// when no port was congested.
	// +optional
	HeadOfLineBlocking *bool `json:"headOfLineBlocking,omitempty"`
	// uncongestedLossPPM is the loss ratio of the uncongested port.
	// +required
	UncongestedLossPPM int64 `json:"uncongestedLossPPM"`
	// uncongestedFramesPerSecond is the forwarding rate of the uncongested port.
	// +required
	UncongestedFramesPerSecond int64 `json:"uncongestedFramesPerSecond"`
	// congestedLossPPM is the loss ratio of the congested port.
	// +required
	CongestedLossPPM int64 `json:"congestedLossPPM"`
	// congestedFramesPerSecond is the forwarding rate of the congested port.
	// +required
	CongestedFramesPerSecond int64 `json:"congestedFramesPerSecond"`
}

package v1alpha1

// MulticastSummary is what the groups of a multicast pattern received in the
// trial that decided the row. Frames of a group are summed over its receivers.
type MulticastSummary struct {
	// groups that were sent to.
	// +required
	Groups int32 `json:"groups"`
	// receivers that a group has.
	// +required
	Receivers int32 `json:"receivers"`
	// minFrames is what the group with the fewest received.
	// +required
	MinFrames int64 `json:"minFrames"`
	// maxFrames is what the group with the most received.
	// +required
	MaxFrames int64 `json:"maxFrames"`
	// minFramesPerSecond is minFrames over the length of the trial, rounded to the
	// nearest.
	// +required
	MinFramesPerSecond int64 `json:"minFramesPerSecond"`
	// maxFramesPerSecond is maxFrames over the length of the trial, rounded to the
	// nearest.
	// +required
	MaxFramesPerSecond int64 `json:"maxFramesPerSecond"`
}

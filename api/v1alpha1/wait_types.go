package v1alpha1

// Wait counts how long operators have waited for one thing. Only time between two
// looks of the same operator counts, and each look counts for a tenth of the
// deadline at most: an operator that was down, a clock that differs between two
// operators and a busy lab do not bring a deadline nearer.
type Wait struct {
	// reason with which the wait ends when it takes too long, such as DeviceFailed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// attempts is the number of checks or attempts of operators without success.
	// +required
	Attempts int32 `json:"attempts"`
	// seconds is the time in seconds for which operators have waited.
	// +required
	Seconds int64 `json:"seconds"`
}

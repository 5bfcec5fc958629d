package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AddressCachingTest searches how many hardware addresses the device learns on one
// port and then forwards to without flooding (RFC 2889 section 5.7). It needs three
// ports on one layer-2 network, the first of the bed: the learning port sends frames
// from many addresses to the test port, the test port sends one frame to each of
// them, and the monitoring port sees what was flooded.
//
// +kubebuilder:validation:XValidation:rule="!has(self.initialAddresses) || self.initialAddresses <= self.maxAddresses",message="initialAddresses is above maxAddresses: lower it, or raise maxAddresses"
type AddressCachingTest struct {
	// maxAddresses is the greatest number of addresses that is tried.
	// +optional
	// +kubebuilder:default=65536
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxAddresses int32 `json:"maxAddresses,omitempty"`
	// initialAddresses is the number that is tried first; by default maxAddresses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	InitialAddresses *int32 `json:"initialAddresses,omitempty"`
	// resolution is the difference, in addresses, between the greatest number that
	// passed and the least that did not at which the search ends.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Resolution int32 `json:"resolution,omitempty"`
	// learningRate is the number of addresses that are offered per second, one per frame. It
	// has to be low enough for the device to learn them all (RFC 2889 section 5.7.2); the test
	// frames are sent at the same rate.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000000
	LearningRate int32 `json:"learningRate,omitempty"`
	// agingTime is the longest time for which the device keeps an address that it
	// hears nothing from. It is waited before every iteration. The device must not
	// forget an address before the test frames have come, so that twice maxAddresses
	// at learningRate have to take less.
	// +optional
	// +kubebuilder:default="300s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'agingTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	AgingTime metav1.Duration `json:"agingTime,omitzero"`
}

// AddressLearningTest searches the highest rate of new hardware addresses at which
// the device learns them all (RFC 2889 section 5.8), on the ports of an address
// caching test.
type AddressLearningTest struct {
	// addresses is the number of addresses that are offered at each rate. It must not be above
	// the address caching capacity of the device.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Addresses int32 `json:"addresses,omitempty"`
	// maxRate is the highest rate that is tried, in addresses per second, one per
	// frame. By default, and at most, it is line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000000
	MaxRate *int32 `json:"maxRate,omitempty"`
	// resolution is the difference, in addresses per second, between the highest rate
	// that passed and the lowest that did not at which the search ends.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000000
	Resolution int32 `json:"resolution,omitempty"`
	// testRate is the rate, in frames per second, of the test frames that are sent to
	// the addresses after each learning.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000000
	TestRate int32 `json:"testRate,omitempty"`
	// agingTime is the longest time for which the device keeps an address that it
	// hears nothing from. It is waited before every iteration, and addresses at
	// testRate have to take less.
	// +optional
	// +kubebuilder:default="300s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'agingTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	AgingTime metav1.Duration `json:"agingTime,omitzero"`
}

// BroadcastTest searches the throughput of broadcast frames from the first port of
// the bed to all others on one layer-2 network, and measures the latency of a single
// one at each of them (RFC 2889 section 5.10).
//
// +kubebuilder:validation:XValidation:rule="!self.searchTrialDuration.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || !self.trialDuration.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || duration(self.searchTrialDuration) <= duration(self.trialDuration)",message="searchTrialDuration is longer than trialDuration: the trials of the search may be shorter than the confirmation, not longer"
type BroadcastTest struct {
	// resolution is the width at which the search ends.
	// +optional
	// +kubebuilder:default="0.1%"
	Resolution LoadAmount `json:"resolution,omitempty"`
	// minLoad is the lowest load that is tried; when it loses frames the throughput is
	// reported as 0.
	// +optional
	// +kubebuilder:default="0.1%"
	MinLoad LoadAmount `json:"minLoad,omitempty"`
	// maxLoad is the highest load that is tried, and the load of the forwarding rate.
	// +optional
	// +kubebuilder:default="100%"
	MaxLoad LoadAmount `json:"maxLoad,omitempty"`
	// trialDuration is the length of the trial that confirms the throughput, and of
	// that at maxLoad.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
	// searchTrialDuration is the length of the trials of the search before it.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'searchTrialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	SearchTrialDuration metav1.Duration `json:"searchTrialDuration,omitzero"`
}

// HeadOfLineBlockingTest measures whether a congested port takes frames from a port
// that is not congested (RFC 2889 section 5.5, RFC 2285 section 3.7.3). It needs four
// ports of one speed, the first of the bed: p1 sends to p3 and p4 in turn, p2 to p4
// only, so that p4 is asked for one and a half times its load and p3 for half. The
// same frames to p3 are measured alone before.
type HeadOfLineBlockingTest struct {
	// load is the intended load of each of the two senders, above 66.6666% of line rate.
	// +optional
	// +kubebuilder:default="100%"
	Load LoadAmount `json:"load,omitempty"`
	// trialDuration is the length of both trials.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

// CongestionControlTest measures how the device handles a congested port: whether it
// holds the senders back, what it loses, and whether a port that is not congested
// suffers (RFC 2889 section 5.5). Its ports and streams are those of a head of line
// blocking test.
type CongestionControlTest struct {
	// load is the intended load of each of the two senders, above 66.6666% of line rate.
	// +optional
	// +kubebuilder:default="100%"
	Load LoadAmount `json:"load,omitempty"`
	// trialDuration is the length of the trial.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxScaleEntries is the largest number of entries of a list.
const MaxScaleEntries = 1 << 16

// DeviceScale is a list on the device whose number of entries benchmarks vary.
type DeviceScale struct {
	// name of the list, unique in the bed: acl. Benchmarks choose it, results have it, and the list on the device is
	// named after it: nodrop-acl.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a list: use lower-case letters, digits and dashes, such as acl'"
	Name string `json:"name"`
	// accessList is a list on the way into ports of the device.
	// +required
	AccessList AccessListScale `json:"accessList"`
	// range bounds the number of entries that benchmarks may ask for.
	// +required
	Range ScaleRange `json:"range"`
}

// ScaleGrant lets benchmarks choose a list of the device.
type ScaleGrant struct {
	// name of the list in the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// maximum is the highest number of entries that a benchmark may ask for, 1 to 65536; it is asked for as the maximum of the
	// test. Absent means the maximum of the bed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Maximum int64 `json:"maximum,omitempty"`
}

// AccessListScale is an access list on the way into ports of the device. Its entries deny one address each of
// 198.19.0.0/16, except for one entry for each network of permit.
type AccessListScale struct {
	// ports are the interfaces of the device that have the list: e1, Ethernet1/1.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[-a-zA-Z0-9._/:]+$')",message="the name of an interface has letters, digits and . _ / : - only, such as Ethernet1/1"
	Ports []string `json:"ports"`
	// permit are the networks that the traffic of tests comes from, an entry for each. It is empty with match never.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permit []AddressPrefix `json:"permit,omitempty"`
	// match is the place of the entries that the traffic matches. A device that looks at one entry after the other is
	// slowest with last, and with never, where no entry matches and the list permits the rest. never is for the platform nftables.
	// +optional
	// +kubebuilder:default=last
	Match AccessListMatch `json:"match,omitempty"`
}

// AccessListMatch is the place of the entries that traffic matches in an access list.
//
// +kubebuilder:validation:Enum=first;middle;last;never
type AccessListMatch string

// AccessListMatchLast is the default place.
const AccessListMatchLast AccessListMatch = "last"

// ScaleRange is a range of numbers of entries.
//
// +kubebuilder:validation:XValidation:rule="self.minimum <= self.maximum",messageExpression="'the minimum %d is above the maximum %d'.format([self.minimum, self.maximum])"
type ScaleRange struct {
	// minimum is the lowest number of entries, 1 to 65536.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Minimum int64 `json:"minimum"`
	// maximum is the highest number of entries, 1 to 65536.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Maximum int64 `json:"maximum"`
}

// ConfigurationScaleTest searches the largest number of entries of a list on the device that has no effect: no frame
// is lost, and, if maxAddedLatency is set, the mean latency rises by no more than that. The first trial has the device without
// the list. The number of entries begins at minimum and doubles until there is an effect, and then the interval is halved. Both
// ends of the interval are tried again.
//
// +kubebuilder:validation:XValidation:rule="!has(self.throughputShare) || !has(self.load) || self.load == 'throughput'",message="throughputShare is a share of the load throughput: set load to throughput, or leave throughputShare out"
// +kubebuilder:validation:XValidation:rule="!has(self.minimum) || !has(self.maximum) || self.minimum <= self.maximum",messageExpression="'minimum is %d and maximum %d: give a maximum that is not below the minimum'.format([self.minimum, self.maximum])"
type ConfigurationScaleTest struct {
	// name of the list in the bed (device.physical.management.ssh.scales). It may be left out if the bed describes one, and
	// is left out for a simulated device.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`
	// minimum is the number of entries that is tried first; by default the lowest that the bed allows.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Minimum int32 `json:"minimum,omitempty"`
	// maximum is the highest number of entries that is tried; by default the highest that the bed allows.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Maximum int32 `json:"maximum,omitempty"`
	// resolution is the number of entries at which the search ends: the smallest number with an effect is at most so many
	// above the largest one without.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Resolution int32 `json:"resolution,omitempty"`
	// maxTrials is the number of configurations with the list after which the search ends, whatever it has found.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=200
	MaxTrials int32 `json:"maxTrials,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found for the same frame size, without the list.
	// +optional
	// +kubebuilder:default=throughput
	Load Load `json:"load,omitempty"`
	// throughputShare is the share of the load throughput that is sent, such as 90%: a list that takes less than
	// the rest of the throughput has no effect. Absent means 100%.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.matches('^(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%$') && !self.matches('^0+([.]0+)?%$')",messageExpression="'\"' + self + '\" is not a share of the throughput: give a number above 0% and up to 100% with at most four decimals, such as 90%'"
	ThroughputShare string `json:"throughputShare,omitempty"`
	// maxAddedLatency is the highest difference between the mean latency with the list and without it that is no effect. Absent
	// means that latency does not matter.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('10s')",messageExpression="'maxAddedLatency is ' + self + ': give 0s to 10s, a number with one of the units ns, us, ms, s, m and h'"
	MaxAddedLatency *metav1.Duration `json:"maxAddedLatency,omitempty"`
	// waitTime is waited after the device reported the configuration, before frames are sent: a device may put entries into its
	// hardware later.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'waitTime is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime *metav1.Duration `json:"waitTime,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

// ScaleEffect is the effect of a list on the device.
//
// +kubebuilder:validation:Enum=FrameLoss;Latency;Rejected
type ScaleEffect string

const (
	// ScaleLosesFrames means that frames were lost.
	ScaleLosesFrames ScaleEffect = "FrameLoss"
	// ScaleAddsLatency means that the mean latency rose by more than maxAddedLatency.
	ScaleAddsLatency ScaleEffect = "Latency"
	// ScaleRejected means that the device rejected the list, or reports another one than it was given.
	ScaleRejected ScaleEffect = "Rejected"
)

// ConfigurationScaleSummary is the largest number of entries of a list on the device that had no effect.
type ConfigurationScaleSummary struct {
	// name of the list in the bed; absent for a simulated device.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`
	// entries is the largest number of entries without an effect; 0 if the lowest number had one.
	// +required
	Entries int64 `json:"entries"`
	// failedEntries is the smallest number of entries with an effect; 0 if there was none up to the
	// highest number.
	// +optional
	FailedEntries int64 `json:"failedEntries"`
	// minimumEntries is the lowest number that the search tried.
	// +required
	MinimumEntries int64 `json:"minimumEntries"`
	// maximumEntries is the highest number that the search would have tried.
	// +required
	MaximumEntries int64 `json:"maximumEntries"`
	// configurations is the number of times that the device was given a list, repetitions included.
	// +required
	Configurations int32 `json:"configurations"`
	// effect of failedEntries; absent if there was none.
	// +optional
	Effect ScaleEffect `json:"effect,omitempty"`
	// deviceMessage is the message of a device that rejected failedEntries, or how its configuration differs.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DeviceMessage string `json:"deviceMessage,omitempty"`
	// failedLost is the number of frames that were lost with failedEntries.
	// +optional
	FailedLost int64 `json:"failedLost,omitempty"`
	// latencyWithoutNs is the mean latency in nanoseconds without the list; absent if it was not measured.
	// +optional
	LatencyWithoutNs *int64 `json:"latencyWithoutNs,omitempty"`
	// addedLatencyNs is the mean latency with entries minus the one without the list; absent if it was not measured.
	// +optional
	AddedLatencyNs *int64 `json:"addedLatencyNs,omitempty"`
	// failedAddedLatencyNs is the mean latency with failedEntries minus the one without the list, of the frames
	// that arrived; absent if none did, or if the list was rejected.
	// +optional
	FailedAddedLatencyNs *int64 `json:"failedAddedLatencyNs,omitempty"`
	// unsteady reports whether a number of entries had an effect in one trial and none in another, or a number above
	// failedEntries had none: the boundary is not sharp.
	// +optional
	Unsteady bool `json:"unsteady,omitempty"`
	// capped reports whether maxTrials ended the search before both ends were as near as resolution and confirmed.
	// +optional
	Capped bool `json:"capped,omitempty"`
}

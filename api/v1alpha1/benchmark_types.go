package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Benchmark is a list of tests to run once, on one bed, with one traffic
// profile. It is like a Job: its spec cannot be changed, it ends in exactly one
// of Passed, Measured, Inconclusive, Failed, Invalid, Aborted and Error, and it never runs
// again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bm,categories=nodrop
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Bed",type=string,JSONPath=`.status.testBedName`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Gates",type=string,JSONPath=`.status.conditions[?(@.type=="GatesPassed")].reason`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Benchmark struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec describes the measurement. Once the benchmark exists, only abort and ttlSecondsAfterFinished can be set, and
	// suspend be taken back; the webhook compares the rest.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.abort) || !oldSelf.abort || (has(self.abort) && self.abort)",message="abort cannot be taken back: apply the benchmark again under another name"
	// +kubebuilder:validation:XValidation:rule="!has(self.suspend) || !self.suspend || (has(oldSelf.suspend) && oldSelf.suspend)",message="a Benchmark cannot be changed after it was admitted to be suspended: give suspend when it is created; abort ends it"
	Spec BenchmarkSpec `json:"spec"`
	// status contains the progress of the benchmark and its result.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status BenchmarkStatus `json:"status,omitempty"`
}

// BenchmarkList is a list of benchmarks.
//
// +kubebuilder:object:root=true
type BenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Benchmark `json:"items"`
}

// BenchmarkSpec describes the measurement. It cannot choose a command, a path or a node, nor
// an image that the bed does not allow for its device: the bed defines those.
//
// +kubebuilder:validation:ExactlyOneOf=testBedName;testBedSelector;testBedRequirements
// +kubebuilder:validation:XValidation:rule="!has(self.priorityClassName) || self.priority == 0",message="priority and priorityClassName are both given: give one of them",fieldPath=".priority"
// +kubebuilder:validation:XValidation:rule="!has(self.gang) || !has(self.preemptible) || !self.preemptible",message="preemptible and gang are both given: the members of a gang keep their beds: leave one of them out",fieldPath=".preemptible"
type BenchmarkSpec struct {
	// testBedName names the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TestBedName string `json:"testBedName,omitempty"`
	// testBedSelector chooses any bed with these labels that allows this namespace.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || self.matchLabels.size() <= 16) && (!has(self.matchExpressions) || self.matchExpressions.size() <= 16 && self.matchExpressions.all(e, !has(e.values) || e.values.size() <= 32))",message="the selector has more than 16 matchLabels, 16 matchExpressions, or 32 values of an expression: give objects that belong together a label of their own, and select that"
	TestBedSelector *metav1.LabelSelector `json:"testBedSelector,omitempty"`
	// testBedRequirements chooses any bed that has all of this and allows this namespace.
	// +optional
	TestBedRequirements *TestBedRequirements `json:"testBedRequirements,omitempty"`
	// gang makes the benchmark one of several that get their beds together, all or none.
	// +optional
	Gang *Gang `json:"gang,omitempty"`
	// reservationName names a Reservation in the same namespace, in whose time the
	// benchmark runs, on a bed that it reserves. The benchmark waits until it can end before
	// the reservation does. Without it the benchmark runs outside of all reservations.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ReservationName string `json:"reservationName,omitempty"`
	// suspend keeps the benchmark out of the queue of its bed until it is set to false. Only a
	// benchmark that is created can be suspended. A benchmark with the label
	// kueue.x-k8s.io/queue-name waits for Kueue in the same way, without this field.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// trafficProfileName names a TrafficProfile in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TrafficProfileName string `json:"trafficProfileName"`
	// frameSizes are measured in place of frameSizes and frameMixes of the profile: in bytes,
	// with the 4-byte FCS, each for itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'frameSizes has %d more than once: name every size once'.format([self.filter(v, !self.exists_one(w, w == v))[0]])"
	FrameSizes []FrameSize `json:"frameSizes,omitempty"`
	// priorityClassName names a priority class of the LabPolicy, which has the priority. With
	// it priority must be left out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// priority orders the benchmarks of a team: higher first, then first come. Without a
	// LabPolicy it orders the benchmarks of all teams.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	Priority int32 `json:"priority"`
	// preemptible lets the lab take the bed away for a benchmark of a higher priority
	// class. The benchmark then waits again, and resumes from its finished rows on the same
	// bed; without any it may get another one. The trial in hand is broken off, and its row
	// is measured again. By default a benchmark keeps its bed until it ends.
	// +optional
	Preemptible bool `json:"preemptible,omitempty"`
	// tests are run in their order, each over all frame sizes.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="[self.map(v, v.name)].all(names, names.all(n, names.exists_one(m, m == n)))",messageExpression="'tests has the name ' + self.map(v, v.name).filter(n, !self.exists_one(w, w.name == n))[0] + ' more than once: give every test a name of its own'"
	Tests []Test `json:"tests"`
	// variants are names of configurations of the bed's device. All tests run once for each,
	// in this order, and the report shows the differences from the first. Without any the
	// device is measured as it is.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'variants has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every variant once'"
	Variants []VariantName `json:"variants,omitempty"`
	// deviceImage is the container image of the bed's device, in place of the one that the bed
	// gives. The device must be of containerlab, and its allowedImages must have the image. It
	// cannot be given with variants that have an image of their own.
	// +optional
	DeviceImage DeviceImage `json:"deviceImage,omitempty"`
	// deviceParameters are the values of parameters that the configurations of the variants have. A parameter without one
	// has its default.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	DeviceParameters []ChosenParameter `json:"deviceParameters,omitempty"`
	// gates are the conditions that figures of the rows must meet. A measured benchmark ends
	// with Failed if a gate failed, and otherwise with Inconclusive if a gate is inconclusive.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="[self.map(v, v.name)].all(names, names.all(n, names.exists_one(m, m == n)))",messageExpression="'gates has the name ' + self.map(v, v.name).filter(n, !self.exists_one(w, w.name == n))[0] + ' more than once: give every gate a name of its own'"
	Gates []Gate `json:"gates,omitempty"`
	// settleTime is waited after sending stops before counters are read, for
	// frames that are still in flight (RFC 2544 section 23: 2 s).
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('60s')",messageExpression="'settleTime is ' + self + ': give 10ms to 60s, a number with one of the units ns, us, ms, s, m and h'"
	SettleTime metav1.Duration `json:"settleTime,omitzero"`
	// restTime is waited between trials so that the device can restabilise (RFC
	// 2544 section 23: 5 s).
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('300s')",messageExpression="'restTime is ' + self + ': give 0s to 300s, a number with one of the units ns, us, ms, s, m and h'"
	RestTime *metav1.Duration `json:"restTime,omitempty"`
	// historyName is the name under which the archive keeps the result, and compares it with
	// others of that name. By default it is the name of the benchmark; benchmarks of a schedule
	// have the name of the schedule and of the cell of its matrix.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a history: use lower-case letters, digits, dashes and dots, as in the name of a Benchmark'"
	HistoryName string `json:"historyName,omitempty"`
	// attribution names the operator and the customer of the measurement. It is repeated in
	// results and reports.
	// +optional
	Attribution *Attribution `json:"attribution,omitempty"`
	// capture keeps received frames of the trials that rows rest on in PCAPNG files next to
	// the result. Only nodrop run does, with the engine xdp.
	// +optional
	Capture *Capture `json:"capture,omitempty"`
	// activeDeadlineSeconds ends the benchmark with Invalid when it holds the bed
	// for longer. It is refused where the tests certainly send for longer. Where it was preempted, the times in which it held a bed are added up. The
	// default is one day.
	// +optional
	// +kubebuilder:default=86400
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=2592000
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`
	// abort ends the benchmark with Aborted; finished rows are kept. It can be set
	// at any time, and not be taken back.
	// +optional
	Abort bool `json:"abort,omitempty"`
	// ttlSecondsAfterFinished deletes the benchmark this long after it has ended; where the
	// lab has an archive, not before its result is there. Absent means the lab's default,
	// which is to keep it forever unless the lab sets another one. It can be changed at any
	// time. The highest is ten years.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// Attribution names the operator and the customer of a measurement.
//
// +kubebuilder:validation:MinProperties=1
type Attribution struct {
	// operator is the person who measures: a name, an address, or both.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Operator string `json:"operator,omitempty"`
	// customer is the customer of the measurement: a name, an address, or both.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Customer string `json:"customer,omitempty"`
}

// Rest returns the pause between trials, or 0 if restTime is not set. The API server always
// stores a restTime.
func (s *BenchmarkSpec) Rest() time.Duration {
	if s.RestTime == nil {
		return 0
	}
	return s.RestTime.Duration
}

// Test returns the test of a name; nil if the benchmark has none.
func (s *BenchmarkSpec) Test(name string) *Test {
	for i := range s.Tests {
		if s.Tests[i].Name == name {
			return &s.Tests[i]
		}
	}
	return nil
}

// History is the name under which results of a benchmark of this name are compared with
// others.
func (s *BenchmarkSpec) History(name string) string {
	if s.HistoryName != "" {
		return s.HistoryName
	}
	return name
}

// The rule of Test counts fields: the API server copies the definitions of all fields for each one that a rule looks for.

// Test is one test of a benchmark: its name, and exactly one method.
// +kubebuilder:validation:XValidation:rule="size(dyn(self)) == (has(self.repetitions) ? 3 : 2)",message="exactly one of the fields in [throughput latency frameLoss backToBack soak forwardingRate ordering recovery addressCaching addressLearning broadcast headOfLineBlocking congestionControl groupJoinDelay groupLeaveDelay groupCapacity reset rfc2544Latency bufferSize routeCapacity convergence routeFlap routeRefresh bgpRestart sessionScale fibTruth configurationScale incast connections rpcLatency collectives bulk messageRate] must be set"
type Test struct {
	// name of the test, unique in the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a test name: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// repetitions is the number of independent measurements of each row of the test: every
	// search begins anew, and no repetition knows the others. All frame sizes are measured
	// once before the next repetition begins. The result has the median of each figure and
	// its confidence interval, which has 95 % from 6 repetitions on. The field
	// repetitions of a method, such as backToBack, counts within each of them. Absent means 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Repetitions int32 `json:"repetitions,omitempty"`
	// throughput finds the highest load without loss (RFC 2544 section 26.1).
	// +optional
	Throughput *ThroughputTest `json:"throughput,omitempty"`
	// latency measures latency and jitter at given loads (RFC 2544 section 26.2,
	// with every frame measured instead of one).
	// +optional
	Latency *LatencyTest `json:"latency,omitempty"`
	// frameLoss measures the share of lost frames at falling loads (RFC 2544 section
	// 26.3).
	// +optional
	FrameLoss *FrameLossTest `json:"frameLoss,omitempty"`
	// backToBack searches the longest burst without loss (RFC 9004).
	// +optional
	BackToBack *BackToBackTest `json:"backToBack,omitempty"`
	// soak sends at one load for long: loss and receive rate.
	// +optional
	Soak *SoakTest `json:"soak,omitempty"`
	// forwardingRate measures what is forwarded at overload (RFC 2285 section 3.6): at
	// the maximum offered load (RFC 2889 section 5.1), and the most at any load
	// (sections 5.1 and 5.6).
	// +optional
	ForwardingRate *ForwardingRateTest `json:"forwardingRate,omitempty"`
	// ordering measures reordering by load (RFC 4737).
	// +optional
	Ordering *OrderingTest `json:"ordering,omitempty"`
	// recovery measures how long frames are lost after an overload (RFC 2544 section
	// 26.5).
	// +optional
	Recovery *RecoveryTest `json:"recovery,omitempty"`
	// addressCaching searches how many hardware addresses the device holds (RFC 2889
	// section 5.7).
	// +optional
	AddressCaching *AddressCachingTest `json:"addressCaching,omitempty"`
	// addressLearning searches how fast the device learns hardware addresses (RFC 2889
	// section 5.8).
	// +optional
	AddressLearning *AddressLearningTest `json:"addressLearning,omitempty"`
	// broadcast measures throughput and latency of broadcast frames (RFC 2889 section
	// 5.10).
	// +optional
	Broadcast *BroadcastTest `json:"broadcast,omitempty"`
	// headOfLineBlocking measures what a congested port does to one that is not (RFC
	// 2889 section 5.5, RFC 2285 section 3.7.3).
	// +optional
	HeadOfLineBlocking *HeadOfLineBlockingTest `json:"headOfLineBlocking,omitempty"`
	// congestionControl measures how the device handles a congested port (RFC 2889
	// section 5.5).
	// +optional
	CongestionControl *CongestionControlTest `json:"congestionControl,omitempty"`
	// groupJoinDelay measures how long after a membership report a multicast group is
	// forwarded (RFC 3918 section 6.1).
	// +optional
	GroupJoinDelay *GroupJoinDelayTest `json:"groupJoinDelay,omitempty"`
	// groupLeaveDelay measures how long after its end a multicast group is still
	// forwarded (RFC 3918 section 6.2).
	// +optional
	GroupLeaveDelay *GroupLeaveDelayTest `json:"groupLeaveDelay,omitempty"`
	// groupCapacity searches how many multicast groups are forwarded (RFC 3918 section
	// 7.1).
	// +optional
	GroupCapacity *GroupCapacityTest `json:"groupCapacity,omitempty"`
	// reset measures how long a device that is reset does not forward (RFC 6201).
	// +optional
	Reset *ResetTest `json:"reset,omitempty"`
	// rfc2544Latency measures latency as RFC 2544 section 26.2 asks for it: many trials
	// at one load, averaged.
	// +optional
	RFC2544Latency *RFC2544LatencyTest `json:"rfc2544Latency,omitempty"`
	// bufferSize searches how many frames a port of the device holds (RFC 8239).
	// +optional
	BufferSize *BufferSizeTest `json:"bufferSize,omitempty"`
	// routeCapacity searches how many routes the device holds, in blocks.
	// +optional
	RouteCapacity *RouteCapacityTest `json:"routeCapacity,omitempty"`
	// convergence measures how long the device takes to forward to routes that are
	// announced, and to cease when they are withdrawn.
	// +optional
	Convergence *ConvergenceTest `json:"convergence,omitempty"`
	// routeFlap measures what flapping routes do to frames.
	// +optional
	RouteFlap *RouteFlapTest `json:"routeFlap,omitempty"`
	// routeRefresh measures how long the device takes to send its routes again (RFC 2918).
	// +optional
	RouteRefresh *RouteRefreshTest `json:"routeRefresh,omitempty"`
	// bgpRestart measures what a restart of the device's BGP costs.
	// +optional
	BGPRestart *BGPRestartTest `json:"bgpRestart,omitempty"`
	// sessionScale searches how many BGP sessions the device holds.
	// +optional
	SessionScale *SessionScaleTest `json:"sessionScale,omitempty"`
	// fibTruth checks of each announced route whether the device forwards to it.
	// +optional
	FIBTruth *FIBTruthTest `json:"fibTruth,omitempty"`
	// configurationScale searches the largest number of entries of a list on the device that
	// has no effect on frames.
	// +optional
	ConfigurationScale *ConfigurationScaleTest `json:"configurationScale,omitempty"`
	// incast lets a client ask many servers at once for a block each, over TCP.
	// +optional
	Incast *IncastTest `json:"incast,omitempty"`
	// connections opens TCP connections through the device, verifies each, and closes them.
	// +optional
	Connections *ConnectionsTest `json:"connections,omitempty"`
	// rpcLatency measures round-trip times of requests over TCP, and the share of the device in them.
	// +optional
	RPCLatency *RPCLatencyTest `json:"rpcLatency,omitempty"`
	// collectives measures AllReduce and AllToAll between hosts over TCP, and names a slow port.
	// +optional
	Collectives *CollectivesTest `json:"collectives,omitempty"`
	// bulk moves a data set over TCP, and measures its time, its rate and the processor time of both ends.
	// +optional
	Bulk *BulkTest `json:"bulk,omitempty"`
	// messageRate searches the highest rate of multicast messages that all subscribers receive without loss.
	// +optional
	MessageRate *MessageRateTest `json:"messageRate,omitempty"`
}

// SearchMethod names how the throughput is searched.
//
// +kubebuilder:validation:Enum=Binary;MLRsearch;Informed
type SearchMethod string

const (
	// SearchBinary halves the interval between the highest load that passed and the
	// lowest that lost frames (RFC 2544).
	SearchBinary SearchMethod = "Binary"
	// SearchMLRsearch is Multiple Loss Ratio search (RFC 9971).
	SearchMLRsearch SearchMethod = "MLRsearch"
	// SearchInformed begins at what other frame sizes have shown, and closes the
	// load in by short trials before the one of full length.
	SearchInformed SearchMethod = "Informed"
)

// LossRatio is a share of the frames sent in human form, such as "0.5%", with up
// to four decimals.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=8
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,2}([.][0-9]{1,4})?%$')",messageExpression="'\"' + self + '\" is not a loss ratio: give a percentage of the frames sent below 100% with at most four decimals, such as 0.5%'"
type LossRatio string

// ThroughputTest searches the highest offered load at which no frame is lost.
//
// +kubebuilder:validation:XValidation:rule="!self.searchTrialDuration.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || !self.trialDuration.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') || duration(self.searchTrialDuration) <= duration(self.trialDuration)",message="searchTrialDuration is longer than trialDuration: the trials of the search may be shorter than the confirmation, not longer"
// +kubebuilder:validation:XValidation:rule="!has(self.mlrSearch) || (has(self.search) && self.search == 'MLRsearch')",message="mlrSearch is for the search MLRsearch: set search to MLRsearch, or leave mlrSearch out"
// +kubebuilder:validation:XValidation:rule="!has(self.lossRatios) || size(self.lossRatios) == 1 || (has(self.search) && self.search == 'MLRsearch')",message="several loss ratios need the search MLRsearch: set search to MLRsearch, or leave lossRatios out"
type ThroughputTest struct {
	// search is the search method.
	// +optional
	// +kubebuilder:default=Binary
	Search SearchMethod `json:"search,omitempty"`
	// resolution is the width at which the search ends: the reported load passed,
	// and a load at most this much higher did not.
	// +optional
	// +kubebuilder:default="0.1%"
	Resolution LoadAmount `json:"resolution,omitempty"`
	// minLoad is the lowest load that is tried; when it loses frames the
	// throughput is reported as 0.
	// +optional
	// +kubebuilder:default="0.1%"
	MinLoad LoadAmount `json:"minLoad,omitempty"`
	// maxLoad is the highest load that is tried. 99.994% (60 ppm under nominal)
	// keeps clear of differences between the clocks of tester and device.
	// +optional
	// +kubebuilder:default="100%"
	MaxLoad LoadAmount `json:"maxLoad,omitempty"`
	// trialDuration is the length of the trial that confirms the result.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
	// searchTrialDuration is the length of the trials of the search Binary before it,
	// and the longest trial of the search Informed.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'searchTrialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	SearchTrialDuration metav1.Duration `json:"searchTrialDuration,omitzero"`
	// lossRatios are the loss ratios whose loads are searched: 0% is the throughput,
	// every other one makes a further row of a partial drop rate. More than 0% needs
	// the search MLRsearch.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'lossRatios has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every ratio once'"
	// +kubebuilder:validation:XValidation:rule="'0%' in self",messageExpression="'lossRatios has ' + self.join(', ') + ', and not 0%, which is the throughput: add 0%'"
	LossRatios []LossRatio `json:"lossRatios,omitempty"`
	// mlrSearch contains the settings that the search goals of the search MLRsearch share, and
	// the settings of single goals.
	// +optional
	MLRSearch *MLRsearchGoal `json:"mlrSearch,omitempty"`
	// warmUp is the length of a trial that is run before every search and whose result is
	// ignored. By default no such trial is run.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1h')",messageExpression="'warmUp is ' + self + ': give 100ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	WarmUp *metav1.Duration `json:"warmUp,omitempty"`
	// timeLimit is the maximum duration of the search at one frame size, with settling and
	// rest. When it expires, the result so far is reported and marked. By default there is no
	// limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('240h')",messageExpression="'timeLimit is ' + self + ': give 1s to 240h, a number with one of the units ns, us, ms, s, m and h'"
	TimeLimit *metav1.Duration `json:"timeLimit,omitempty"`
}

// LatencyTest measures latency and jitter of every frame at given loads.
type LatencyTest struct {
	// loads are measured in their order.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={"10%","50%","90%","throughput"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'loads has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every load once'"
	Loads []Load `json:"loads,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}

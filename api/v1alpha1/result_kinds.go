package v1alpha1

// Validity is the trustworthiness of a number, independent of whether it passes or fails.
//
// +kubebuilder:validation:Enum=Valid;Virtual;Simulated;Uncalibrated;Contended;GeneratorBound;Invalid
type Validity string

const (
	// ValidityValid is a measurement of the device.
	ValidityValid Validity = "Valid"
	// ValidityVirtual is a measurement of a software device on shared processors:
	// functional truth, not a claim about hardware.
	ValidityVirtual Validity = "Virtual"
	// ValiditySimulated means that a model of a device gave the numbers: nothing was
	// measured.
	ValiditySimulated Validity = "Simulated"
	// ValidityUncalibrated means that the bed itself was not measured back to back.
	ValidityUncalibrated Validity = "Uncalibrated"
	// ValidityContended means that others used processor or bed during the trial.
	ValidityContended Validity = "Contended"
	// ValidityGeneratorBound means that the tester, not the device, was the limit.
	ValidityGeneratorBound Validity = "GeneratorBound"
	// ValidityInvalid means that what was to be measured did not happen during the
	// trial, such as a reset.
	ValidityInvalid Validity = "Invalid"
)

// Method names the method of a result row.
//
// +kubebuilder:validation:Enum=Throughput;PartialDropRate;Latency;FrameLoss;BackToBack;Soak;ForwardingRate;Ordering;Recovery;AddressCaching;AddressLearning;Broadcast;HeadOfLineBlocking;CongestionControl;GroupJoinDelay;GroupLeaveDelay;GroupCapacity;Reset;RFC2544Latency;BufferSize;RouteCapacity;Convergence;RouteFlap;RouteRefresh;BGPRestart;SessionScale;FIBTruth;ConfigurationScale;Incast;Connections;RPCLatency;Collectives;Bulk;MessageRate
type Method string

const (
	// MethodThroughput is RFC 2544 section 26.1.
	MethodThroughput Method = "Throughput"
	// MethodPartialDropRate is the highest load at which the loss ratio is not above
	// the one asked for (RFC 9971); it is never called throughput.
	MethodPartialDropRate Method = "PartialDropRate"
	// MethodLatency is RFC 2544 section 26.2.
	MethodLatency Method = "Latency"
	// MethodFrameLoss is RFC 2544 section 26.3.
	MethodFrameLoss Method = "FrameLoss"
	// MethodBackToBack is RFC 9004.
	MethodBackToBack Method = "BackToBack"
	// MethodSoak is one long trial.
	MethodSoak Method = "Soak"
	// MethodForwardingRate is the forwarding rates of RFC 2889 sections 5.1 and 5.6.
	MethodForwardingRate Method = "ForwardingRate"
	// MethodOrdering is RFC 4737 at several loads.
	MethodOrdering Method = "Ordering"
	// MethodRecovery is RFC 2544 section 26.5.
	MethodRecovery Method = "Recovery"
	// MethodAddressCaching is RFC 2889 section 5.7.
	MethodAddressCaching Method = "AddressCaching"
	// MethodAddressLearning is RFC 2889 section 5.8.
	MethodAddressLearning Method = "AddressLearning"
	// MethodBroadcast is RFC 2889 section 5.10.
	MethodBroadcast Method = "Broadcast"
	// MethodHeadOfLineBlocking is RFC 2285 section 3.7.3, by the streams of RFC 2889
	// section 5.5.
	MethodHeadOfLineBlocking Method = "HeadOfLineBlocking"
	// MethodCongestionControl is RFC 2889 section 5.5.
	MethodCongestionControl Method = "CongestionControl"
	// MethodGroupJoinDelay is RFC 3918 section 6.1.
	MethodGroupJoinDelay Method = "GroupJoinDelay"
	// MethodGroupLeaveDelay is RFC 3918 section 6.2.
	MethodGroupLeaveDelay Method = "GroupLeaveDelay"
	// MethodGroupCapacity is RFC 3918 section 7.1.
	MethodGroupCapacity Method = "GroupCapacity"
	// MethodReset is RFC 6201.
	MethodReset Method = "Reset"
	// MethodRFC2544Latency is RFC 2544 section 26.2 with its repetitions.
	MethodRFC2544Latency Method = "RFC2544Latency"
	// MethodBufferSize is RFC 8239 sections 3 and 4.
	MethodBufferSize Method = "BufferSize"
	// MethodRouteCapacity searches how many routes the device holds.
	MethodRouteCapacity Method = "RouteCapacity"
	// MethodConvergence measures how long the device takes to forward to routes.
	MethodConvergence Method = "Convergence"
	// MethodRouteFlap measures what flapping routes do to frames.
	MethodRouteFlap Method = "RouteFlap"
	// MethodRouteRefresh measures how long the device takes to send its routes again.
	MethodRouteRefresh Method = "RouteRefresh"
	// MethodBGPRestart measures what a restart of the device's BGP costs.
	MethodBGPRestart Method = "BGPRestart"
	// MethodSessionScale searches how many BGP sessions the device holds.
	MethodSessionScale Method = "SessionScale"
	// MethodFIBTruth checks of each announced route whether the device forwards to it.
	MethodFIBTruth Method = "FIBTruth"
	// MethodConfigurationScale searches the largest number of entries of a list without an effect.
	MethodConfigurationScale Method = "ConfigurationScale"
	// MethodIncast lets a client ask many servers at once for a block each.
	MethodIncast Method = "Incast"
	// MethodConnections opens, verifies and closes TCP connections (RFC 9693, RFC 9411).
	MethodConnections Method = "Connections"
	// MethodRPCLatency measures round-trip times of requests over TCP.
	MethodRPCLatency Method = "RPCLatency"
	// MethodCollectives measures AllReduce and AllToAll between hosts over TCP (draft-calabria-bmwg-ai-fabric-training-bench).
	MethodCollectives Method = "Collectives"
	// MethodBulk moves a data set over TCP.
	MethodBulk Method = "Bulk"
	// MethodMessageRate searches the highest rate of multicast messages without loss.
	MethodMessageRate Method = "MessageRate"
)

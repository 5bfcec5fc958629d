package method

import (
	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
)

// methods are all methods of the catalogue. A new method is added here and nowhere else.
var methods = []func() Definition{
	describeAddressCaching,
	describeAddressLearning,
	describeBackToBack,
	describeBGPRestart,
	describeBroadcast,
	describeBufferSize,
	describeCongestionControl,
	describeConvergence,
	describeForwardingRate,
	describeFrameLoss,
	describeGroupCapacity,
	describeGroupJoinDelay,
	describeGroupLeaveDelay,
	describeHeadOfLineBlocking,
	describeLatency,
	describeOrdering,
	describeRecovery,
	describeReset,
	describeRFC2544Latency,
	describeRouteCapacity,
	describeRouteFlap,
	describeRouteRefresh,
	describeSessionScale,
	describeSoak,
	describeThroughput,
}

// definitions by the names of their rows.
var definitions = map[v1alpha1.Method]Definition{}

// init makes the methods known. The map cannot be filled where it is declared: methods look up
// others in it.
func init() {
	for _, describe := range methods {
		define(describe())
	}
}

// define makes a method known to the plan, the lab and the reports. It panics if the name or
// the member of another method is the same.
func define(d Definition) {
	plan.Register(d.Method)
	for _, name := range append([]v1alpha1.Method{d.Name}, d.Further...) {
		definitions[name] = d
	}
}

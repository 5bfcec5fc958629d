package method

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/controlplane"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// methods are all methods of the catalogue. A new method is added here and nowhere else.
var methods = []func() trials.Definition{
	describeAddressCaching,
	describeAddressLearning,
	describeBackToBack,
	controlplane.DescribeBGPRestart,
	describeBroadcast,
	describeBufferSize,
	describeConfigurationScale,
	describeCongestionControl,
	controlplane.DescribeConvergence,
	controlplane.DescribeFIBTruth,
	describeForwardingRate,
	describeFrameLoss,
	describeGroupCapacity,
	describeGroupJoinDelay,
	describeGroupLeaveDelay,
	describeHeadOfLineBlocking,
	describeIncast,
	describeConnections,
	describeLatency,
	describeOrdering,
	describeRecovery,
	describeReset,
	describeRFC2544Latency,
	describeRPCLatency,
	describeCollectives,
	describeBulk,
	describeMessageRate,
	controlplane.DescribeRouteCapacity,
	controlplane.DescribeRouteFlap,
	controlplane.DescribeRouteRefresh,
	controlplane.DescribeSessionScale,
	describeSoak,
	describeThroughput,
}

// definitions by the names of their rows.
var definitions = map[v1alpha1.Method]trials.Definition{}

// init makes the methods known. The map cannot be filled where it is declared: methods look up
// others in it.
func init() {
	for _, describe := range methods {
		define(describe())
	}
}

// define makes a method known to the plan, the lab and the reports. It panics if the name or
// the member of another method is the same.
func define(d trials.Definition) {
	plan.Register(d.Method)
	for _, name := range append([]v1alpha1.Method{d.Name}, d.Further...) {
		definitions[name] = d
	}
}

// Describe returns the definition of the method that makes rows of a name.
func Describe(name v1alpha1.Method) (trials.Definition, bool) {
	d, ok := definitions[name]
	return d, ok
}

// DescribeTest returns the definition of the method that a test asks for.
func DescribeTest(test v1alpha1.Test) (trials.Definition, bool) {
	for _, d := range definitions {
		if d.Given(test) {
			return d, true
		}
	}
	return trials.Definition{}, false
}

// IsThroughput reports whether a row says what the load throughput means for the tests
// after it. One of a partial drop rate does not.
func IsThroughput(row *v1alpha1.ResultRow) bool {
	d, ok := Describe(row.Method)
	return ok && d.FindsThroughput && d.Name == row.Method
}

// FoundNothing reports whether a row is of a throughput of 0: no load passed, and what was
// sent and received is of a load that did not.
func FoundNothing(row *v1alpha1.ResultRow) bool {
	return IsThroughput(row) && row.Frames.OrZero().LineRatePPM == 0
}

// IsSearched reports whether rows of a method are of a load that was searched.
func IsSearched(name v1alpha1.Method) bool {
	d, ok := Describe(name)
	return ok && d.FindsThroughput
}

// All are the definitions of all methods, in the order of their names.
func All() []trials.Definition {
	var all []trials.Definition
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if d := definitions[name]; d.Name == name {
			all = append(all, d)
		}
	}
	return all
}

// FigureOf is the most telling number of a row: its method's headline, or the first
// number that the method's table has of it. There is none where nothing was measured.
func FigureOf(row *v1alpha1.ResultRow) (trials.Figure, bool) {
	d, _ := Describe(row.Method)
	if d.Headline != nil {
		if f, ok := d.Headline(row); ok {
			return f, true
		}
	}
	for _, c := range d.Columns {
		if n, ok := c.Value(row); ok {
			return c.Figure(n), true
		}
	}
	return trials.Figure{}, false
}

// Run runs a step by its method.
func Run(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	d, ok := Describe(step.Method)
	if !ok {
		return trials.Outcome{}, fmt.Errorf("running %s: method %q is not known", step.Name(), step.Method)
	}
	if d.Workload && tester.Workload == nil {
		return trials.Outcome{}, &traffic.MissingError{Engine: string(tester.Plan.Engine), Cannot: "run hosts with TCP", Needs: step.Name()}
	}
	return trials.Run(ctx, d, tester, step)
}

// Done adds a finished row, measured now or before the run was resumed, for steps that
// build on it.
func Done(tester *trials.Tester, row v1alpha1.ResultRow) {
	tester.Results.Keep(row, IsThroughput(&row))
}

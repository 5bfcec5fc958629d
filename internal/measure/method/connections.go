package method

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

func describeConnections() trials.Definition {
	number := inConnections.Number
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodConnections, Member: "connections", Mixes: true, Frameless: true, Workload: true,
			WholeDevice: "fills the table of connections of the device",
			Given:       func(t v1alpha1.Test) bool { return t.Connections != nil },
			Fits:        fitsConnections,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				return []plan.Step{connectionsStep(test.Connections)}
			},
		},
		Run:     connections,
		Purpose: "rates at which connections of TCP or UDP through the device are opened and closed, and how many it holds together (RFC 9693, RFC 9411)",
		Headline: func(row *v1alpha1.ResultRow) (trials.Figure, bool) {
			s := row.Connections
			switch {
			case s == nil:
			case s.SetUpRate != nil:
				return trials.CountFigure(*s.SetUpRate, "connections/s opened", s.FailedRate == 0), true
			case s.TearDownRate != nil:
				return trials.CountFigure(*s.TearDownRate, "connections/s closed", s.FailedRate == 0), true
			case s.Capacity != nil:
				return trials.CountFigure(*s.Capacity, "connections", !s.CapacityReached), true
			}
			return trials.Figure{}, false
		},
		Columns: []trials.Column{
			{Heading: "rate, connections/s", Name: "set-up", Metric: "SetUpRate", Value: inConnections.Optional(func(s *v1alpha1.ConnectionsSummary) *int64 { return s.SetUpRate })},
			{Heading: "rate, connections/s", Name: "tear-down", Metric: "TearDownRate", Value: inConnections.Optional(func(s *v1alpha1.ConnectionsSummary) *int64 { return s.TearDownRate })},
			{Heading: "connections", Name: "together", Metric: "Capacity", Value: inConnections.Optional(func(s *v1alpha1.ConnectionsSummary) *int64 { return s.Capacity })},
			{Heading: "connections", Name: "attempted", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.Attempted })},
			{Heading: "connections", Name: "verified", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.Verified })},
			{Heading: "connections", Name: "closed", Value: inConnections.Optional(closedOf)},
			{Heading: "failed", Name: "refused", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.Refused })},
			{Heading: "failed", Name: "timed out", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.TimedOut })},
			{Heading: "failed", Name: "lost", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.Reset + s.Unanswered })},
			{Heading: "failed", Name: "wrong answer", Value: number(func(s *v1alpha1.ConnectionsSummary) int64 { return s.Wrong })},
			{Heading: "set-up, ms", Name: "p50", Unit: trials.LongNanoseconds, Value: inConnections.Optional(setUpOf(func(s *v1alpha1.ConnectionsSummary) *int64 { return &s.SetUpP50Ns }))},
			{Heading: "set-up, ms", Name: "p99", Unit: trials.LongNanoseconds, Value: inConnections.Optional(setUpOf(func(s *v1alpha1.ConnectionsSummary) *int64 { return &s.SetUpP99Ns }))},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Connections
			text := fmt.Sprintf("%s %s connections of %d clients to %d servers in each trial, each verified when it is established and when all are", traffic.Grouped(t.Connections), t.Protocol, t.Clients, t.Servers)
			if t.Protocol == v1alpha1.ConnectionsUDP {
				text += ": the server sends to the translated address, and the client asks again"
			}
			if t.Measure == v1alpha1.ConnectionsCapacity {
				return text + fmt.Sprintf("; opened at %s connections/s, and the number that was found once more", traffic.Grouped(t.Rate))
			}
			return text + fmt.Sprintf("; rates from %s to %s connections/s, to %s; %s before each trial", traffic.Grouped(t.MinimumRate), traffic.Grouped(t.MaximumRate), traffic.Grouped(t.Resolution), human.Duration(connectionsWait(t)))
		},
	}
}

var inConnections = trials.Summary[v1alpha1.ConnectionsSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ConnectionsSummary { return row.Connections })

// closedOf returns the number of closed connections; nil for UDP, which has no end.
func closedOf(s *v1alpha1.ConnectionsSummary) *int64 {
	if s.Protocol == v1alpha1.ConnectionsUDP {
		return nil
	}
	return &s.Closed
}

// setUpOf returns a time of set-up; nil if no connection was established, or the engine does not measure these times.
func setUpOf(time func(s *v1alpha1.ConnectionsSummary) *int64) func(s *v1alpha1.ConnectionsSummary) *int64 {
	return func(s *v1alpha1.ConnectionsSummary) *int64 {
		if s.SetUpMaxNs == 0 {
			return nil
		}
		return time(s)
	}
}

// connectionsWait returns the pause before trials.
func connectionsWait(t *v1alpha1.ConnectionsTest) time.Duration {
	if t.WaitTime == nil {
		return 0
	}
	return t.WaitTime.Duration
}

// ratesOf returns the bounds of the search for a rate.
func ratesOf(t *v1alpha1.ConnectionsTest) search.CountConfig {
	return ratesWithin(t.MinimumRate, t.MaximumRate, t.Resolution)
}

// connectionsStep estimates the trials of a test.
func connectionsStep(t *v1alpha1.ConnectionsTest) plan.Step {
	second := float64(time.Second)
	fixed := time.Duration(float64(t.Connections) / float64(max(1, t.Rate)) * second)
	step := plan.Step{Trials: 2, Duration: 4 * fixed}
	if t.Measure != v1alpha1.ConnectionsCapacity {
		step.Trials = search.EstimateCount(ratesOf(t))
		step.Duration = 2 * time.Duration(float64(t.Connections)/float64(max(1, t.MinimumRate))*second)
		if t.Measure == v1alpha1.ConnectionsTearDownRate {
			step.Duration += time.Duration(step.Trials) * fixed
		}
	}
	step.Duration += time.Duration(step.Trials) * connectionsWait(t)
	return step
}

// fitsConnections reports why a bed has no hosts as a test asks for them.
func fitsConnections(test v1alpha1.Test, in plan.Setting, path *field.Path) (errs field.ErrorList) {
	t := test.Connections
	client, server := clientAndServer(t.Client, t.Server, in.Ports)
	names := portNames(in.Ports)
	switch {
	case client == "":
		return field.ErrorList{field.NotSupported(path.Child("client"), t.Client, names)}
	case t.Server != "" && (server == "" || server == client):
		return field.ErrorList{field.Invalid(path.Child("server"), t.Server, fmt.Sprintf("the servers need a port of test bed %s other than %s: give one of %v", in.Bed.Name, client, names))}
	case server == "":
		return field.ErrorList{field.Invalid(path.Child("client"), client, fmt.Sprintf("test bed %s has no other port for the servers: choose a bed with two ports", in.Bed.Name))}
	}
	if most := int(t.Clients) * workload.ConnectionsPerClient; int(t.Connections) > most {
		errs = append(errs, field.Invalid(path.Child("connections"), t.Connections, fmt.Sprintf("%d clients have %s ports: give %s connections or fewer, or more clients", t.Clients, traffic.Grouped(most), traffic.Grouped(most))))
	}
	if in.Bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return errs
	}
	return append(errs, hostsFit(test, in, path, func(_ int, p plan.Port) seats {
		switch p.Name {
		case client:
			return seats{hosts: int(t.Clients), path: path.Child("clients"), value: t.Clients, fewer: "fewer"}
		case server:
			return seats{hosts: int(t.Servers), path: path.Child("servers"), value: t.Servers, fewer: "fewer"}
		}
		return seats{}
	})...)
}

package method

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// messageSettle is the time without a message after which missing ones count as lost.
const messageSettle = time.Second

func describeMessageRate() trials.Definition {
	passed := func(value func(*v1alpha1.MessageCounts) int64) func(*v1alpha1.ResultRow) (int64, bool) {
		return inMessages.Optional(func(s *v1alpha1.MessageRateSummary) *int64 {
			if s.Passed == nil {
				return nil
			}
			return new(value(s.Passed))
		})
	}
	failed := func(value func(*v1alpha1.MessageCounts) int64) func(*v1alpha1.ResultRow) (int64, bool) {
		return inMessages.Optional(func(s *v1alpha1.MessageRateSummary) *int64 {
			if s.Failed == nil {
				return nil
			}
			return new(value(s.Failed))
		})
	}
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodMessageRate, Member: "messageRate", Mixes: true, Frameless: true, Workload: true,
			Given:    func(t v1alpha1.Test) bool { return t.MessageRate != nil },
			Validate: validateMessageRate,
			Fits:     fitsMessageRate,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				n := search.EstimateCount(messageRates(test.MessageRate))
				return []plan.Step{{Trials: n, Duration: time.Duration(n) * (messageTime(test.MessageRate.TrialDuration, 5*time.Second) + messageSettle)}}
			},
		},
		Run:     messageRate,
		Purpose: "highest rate of multicast messages that all subscribers receive without loss",
		Headline: inMessages.Headline(func(s *v1alpha1.MessageRateSummary) trials.Figure {
			return trials.CountFigure(s.Rate, "messages/s", s.Rate > 0 && s.FailedRate == 0)
		}),
		Columns: []trials.Column{
			{Heading: "messages/s", Name: "without loss", Metric: "MessageRate", Value: inMessages.Number(func(s *v1alpha1.MessageRateSummary) int64 { return s.Rate })},
			{Heading: "messages/s", Name: "lost at", Metric: "FailedMessageRate", Value: inMessages.Optional(func(s *v1alpha1.MessageRateSummary) *int64 {
				if s.FailedRate == 0 {
					return nil
				}
				return &s.FailedRate
			})},
			{Heading: "latency, us", Name: "p50", Unit: trials.Nanoseconds, Value: passed(func(c *v1alpha1.MessageCounts) int64 { return c.P50Ns })},
			{Heading: "latency, us", Name: "p99", Unit: trials.Nanoseconds, Value: passed(func(c *v1alpha1.MessageCounts) int64 { return c.P99Ns })},
			{Heading: "latency, us", Name: "max", Unit: trials.Nanoseconds, Value: passed(func(c *v1alpha1.MessageCounts) int64 { return c.MaxNs })},
			{Heading: "messages", Name: "reordered", Value: passed(func(c *v1alpha1.MessageCounts) int64 { return c.Reordered })},
			{Heading: "messages", Name: "duplicates", Value: passed(func(c *v1alpha1.MessageCounts) int64 { return c.Duplicates })},
			{Heading: "failed trial", Name: "lost", Value: failed(func(c *v1alpha1.MessageCounts) int64 { return c.Lost })},
			{Heading: "failed trial", Name: "by the device", Value: failed(func(c *v1alpha1.MessageCounts) int64 { return c.DeviceLost })},
			{Heading: "failed trial", Name: "socket drops", Value: failed(func(c *v1alpha1.MessageCounts) int64 { return c.SocketDrops })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.MessageRate
			return fmt.Sprintf("datagrams of %d bytes from %d publishers to %d groups, each received by %d subscribers; rates from %s to %s messages/s, to %s; %s each",
				t.MessageSize, t.Publishers, t.Groups, t.Subscribers, traffic.Grouped(t.MinimumRate), traffic.Grouped(t.MaximumRate), traffic.Grouped(t.Resolution), human.Duration(messageTime(t.TrialDuration, 5*time.Second)))
		},
	}
}

var inMessages = trials.Summary[v1alpha1.MessageRateSummary](func(row *v1alpha1.ResultRow) *v1alpha1.MessageRateSummary { return row.MessageRate })

// messageTime returns a time of a test, or its default.
func messageTime(d *metav1.Duration, or time.Duration) time.Duration {
	if d == nil {
		return or
	}
	return d.Duration
}

// messageRates returns the bounds of the search.
func messageRates(t *v1alpha1.MessageRateTest) search.CountConfig {
	return ratesWithin(t.MinimumRate, t.MaximumRate, t.Resolution)
}

// messagePorts returns the ports of publishers and subscribers that a test names: the first port, and all others, if it names none. A
// port is empty if the bed does not have it.
func messagePorts(t *v1alpha1.MessageRateTest, ports []plan.Port) (publisher string, subscribers []string) {
	names := portNames(ports)
	switch {
	case t.PublisherPort == "" && len(names) > 0:
		publisher = names[0]
	case slices.Contains(names, t.PublisherPort):
		publisher = t.PublisherPort
	}
	if len(t.SubscriberPorts) > 0 {
		return publisher, t.SubscriberPorts
	}
	for _, name := range names {
		if name != publisher {
			subscribers = append(subscribers, name)
		}
	}
	return publisher, subscribers
}

// messageHosts returns the ports of n hosts that take turns.
func messageHosts(n int32, ports ...string) (hosts []string) {
	for i := range int(n) {
		hosts = append(hosts, ports[i%len(ports)])
	}
	return hosts
}

// validateMessageRate refuses messages that do not fit the MTU, and groups that are not all multicast addresses of IPv4.
func validateMessageRate(test v1alpha1.Test, path *field.Path) (errs field.ErrorList) {
	t := test.MessageRate
	if most := t.MTU - 28; t.MessageSize > most {
		errs = append(errs, field.Invalid(path.Child("messageSize"), t.MessageSize, fmt.Sprintf("an mtu of %d bytes has room for messages of %d: lower messageSize, or raise mtu", t.MTU, most)))
	}
	switch first, err := netip.ParseAddr(string(t.FirstGroup)); {
	case err != nil || !first.Is4():
		errs = append(errs, field.Invalid(path.Child("firstGroup"), string(t.FirstGroup), "messages are sent over IPv4: give a group such as 225.1.1.1"))
	case !workload.Group(first, int(t.Groups)-1).IsMulticast():
		errs = append(errs, field.Invalid(path.Child("firstGroup"), string(t.FirstGroup), fmt.Sprintf("%d groups from this one on leave the range of multicast: give a lower address, or fewer groups", t.Groups)))
	}
	return errs
}

// fitsMessageRate reports why a bed has no hosts as a test asks for them.
func fitsMessageRate(test v1alpha1.Test, in plan.Setting, path *field.Path) (errs field.ErrorList) {
	t := test.MessageRate
	publisher, subscribers := messagePorts(t, in.Ports)
	names := portNames(in.Ports)
	if publisher == "" {
		return field.ErrorList{field.NotSupported(path.Child("publisherPort"), t.PublisherPort, names)}
	}
	if len(subscribers) == 0 {
		return field.ErrorList{field.Invalid(path.Child("publisherPort"), publisher, fmt.Sprintf("test bed %s has no other port for the subscribers: choose a bed with two ports", in.Bed.Name))}
	}
	for i, name := range t.SubscriberPorts {
		at := path.Child("subscriberPorts").Index(i)
		if !slices.Contains(names, name) {
			errs = append(errs, field.NotSupported(at, name, names))
		} else if name == publisher {
			errs = append(errs, field.Invalid(at, name, "the publishers are on this port: give another one"))
		}
	}
	if len(errs) > 0 || in.Bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return errs
	}
	hosts := map[string]int{publisher: int(t.Publishers)}
	for _, name := range messageHosts(t.Subscribers, subscribers...) {
		hosts[name]++
	}
	return hostsFit(test, in, path, func(_ int, p plan.Port) seats {
		w := seats{hosts: hosts[p.Name], path: path.Child("subscribers"), value: t.Subscribers, fewer: "fewer"}
		if p.Name == publisher {
			w.path, w.value = path.Child("publishers"), t.Publishers
		}
		return w
	})
}

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// validateNeeds refuses tests of what the engine does not know: it would be
// reported as if nothing had happened.
func validateNeeds(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok {
			continue
		}
		if missing := m.missing(engine); missing != "" {
			errs = append(errs, field.Invalid(field.NewPath("spec", "tests").Index(i).Child(m.Member), test.Name,
				fmt.Sprintf("engine %s of test bed %s %s: choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name, missing)))
		}
	}
	return errs
}

// missing describes what the method needs and the engine does not do; empty if it does all.
func (m Method) missing(engine traffic.Capabilities) string {
	switch {
	case m.Ordering && !engine.Ordering:
		return "does not count reordered frames"
	case m.ArrivalTimes && !engine.ArrivalTimes:
		return fmt.Sprintf("does not tell when frames arrive, from which %s follows", m.Member)
	case m.Gaps && !engine.Gaps:
		return fmt.Sprintf("does not tell where in a stream frames were lost, from which %s follows", m.Member)
	case m.Ethernet && !engine.Ethernet:
		return fmt.Sprintf("counts frames by their IP header, and %s sends frames without a network layer", m.Member)
	case m.Workload && !engine.Workloads:
		return fmt.Sprintf("has no hosts with TCP, from whose connections %s follows", m.Member)
	}
	return ""
}

// validateCapture refuses to keep frames that the engine does not keep.
func validateCapture(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	if b.Spec.Capture == nil || engine.Capture {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "capture"),
		fmt.Sprintf("engine %s of test bed %s keeps no frames: leave capture out, or choose a bed with engine xdp", bed.Spec.Engine.Kind, bed.Name))}
}

// validateNetworkLayer refuses frames without a network layer that the engine does
// not count.
func validateNetworkLayer(profile Section, bed *v1alpha1.TestBed, engine traffic.Capabilities) field.ErrorList {
	if profile.Spec.Packet.Ethernet == nil || engine.Ethernet {
		return nil
	}
	return field.ErrorList{field.Invalid(profile.Path.Child("packet"), "ethernet",
		fmt.Sprintf("engine %s of test bed %s counts frames by their IP header, and frames of ethernet have none: give ipv4 or ipv6, or choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name))}
}

// validateMicroflows refuses to count microflows where the engine does not, and more of them than
// a port counts.
func validateMicroflows(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	copies := 1
	for _, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok {
			copies = max(copies, m.Copies)
		}
	}
	parts := 1
	for _, size := range sizes(profile) {
		parts = max(parts, size.components())
	}
	var errs field.ErrorList
	perPort := make([]uint64, len(ports))
	for _, s := range Sections(profile) {
		if !s.Spec.Packet.TrackMicroflows {
			continue
		}
		path := s.Path.Child("packet", "trackMicroflows")
		if engine.MaxMicroflows == 0 {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf(
				"engine %s of test bed %s counts frames by streams only: remove trackMicroflows, or choose a bed with engine xdp", bed.Spec.Engine.Kind, bed.Name)))
			continue
		}
		for _, stream := range s.streams(ports) {
			n, most := stream.Headers.Microflows(), uint64(engine.MaxMicroflows)
			for _, rx := range stream.Rx {
				if perPort[rx] += min(n, most+1) * uint64(copies*parts); perPort[rx] > most {
					return append(errs, field.Invalid(path, true, fmt.Sprintf(
						"a stream from %s has %s microflows, with which port %s would count %s or more: the most is %s, which need %d MiB: use smaller ranges, or sizes with common factors",
						ports[stream.Tx].Name, traffic.Grouped(n), ports[rx].Name, traffic.Grouped(perPort[rx]), traffic.Grouped(most), most*traffic.MicroflowBytes>>20)))
				}
			}
		}
	}
	return errs
}

// validateHosts refuses traffic between ports of different nodes that the engine
// does not count.
func validateHosts(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	if engine.CrossHost {
		return nil
	}
	tx, rx, far := farFlow(allFlows(profile, ports), ports)
	if !far {
		return nil
	}
	return field.ErrorList{field.Invalid(profilePath(profile).Child("pattern"), tx.Name+" to "+rx.Name, "the pattern sends "+notCounted(tx, rx, bed))}
}

// notCounted explains why nothing is counted between a sender and a receiver.
func notCounted(tx, rx Port, bed *v1alpha1.TestBed) string {
	return fmt.Sprintf("from %s on node %s to %s on node %s of test bed %s, and a server of engine %s counts only what it sent itself: put these ports on one node, or choose a bed with another engine",
		tx.Name, tx.Node, rx.Name, rx.Node, bed.Name, bed.Spec.Engine.Kind)
}

// onBed names the ports among which streams run. They are counted all together, on
// however many nodes: a TRex server gives each stream of the bed one of its counters,
// and streams have numbers of 16 bits.
func onBed(ports []Port, bed *v1alpha1.TestBed) string {
	return fmt.Sprintf("%d ports of test bed %s", len(ports), bed.Name)
}

// validateTimed refuses latency of more streams than the engine times at once.
func validateTimed(test v1alpha1.Test, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities, path *field.Path) *field.Error {
	if engine.TimedStreams == 0 {
		return nil
	}
	p, n := Plan{Ports: ports, Streams: streams(profile, ports)}, 0
	for _, size := range sizes(profile) {
		n = max(n, len(p.At(size).Streams()))
	}
	if n <= engine.TimedStreams {
		return nil
	}
	what := "the pattern"
	switch {
	case len(profile.Spec.Flows) > 0:
		what = "the flows"
	case n > len(p.Streams):
		what = "the pattern with the sizes of a mix"
	}
	return field.Invalid(path, test.Name, fmt.Sprintf("%s makes %d streams on the %s, and engine %s times at most %d at once: use a profile or a bed with fewer streams, or measure throughput only",
		what, n, onBed(ports, bed), bed.Spec.Engine.Kind, engine.TimedStreams))
}

package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// neverForwarded finds the routes of a set to which the device did not forward a single frame in
// a trial in which they were announced.
type neverForwarded struct {
	targets []target
	// missing are the routes of one trial or more.
	missing map[netip.Prefix]bool
}

// trackRoutes returns streams whose frames are counted for each route, and what finds the routes
// that were never forwarded; nil if the engine does not count them, or if they are too many.
func trackRoutes(tester *trials.Tester, streams []plan.Stream) ([]plan.Stream, *neverForwarded) {
	all := uint64(0)
	for _, s := range streams {
		all += min(s.Headers.Microflows(), trackedMost+1)
	}
	if tester.Generator.Microflows == nil || all > trackedMost {
		return streams, nil
	}
	n := &neverForwarded{missing: map[netip.Prefix]bool{}}
	streams = slices.Clone(streams)
	for i := range streams {
		streams[i].Track = traffic.TrackTimes
		n.targets = append(n.targets, target{Stream: streams[i]})
	}
	return streams, n
}

// look adds the routes to which no frame of any sender was forwarded in the trial in hand.
func (n *neverForwarded) look(ctx context.Context, tester *trials.Tester) error {
	came := map[networks][]bool{}
	for _, t := range n.targets {
		at, err := arrivedAt(ctx, tester, t, t.right())
		if err != nil {
			return err
		}
		of := networksTo(t.Stream)
		if came[of] == nil {
			came[of] = make([]bool, t.Networks.Count)
		}
		for i, ns := range at.first {
			came[of][i] = came[of][i] || ns > 0
		}
	}
	for _, t := range n.targets {
		for i, forwarded := range came[networksTo(t.Stream)] {
			if !forwarded {
				n.missing[t.prefix(uint32(i))] = true
			}
		}
	}
	return nil
}

// fill puts the number of the routes and the first of them into a summary.
func (n *neverForwarded) fill(sum *v1alpha1.ConvergenceSummary) {
	all := make([]netip.Prefix, 0, len(n.missing))
	for prefix := range n.missing {
		all = append(all, prefix)
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	sum.NeverForwarded = new(int64(len(all)))
	for _, prefix := range all[:min(len(all), maxPrefixes)] {
		sum.NeverForwardedPrefixes = append(sum.NeverForwardedPrefixes, prefix.String())
	}
}

// neverInWords names the first routes that were never forwarded; empty if there are none.
func neverInWords(sum *v1alpha1.ConvergenceSummary) string {
	if sum.NeverForwarded == nil || *sum.NeverForwarded == 0 {
		return ""
	}
	first := sum.NeverForwardedPrefixes
	return fmt.Sprintf("no frame to %s of the routes was forwarded, such as to %s", traffic.Grouped(*sum.NeverForwarded), strings.Join(first[:min(namedMost, len(first))], ", "))
}

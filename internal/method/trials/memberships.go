package trials

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// becomeMembers joins the ports to the groups that the tester's streams are sent to,
// and ends memberships of other streams. Ports that are members join again: the
// generator may have forgotten it. A method with groups of its own joins by itself.
func (l *Tester) becomeMembers(ctx context.Context) error {
	var wanted []traffic.Membership
	if !l.ownGroups {
		wanted = l.Plan.Memberships()
	}
	if len(l.joined) > 0 && !slices.Equal(l.joined, wanted) {
		if err := l.endMemberships(ctx); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := l.needsMembers("traffic to multicast groups"); err != nil {
		return err
	}
	l.joined = wanted // Also when it fails half way, so that all are left.
	if _, err := l.members.Join(ctx, wanted); err != nil {
		return fmt.Errorf("joining multicast groups: %w", err)
	}
	return nil
}

// endMemberships leaves the groups that the tester's ports have joined.
func (l *Tester) endMemberships(ctx context.Context) error {
	joined := l.joined
	l.joined = nil
	if len(joined) == 0 {
		return nil
	}
	if _, err := l.members.Leave(ctx, joined); err != nil {
		return fmt.Errorf("leaving multicast groups: %w", err)
	}
	return nil
}

// Close gives back what the tester holds at the device: the memberships of its
// ports. It does so also after the run was cancelled.
func (l *Tester) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return l.endMemberships(ctx)
}

// multicast sums up a trial by groups; nil without a stream to a group. Several
// streams may be sent to one group.
func (t *Trial) multicast() *v1alpha1.MulticastSummary {
	received := map[netip.Addr]uint64{}
	s := &v1alpha1.MulticastSummary{}
	for _, stream := range t.Streams {
		group := stream.Headers.DstIP
		if !group.IsMulticast() {
			continue
		}
		n := received[group]
		for _, port := range stream.Rx {
			n += t.At(stream, port).Received
		}
		received[group] = n
		s.Receivers = max(s.Receivers, int32(len(stream.Rx)))
	}
	if len(received) == 0 {
		return nil
	}
	s.Groups, s.MinFrames = int32(len(received)), math.MaxInt64
	for _, n := range received {
		s.MinFrames, s.MaxFrames = min(s.MinFrames, int64(n)), max(s.MaxFrames, int64(n))
	}
	s.MinFramesPerSecond, s.MaxFramesPerSecond = t.PerSecond(s.MinFrames), t.PerSecond(s.MaxFrames)
	return s
}

// byClass sums up a trial by traffic classes; nil when all streams are of one, or of flows.
func (t *Trial) byClass() *v1alpha1.ClassesSummary {
	order, by := t.sums(plan.Stream.Class)
	if len(order) < 2 || t.Streams[0].Flow != "" || t.Streams[0].InClass != "" {
		return nil
	}
	return &v1alpha1.ClassesSummary{Multicast: by[plan.ClassMulticast].ClassSummary, Unicast: by[plan.ClassUnicast].ClassSummary}
}

// PerSecond is a number of frames over the time that sending took, in frames/s.
func (t *Trial) PerSecond(frames int64) int64 { return PerSecond(frames, max(t.Duration, t.TxTime)) }

// HostsOf returns the number of frames of a stream that show the device all of its
// addresses.
func HostsOf(s plan.Stream) uint64 {
	h := s.Headers
	if s.Networks != nil {
		h.DstIPCount = 1 // They are behind the device, which knows its neighbors.
	}
	return uint64(max(h.SrcIPCount, h.DstIPCount, h.SrcMACCount, h.DstMACCount, 1))
}

package trials

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// MulticastGroup is a group of the plan: who sends to it, and the ports, by their
// index, that are to receive it.
type MulticastGroup struct {
	Address netip.Addr
	Streams []plan.Stream
	Ports   []int
}

// Routes returns the number of multicast routes that a router needs for the group: one per
// sender.
func (g MulticastGroup) Routes() int64 {
	n := int64(0)
	for _, s := range g.Streams {
		n += int64(max(s.Headers.SrcIPCount, 1))
	}
	return n
}

// GroupsOf are the multicast groups of streams in the order of their addresses.
func GroupsOf(streams []plan.Stream) []MulticastGroup {
	at := map[netip.Addr]int{}
	var groups []MulticastGroup
	for _, s := range streams {
		if !s.Headers.DstIP.IsMulticast() {
			continue
		}
		i, known := at[s.Headers.DstIP]
		if !known {
			i = len(groups)
			at[s.Headers.DstIP] = i
			groups = append(groups, MulticastGroup{Address: s.Headers.DstIP})
		}
		groups[i].Streams = append(groups[i].Streams, s)
		groups[i].Ports = append(groups[i].Ports, s.Rx...)
	}
	for i := range groups {
		slices.Sort(groups[i].Ports)
		groups[i].Ports = slices.Compact(groups[i].Ports)
	}
	slices.SortFunc(groups, func(a, b MulticastGroup) int { return a.Address.Compare(b.Address) })
	return groups
}

// Receivers are the ports of some groups, each once.
func Receivers(groups []MulticastGroup) []int {
	var ports []int
	for _, g := range groups {
		ports = append(ports, g.Ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Reports names the protocol by which ports report memberships of a family.
func Reports(groups []MulticastGroup) string {
	if groups[0].Address.Is6() {
		return "MLDv2"
	}
	return "IGMPv3"
}

// NeedsMulticast refuses traffic that has no groups, and engines whose ports cannot
// join them.
func NeedsMulticast(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	for _, s := range in.Streams {
		if !s.Headers.DstIP.IsMulticast() {
			return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf(
				"the test is about multicast groups, and traffic profile %s sends to %s, which is none: give the profile the pattern fanOut, or name a profile that has it", in.Profile, destination(s, in.Ports)))}
		}
	}
	if !in.Engine.Multicast {
		return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf(
			"ports of engine %s of test bed %s cannot join multicast groups: choose a bed with another engine", in.Bed.Spec.Engine.Kind, in.Bed.Name))}
	}
	return nil
}

func destination(s plan.Stream, ports []plan.Port) string {
	if s.Headers.DstIP.IsValid() {
		return s.Headers.DstIP.String()
	}
	return "port " + ports[s.Rx[0]].Name
}

// Groups are the multicast groups that the ports of the tester have joined.
type Groups struct {
	generator *Generator
	// member joins ports to groups; nil if the generator cannot.
	member traffic.GroupMember
	ports  []plan.Port
	// joined are the memberships that the ports have.
	joined []traffic.Membership
	// own reports whether the method in hand joins multicast groups itself, and
	// begins without a membership.
	own bool
}

func newGroups(g *Generator, ports []plan.Port) *Groups {
	groups := &Groups{generator: g, ports: ports}
	groups.member, _ = traffic.As[traffic.GroupMember](g.Generator)
	return groups
}

// become joins the ports to the groups of the wanted memberships, and ends other
// memberships. Ports that are members join again: the generator may have forgotten it. A
// method with groups of its own joins by itself.
func (g *Groups) become(ctx context.Context, wanted []traffic.Membership) error {
	if g.own {
		wanted = nil
	}
	if len(g.joined) > 0 && !slices.Equal(g.joined, wanted) {
		if err := g.end(ctx); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := g.needed("traffic to multicast groups"); err != nil {
		return err
	}
	g.joined = wanted // Also when it fails half way, so that all are left.
	if _, err := g.member.Join(ctx, wanted); err != nil {
		return fmt.Errorf("joining multicast groups: %w", err)
	}
	return nil
}

// end leaves the groups that the tester's ports have joined.
func (g *Groups) end(ctx context.Context) error {
	joined := g.joined
	g.joined = nil
	if len(joined) == 0 {
		return nil
	}
	if _, err := g.member.Leave(ctx, joined); err != nil {
		return fmt.Errorf("leaving multicast groups: %w", err)
	}
	return nil
}

// needed fails when ports of the generator cannot join multicast groups.
func (g *Groups) needed(who string) error {
	if g.member == nil {
		return g.generator.lacks("join multicast groups", who)
	}
	return nil
}

// lend gives the memberships to the method in hand, which begins without any.
func (g *Groups) lend(ctx context.Context, who string) error {
	if err := g.needed(who); err != nil {
		return err
	}
	g.own = true
	return g.end(ctx)
}

// takeBack ends what lend began, and the memberships of the method in all groups.
func (g *Groups) takeBack(ctx context.Context, all []MulticastGroup) error {
	g.own = false
	if ctx.Err() != nil {
		return nil // The generator gives up its memberships when it closes.
	}
	_, err := g.Leave(ctx, all)
	return err
}

// Join joins the receivers to groups, and returns the time of each report.
func (g *Groups) Join(ctx context.Context, groups []MulticastGroup) (traffic.Moments, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	at, err := g.member.Join(ctx, memberships(g.ports, groups))
	if err != nil {
		return nil, fmt.Errorf("joining %d groups from %s up: %w", len(groups), groups[0].Address, err)
	}
	return at, nil
}

// Leave ends memberships, and returns the time of each report.
func (g *Groups) Leave(ctx context.Context, groups []MulticastGroup) (traffic.Moments, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	at, err := g.member.Leave(ctx, memberships(g.ports, groups))
	if err != nil {
		return nil, fmt.Errorf("leaving %d groups from %s up: %w", len(groups), groups[0].Address, err)
	}
	return at, nil
}

// memberships returns the memberships of the ports in groups of one family. Consecutive groups
// of a port are one membership.
func memberships(ports []plan.Port, groups []MulticastGroup) []traffic.Membership {
	members := plan.Plan{Ports: ports}
	for _, g := range groups {
		members.Streams = append(members.Streams, plan.Stream{Rx: g.Ports, Headers: traffic.Headers{DstIP: g.Address}})
	}
	all := members.Memberships()
	slices.SortStableFunc(all, func(a, b traffic.Membership) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), a.Group.Compare(b.Group))
	})
	return all
}

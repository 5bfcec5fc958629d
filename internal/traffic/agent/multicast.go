package agent

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

func membershipsToWire(memberships []traffic.Membership) []*agentpb.Membership {
	w := make([]*agentpb.Membership, len(memberships))
	for i, m := range memberships {
		w[i] = &agentpb.Membership{Port: m.Port, Group: m.Group.AsSlice(), Count: m.Count, Source: m.Source.AsSlice()}
	}
	return w
}

func membershipsFromWire(w []*agentpb.Membership) ([]traffic.Membership, error) {
	memberships := make([]traffic.Membership, len(w))
	for i, m := range w {
		group, ok := netip.AddrFromSlice(m.GetGroup())
		if !ok {
			return nil, fmt.Errorf("reading the memberships of port %s: a group has %d bytes", m.GetPort(), len(m.GetGroup()))
		}
		// No bytes come back as the zero Addr, which is any source.
		source, ok := netip.AddrFromSlice(m.GetSource())
		if !ok && len(m.GetSource()) > 0 {
			return nil, fmt.Errorf("reading the memberships of port %s: a source has %d bytes", m.GetPort(), len(m.GetSource()))
		}
		memberships[i] = traffic.Membership{Port: m.GetPort(), Group: group, Count: m.GetCount(), Source: source}
	}
	return memberships, nil
}

// serverMemberships contains what the present session joined and has not left.
type serverMemberships struct {
	// mu lets one call at a time change the memberships.
	mu  sync.Mutex
	all []traffic.Membership
}

// errNoMember means that ports of an engine cannot join groups.
var errNoMember = fmt.Errorf("changing memberships of multicast groups: %w", traffic.ErrUnsupported)

// Join is the wire form of traffic.GroupMember.
func (s *Server) Join(ctx context.Context, r *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	response := &agentpb.JoinResponse{}
	memberships, err := membershipsFromWire(r.GetMemberships())
	if err != nil {
		return nil, toStatus(err)
	}
	return response, s.gate.concurrent(ctx, func(ctx context.Context, _ *session) (err error) {
		if s.engine.members == nil {
			return errNoMember
		}
		s.joined.mu.Lock()
		defer s.joined.mu.Unlock()
		// Also what failed half way is left at the end.
		s.joined.all = append(s.joined.all, memberships...)
		response.Moments, err = s.engine.members.Join(ctx, memberships)
		return err
	})
}

// Leave is the wire form of traffic.GroupMember.
func (s *Server) Leave(ctx context.Context, r *agentpb.LeaveRequest) (*agentpb.LeaveResponse, error) {
	response := &agentpb.LeaveResponse{}
	memberships, err := membershipsFromWire(r.GetMemberships())
	if err != nil {
		return nil, toStatus(err)
	}
	return response, s.gate.concurrent(ctx, func(ctx context.Context, _ *session) (err error) {
		if s.engine.members == nil {
			return errNoMember
		}
		s.joined.mu.Lock()
		defer s.joined.mu.Unlock()
		if response.Moments, err = s.engine.members.Leave(ctx, memberships); err != nil {
			return err
		}
		s.joined.all = without(s.joined.all, memberships)
		return nil
	})
}

// leaveAll ends the memberships of a session that ended. The caller has the
// generator.
func (m *serverMemberships) leaveAll(ctx context.Context, at traffic.GroupMember) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) == 0 {
		return nil
	}
	if _, err := at.Leave(ctx, m.all); err != nil {
		return err
	}
	m.all = nil
	return nil
}

// clientMemberships contains what a client joined and has not left, and the session in which
// the agent received it.
type clientMemberships struct {
	mu  sync.Mutex
	all []traffic.Membership
	in  *clientSession
}

// Join implements traffic.GroupMember; it fails when the agent's engine does not.
func (c *Client) Join(ctx context.Context, memberships []traffic.Membership) (moments traffic.Moments, err error) {
	c.joined.mu.Lock()
	defer c.joined.mu.Unlock()
	err = c.link.do(ctx, "joining multicast groups", func(ctx context.Context, s *clientSession) error {
		if err := c.joined.rejoin(ctx, c.link.rpc, s); err != nil {
			return err
		}
		w, err := c.link.rpc.Join(ctx, &agentpb.JoinRequest{Memberships: membershipsToWire(memberships)})
		moments = w.GetMoments()
		if err == nil {
			c.joined.all, c.joined.in = append(c.joined.all, memberships...), s
		}
		return err
	})
	return moments, err
}

// Leave implements traffic.GroupMember.
func (c *Client) Leave(ctx context.Context, memberships []traffic.Membership) (moments traffic.Moments, err error) {
	c.joined.mu.Lock()
	defer c.joined.mu.Unlock()
	err = c.link.do(ctx, "leaving multicast groups", func(ctx context.Context, _ *clientSession) error {
		w, err := c.link.rpc.Leave(ctx, &agentpb.LeaveRequest{Memberships: membershipsToWire(memberships)})
		moments = w.GetMoments()
		if err == nil {
			c.joined.all = without(c.joined.all, memberships)
		}
		return err
	})
	return moments, err
}

// rejoin joins again what was joined in a session that broke: memberships last
// until they are left, and an agent ends them with the session. The caller holds the
// lock of the memberships.
func (m *clientMemberships) rejoin(ctx context.Context, rpc agentpb.AgentClient, s *clientSession) error {
	if len(m.all) == 0 || m.in == s {
		return nil
	}
	_, err := rpc.Join(ctx, &agentpb.JoinRequest{Memberships: membershipsToWire(m.all)})
	if err == nil {
		m.in = s
	}
	return err
}

// remember is rejoin for a caller that does not hold the lock.
func (m *clientMemberships) remember(ctx context.Context, rpc agentpb.AgentClient, s *clientSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rejoin(ctx, rpc, s)
}

// without removes memberships from a list.
func without(all, gone []traffic.Membership) []traffic.Membership {
	return slices.DeleteFunc(all, func(m traffic.Membership) bool { return slices.Contains(gone, m) })
}

// Join implements traffic.GroupMember: every agent joins for its ports, all at the same
// time.
func (f *Fleet) Join(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	return f.atOwners(ctx, memberships, (*Client).Join)
}

// Leave implements traffic.GroupMember.
func (f *Fleet) Leave(ctx context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	return f.atOwners(ctx, memberships, (*Client).Leave)
}

// atOwners gives every owner the memberships of its ports, and merges their
// moments.
func (f *Fleet) atOwners(ctx context.Context, memberships []traffic.Membership, call func(*Client, context.Context, []traffic.Membership) (traffic.Moments, error)) (traffic.Moments, error) {
	parts := make([][]traffic.Membership, len(f.members))
	for _, m := range memberships {
		i, ok := f.owner[m.Port]
		if !ok {
			return nil, fmt.Errorf("changing the membership of %s: no agent owns port %s", m.Group, m.Port)
		}
		parts[i] = append(parts[i], m)
	}
	moments := make([]traffic.Moments, len(f.members))
	err := f.each(ctx, func(ctx context.Context, i int, c *Client) (err error) {
		if len(parts[i]) > 0 {
			moments[i], err = call(c, ctx, parts[i])
		}
		return err
	})
	all := traffic.Moments{}
	for _, m := range moments {
		maps.Copy(all, m)
	}
	return all, err
}

package agent

import (
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
)

// The optional interfaces of engines, as an agent names them when a session opens.
const (
	abilitySampler     = "Sampler"
	abilityProgress    = "ProgressReporter"
	abilityGroupMember = "GroupMember"
	abilityArmer       = "Armer"
)

// abilities are the optional interfaces that the agent's engine has.
func (s *Server) abilities() []string {
	var all []string
	if s.sampler != nil {
		all = append(all, abilitySampler)
	}
	if s.reporter != nil {
		all = append(all, abilityProgress)
	}
	if s.members != nil {
		all = append(all, abilityGroupMember)
	}
	if s.armer != nil {
		all = append(all, abilityArmer)
	}
	return all
}

// has reports whether the agent's engine has an optional interface.
func (c *Client) has(ability string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present != nil && slices.Contains(c.present.abilities, ability)
}

// As implements traffic.Proxy.
func (c *Client) As(target any) bool {
	switch target := target.(type) {
	case *traffic.Sampler:
		*target = c
		return c.has(abilitySampler)
	case *traffic.ProgressReporter:
		*target = c
		return c.has(abilityProgress)
	case *traffic.GroupMember:
		*target = c
		return c.has(abilityGroupMember)
	case *traffic.Armer:
		*target = c
		return c.has(abilityArmer)
	}
	return false
}

// As implements traffic.Proxy: a fleet can do what all of its agents can. It cannot
// be joined with other generators.
func (f *Fleet) As(target any) bool {
	switch target := target.(type) {
	case *traffic.Sampler:
		*target = f
		return f.all(abilitySampler)
	case *traffic.ProgressReporter:
		*target = f
		return f.all(abilityProgress)
	case *traffic.GroupMember:
		*target = f
		return f.all(abilityGroupMember)
	}
	return false
}

// all reports whether the engines of all agents have an optional interface.
func (f *Fleet) all(ability string) bool {
	return !slices.ContainsFunc(f.members, func(c *Client) bool { return !c.has(ability) })
}

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
	abilityMicroflows  = "MicroflowCounter"
)

// abilities are the optional interfaces that the agent's engine has.
func (e *engine) abilities() []string {
	var all []string
	if e.sampler != nil {
		all = append(all, abilitySampler)
	}
	if e.reporter != nil {
		all = append(all, abilityProgress)
	}
	if e.members != nil {
		all = append(all, abilityGroupMember)
	}
	if e.armer != nil {
		all = append(all, abilityArmer)
	}
	if e.microflows != nil {
		all = append(all, abilityMicroflows)
	}
	return all
}

// has reports whether the agent's engine has an optional interface.
func (c *connection) has(ability string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present != nil && slices.Contains(c.present.abilities, ability)
}

// As implements traffic.Proxy.
func (c *Client) As(target any) bool {
	switch target := target.(type) {
	case *traffic.Sampler:
		*target = c
		return c.link.has(abilitySampler)
	case *traffic.ProgressReporter:
		*target = c
		return c.link.has(abilityProgress)
	case *traffic.GroupMember:
		*target = c
		return c.link.has(abilityGroupMember)
	case *traffic.Armer:
		*target = c
		return c.link.has(abilityArmer)
	case *traffic.MicroflowCounter:
		*target = c
		return c.link.has(abilityMicroflows)
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
	case *traffic.MicroflowCounter:
		*target = f
		return f.all(abilityMicroflows)
	}
	return false
}

// all reports whether the engines of all agents have an optional interface.
func (f *Fleet) all(ability string) bool {
	return !slices.ContainsFunc(f.members, func(c *Client) bool { return !c.link.has(ability) })
}

//go:build !standalone

package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

// An agent that waits for its TRex server in vain says what it waited for.
func TestAgentWithoutItsTRexServer(t *testing.T) {
	sendsNoFrames(t)
	l := newPodLab(t)
	tests := map[string]struct{ endpoint, want string }{
		"nobody there": {"tcp://" + testserver.FreeAddress(t), "waiting 300ms for the TRex server: "},
		"no address":   {"loopback", "waiting 300ms for the TRex server: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := agent.Config{Node: "n", Ports: []agent.PortConfig{{Name: "p1"}}, TRex: &agent.TRexConfig{Endpoint: test.endpoint, TimedFramesPerSecond: 1}}
			p := start(t, "agent", "--config", l.json("agent.json", config), "--tls", l.secret("tls", l.pki.Agents[0].Data()),
				"--controller", "x", "--interface-timeout", "300ms")
			p.wants(exit.Use, "", test.want)
			if hint := "hint: the log of the other container of this pod"; !strings.Contains(p.stderr.String(), hint) {
				t.Errorf("stderr lacks %q:\n%s", hint, &p.stderr)
			}
		})
	}
}

package labobjects

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// TestAgentWithHosts has the right to make network namespaces, and knows the ports, only if a test has hosts on them.
func TestAgentWithHosts(t *testing.T) {
	bed := aBed()
	for _, hosts := range []bool{false, true} {
		a := Agents(bed)[0]
		a.Hosts = hosts
		context := must(AgentPod(settings(), aRun(), a, bed)).Spec.Containers[0].SecurityContext
		if got := slices.Contains(context.Capabilities.Add, HostCapability); got != hosts {
			t.Errorf("hosts %v: capabilities %v", hosts, context.Capabilities.Add)
		}
		if !slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) || context.Privileged != nil {
			t.Errorf("%+v", context)
		}
		var config agent.Config
		if err := json.Unmarshal(must(AgentSecret(settings(), aRun(), a, bed, aProfile(3), nil)).Data[agentFile], &config); err != nil {
			t.Fatal(err)
		}
		if !hosts {
			if config.Hosts != nil {
				t.Errorf("%+v", config.Hosts)
			}
			continue
		}
		if len(config.Hosts) != len(a.Ports) {
			t.Fatalf("%+v, want %d ports", config.Hosts, len(a.Ports))
		}
		for i, p := range config.Hosts {
			own := config.Ports[i]
			if p.Name != own.Name || p.Interface != own.Interface || p.Address.String() != own.Addresses[0] || len(p.Taken) == 0 {
				t.Errorf("hosts on %+v, want the port %+v", p, own)
			}
		}
	}
}

// TestAgentWithHostsOnTRex: the server has the hosts, the agent knows their ports, and it needs no rights for them.
func TestAgentWithHostsOnTRex(t *testing.T) {
	bed := eightPorts(onSockets(), interfaces)
	for _, hosts := range []bool{false, true} {
		a := Agents(bed)[0]
		a.Hosts = hosts
		if add := must(AgentPod(labWithTRex(), aRun(), a, bed)).Spec.Containers[0].SecurityContext.Capabilities.Add; len(add) > 0 {
			t.Errorf("hosts %v: capabilities %v", hosts, add)
		}
		var config agent.Config
		var started server.Config
		data := must(AgentSecret(labWithTRex(), aRun(), a, bed, aProfile(3), nil)).Data
		for name, into := range map[string]any{agentFile: &config, trexFile: &started} {
			if err := json.Unmarshal(data[name], into); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{true: len(a.Ports)}[hosts]; started.ASTF != hosts || len(config.Hosts) != want {
			t.Errorf("hosts %v: agent %+v with %d hosts, server %+v", hosts, config.TRex, len(config.Hosts), started)
		}
	}
}

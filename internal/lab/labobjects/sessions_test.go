package labobjects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

// peered has a session with a password on every port of the bed.
func peered() (*v1alpha1.TestBed, Passwords) {
	bed := aBed()
	bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 65001, PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: "peer"}},
	}}}
	return bed, Passwords{"peer-p1": "one", "peer-p2": "two", "peer-p3": "three"}
}

// An agent gets the passwords of sessions on its own ports.
func TestAgentHasItsPasswords(t *testing.T) {
	bed, passwords := peered()
	for i, want := range []string{"peer-p1=one peer-p2=two", "peer-p3=three"} {
		sec := must(AgentSecret(settings(), aRun(), Agents(bed)[i], bed, aProfile(1), passwords))
		var config agent.Config
		if err := json.Unmarshal(sec.Data[agentFile], &config); err != nil {
			t.Fatal(err)
		}
		var got []string
		for session, password := range config.Speaker.Passwords {
			got = append(got, session+"="+string(password))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("agent %d has %q, want %q", i, got, want)
		}
	}
	sec := must(RunnerSecret(settings(), aRun(), runner.Config{Bed: *bed}, 1))
	if text := must(runner.Decompress(sec.Data[runnerFile])); bytes.Contains(text, []byte("three")) {
		t.Error("the runner has a password")
	}
}

// More passwords than fit into an agent's secret are refused.
func TestAgentsPasswordsAreBounded(t *testing.T) {
	bed, _ := peered()
	bed.Spec.Ports[2].Addresses[0], bed.Spec.Ports[2].Gateways[0] = "198.19.0.2/16", "198.19.0.1"
	bed.Spec.Routing.BGP.Sessions = nil
	passwords := Passwords{}
	for _, name := range []string{"a", "b"} {
		bed.Spec.Routing.BGP.Sessions = append(bed.Spec.Routing.BGP.Sessions, v1alpha1.BGPSession{
			Name: name, Port: "p3", ASN: 65001, Count: 1024, Address: map[string]string{"a": "198.19.1.1", "b": "198.19.8.1"}[name],
			PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: name},
		})
		passwords[name] = routing.Secret(strings.Repeat("x", 80))
		for i := 2; i <= 1024; i++ {
			passwords[fmt.Sprintf("%s-%d", name, i)] = passwords[name]
		}
	}
	_, err := AgentSecret(settings(), aRun(), Agents(bed)[1], bed, aProfile(1), passwords)
	if err == nil || !strings.HasPrefix(err.Error(), "the configuration of agent 1 has ") {
		t.Errorf("2,048 sessions with passwords of 80 bytes: %v", err)
	}
}

// The device's secret has the sessions, which the pod that starts the device makes its
// configuration of.
func TestDeviceHasItsSessions(t *testing.T) {
	bed, passwords := peered()
	sec := must(DeviceSecret(settings(), aRun(), bed, aTopology(), passwords))
	var sessions router.BedSessions
	if err := json.Unmarshal(must(runner.Decompress(sec.Data[sessionsFile])), &sessions); err != nil {
		t.Fatal(err)
	}
	files, err := sessions.Files("device.frr.conf", nil)
	if err != nil || !strings.Contains(string(files["device.frr.conf"]), " neighbor 198.18.3.2 password three\n") {
		t.Errorf("%s, %v", files["device.frr.conf"], err)
	}
	up := must(DeviceUpPod(settings(), aRun(), sec)).Spec.Containers[0].Args
	if !slices.Contains(up, "--sessions") {
		t.Errorf("the device is started with %q", up)
	}
	if down := must(DeviceDownPod(settings(), aRun(), sec)).Spec.Containers[0].Args; slices.Contains(down, "--sessions") {
		t.Errorf("the device is stopped with %q", down)
	}
	topology := aTopology()
	topology.BinaryData["image"] = make([]byte, maxFiles-200)
	if _, err := DeviceSecret(settings(), aRun(), bed, topology, passwords); err == nil || !strings.Contains(err.Error(), "and its BGP sessions have") {
		t.Errorf("a topology that leaves no room for the sessions: %v", err)
	}
}

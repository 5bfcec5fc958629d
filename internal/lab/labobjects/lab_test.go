package labobjects

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
)

func TestAgentsAreOnePerNode(t *testing.T) {
	agents := Agents(aBed())
	var got [][]string
	for i, a := range agents {
		if a.Index != i {
			t.Errorf("agent %d has index %d", i, a.Index)
		}
		got = append(got, append([]string{a.Node}, a.Endpoint(aRun(), "10.0.0.1").Ports...))
	}
	if diff := cmp.Diff([][]string{{"lab-1", "p1", "p2"}, {"lab-2", "p3"}}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	sim := aBed()
	sim.Spec.Engine.Kind = v1alpha1.EngineSim
	if n := len(Agents(sim)); n != 0 {
		t.Errorf("the engine sim has %d agents, want none", n)
	}
}

func TestDeviceSecretSaysWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TestBed, *corev1.ConfigMap)
		want   string
	}{
		"another key": {
			change: func(_ *v1alpha1.TestBed, c *corev1.ConfigMap) { delete(c.Data, "topology.clab.yaml") },
			want:   `no key "topology.clab.yaml"`,
		},
		"no device to start": {
			change: func(b *v1alpha1.TestBed, _ *corev1.ConfigMap) { b.Spec.Device.Containerlab = nil },
			want:   "no containerlab device",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bed, topology := aBed(), aTopology()
			tc.change(bed, topology)
			_, err := DeviceSecret(settings(), aRun(), bed, topology, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestDevicePodNeedsItsAnnotations(t *testing.T) {
	sec := must(DeviceSecret(settings(), aRun(), aBed(), aTopology(), nil))
	delete(sec.Annotations, AnnotationNode)
	if _, err := DeviceDownPod(settings(), aRun(), sec); err == nil {
		t.Error("a pod without a node was built")
	}
}

func TestRunnerSecretIsReadBack(t *testing.T) {
	want := runner.Config{Model: "size\n64\n", Variant: "fec-on"}
	got, attempt, err := RunnerConfig(must(RunnerSecret(settings(), aRun(), want, 3)))
	if err != nil {
		t.Fatal(err)
	}
	if attempt != 3 {
		t.Errorf("attempt %d, want 3", attempt)
	}
	if got.Variant != want.Variant || got.Model != want.Model {
		t.Errorf("variant %q, model %q", got.Variant, got.Model)
	}
}

// Every pod finds its own certificate, and no other key, under the names that it
// loads: also those whose certificates are not in the first secret.
func TestCertificatesReachTheirOwners(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	run, last := aRun(), 2*agentsPerSecret
	set := must(pki.Issue(run.UID, last+1, now, now.Add(time.Hour)))
	secrets := map[string]*corev1.Secret{}
	var main *corev1.Secret
	for _, main = range CertificatesSecrets(settings(), run, set) {
		secrets[main.Name] = main
	}
	if main.Name != CertificatesName(run) || len(secrets) != 3 {
		t.Errorf("%d secrets, the last is %s", len(secrets), main.Name)
	}
	operator := must(OperatorCertificate(main))
	if diff := cmp.Diff(set.Operator, operator); diff != "" {
		t.Errorf("operator's certificate (-want +got):\n%s", diff)
	}
	agent := func(index int) *corev1.Pod {
		a := Agents(aBed())[0]
		a.Index = index
		return must(AgentPod(settings(), run, a.WithCertificate(run, main), aBed()))
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want pki.Bundle
	}{
		"runner":                      {RunnerPod(settings(), run, 1), set.Runner},
		"first agent":                 {agent(0), set.Agents[0]},
		"last agent of the first":     {agent(agentsPerSecret - 1), set.Agents[agentsPerSecret-1]},
		"first agent of the second":   {agent(agentsPerSecret), set.Agents[agentsPerSecret]},
		"first agent of the last one": {agent(last), set.Agents[last]},
	} {
		mounted := map[string][]byte{}
		for _, v := range c.pod.Spec.Volumes {
			if v.Name != "tls" {
				continue
			}
			for _, item := range v.Secret.Items {
				mounted[item.Path] = secrets[v.Secret.SecretName].Data[item.Key]
			}
		}
		got, err := pki.FromData(mounted)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("certificate of the %s (-want +got):\n%s", name, diff)
		}
		if len(mounted) != 3 {
			t.Errorf("the %s gets %d files, want 3", name, len(mounted))
		}
	}
}

// Secrets of another authority, which an operator left that died, are not used.
func TestCertificatesOfAnotherAuthorityAreNotMounted(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	names := map[string]bool{}
	for range 2 {
		set := must(pki.Issue(aRun().UID, agentsPerSecret+1, now, now.Add(time.Hour)))
		names[CertificatesSecrets(settings(), aRun(), set)[0].Name] = true
	}
	if len(names) != 2 {
		t.Errorf("secrets of two authorities have the names %v", names)
	}
}

func TestTopologyIsBounded(t *testing.T) {
	topology := aTopology()
	topology.Data["large.conf"] = strings.Repeat("x", 176<<10-100)
	if err := CheckTopology(topology); err != nil {
		t.Errorf("a topology of 176 KiB: %v", err)
	}
	topology.BinaryData["image"] = make([]byte, 100)
	_, err := DeviceSecret(settings(), aRun(), aBed(), topology, nil)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap frr-router has 177 KiB in all keys, and a topology may have at most 176 KiB") {
		t.Errorf("a larger one: %v", err)
	}
}

func TestRunnerSecretIsBounded(t *testing.T) {
	noise := make([]byte, 400<<10)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	_, err := RunnerSecret(settings(), aRun(), runner.Config{Model: hex.EncodeToString(noise)}, 1)
	if err == nil || !strings.Contains(err.Error(), "at most 176 KiB") {
		t.Errorf("a configuration that cannot be compressed: %v", err)
	}
}

func TestNamesFitAndDiffer(t *testing.T) {
	run := aRun()
	names := map[string]bool{}
	for _, n := range []string{run.RunnerName(), run.agentName(0), run.agentName(1), run.deviceName(), run.deviceUpName(), run.deviceDownName(), run.certificatesName(), run.networkName("p1")} {
		if len(n) > 63 || names[n] || !strings.HasPrefix(n, "nd-0f8fad5bd9") {
			t.Errorf("name %q is too long, used twice, or not of this run", n)
		}
		names[n] = true
	}
}

package labobjects

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

var update = flag.Bool("update", false, "write testdata")

func settings() Settings {
	return Settings{Namespace: "nodrop-lab", Image: "localhost/nodrop:dev", DeviceImage: "localhost/nodrop-device:dev", PullPolicy: corev1.PullNever}
}

func aRun() Run {
	return Run{Namespace: "team-routing", Name: "router-rfc2544", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"}
}

func aBed() *v1alpha1.TestBed {
	port := func(name, node, address, gateway string) v1alpha1.Port {
		return v1alpha1.Port{
			Name: name, Node: node, Speed: "10G", Addresses: []string{address}, Gateways: []string{gateway},
			Attachment: objects.HostDevice("nd-" + name),
		}
	}
	return objects.TestBed("frr-router",
		objects.Containerlab("frr-router"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(
			port("p1", "lab-1", "198.18.1.2/24", "198.18.1.1"),
			port("p2", "lab-1", "198.18.2.2/24", "198.18.2.1"),
			port("p3", "lab-2", "198.18.3.2/24", "198.18.3.1"),
		),
	)
}

// cabled is a bed with a physical device, whose interfaces are probed.
func cabled() *v1alpha1.TestBed {
	bed := aBed()
	bed.Name, bed.UID = "switch", "5a0f8f8e-28a4-4c11-bb5e-0d1b5c1b3f90"
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	return bed
}

// managed is a bed whose physical device NoDrop configures.
func managed() *v1alpha1.TestBed {
	bed := cabled()
	bed.Spec.Device.Physical.Management = objects.Managed("leaf-1", "192.0.2.1:22", "base.conf")
	return bed
}

// hooked is a bed with hooks.
func hooked() *v1alpha1.TestBed {
	bed := managed()
	bed.Spec.Hooks = &v1alpha1.LeaseHooks{
		BeforeLease: []v1alpha1.LeaseHook{{
			Name: "load", Image: "registry.example/lab-tools:1", Command: []string{"/bin/load"}, Args: []string{"--device", "$(NODROP_DEVICE_ADDRESS)"},
			Env: []v1alpha1.HookVariable{{Name: "RELEASE", Value: "10.4"}}, SecretName: "leaf-hook",
			Timeout: &metav1.Duration{Duration: 20 * time.Minute}, Memory: ptr(resource.MustParse("1Gi")),
		}},
		AfterLease: []v1alpha1.LeaseHook{{Name: "clean", Image: "registry.example/lab-tools:1", Args: []string{"clean"}}},
	}
	return bed
}

func aProfile(hosts int32) *v1alpha1.TrafficProfile {
	return objects.TrafficProfile("team-routing", "ipv4-pairs", objects.HostsPerPort(hosts))
}

func aTopology() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "frr-router", Namespace: "nodrop-lab"},
		Data:       map[string]string{"topology.clab.yaml": "name: frr-router\n", "frr.conf": "hostname dut\n"},
		BinaryData: map[string][]byte{"license.key": {0, 1}},
	}
}

// TestGolden compares everything that is put into the lab with testdata. After a
// wanted change: go test ./internal/lab/labobjects -update, and read the difference.
func TestGolden(t *testing.T) {
	run, s, bed := aRun(), settings(), aBed()
	agents := Agents(bed)
	device := must(DeviceSecret(s, run, bed, aTopology(), nil))
	configuration := must(ConfigurationSecret(s, run, managed(), managed().Spec.Device.Management(), "hostname dut\naccess-list a\n", "hostname dut\n"))
	hooksSecret := must(HooksSecret(s, run, hooked(), []v1alpha1.VariantName{"plain", "acl"}))
	hooks := must(ReadHooks(hooksSecret))
	for name, obj := range map[string]any{
		"agent-pod":              must(AgentPod(s, run, agents[0], bed)),
		"agent-secret":           must(AgentSecret(s, run, agents[0], bed, aProfile(3), nil)),
		"runner-pod":             RunnerPod(s, run, 2),
		"runner-secret":          must(RunnerSecret(s, run, runner.Config{Agents: []runner.AgentEndpoint{agents[1].Endpoint(run, "10.0.0.7")}}, 2)),
		"network":                must(Networks(s, run, agents[0]))[0].Object,
		"device-secret":          device,
		"device-up-pod":          must(DeviceUpPod(s, run, device)),
		"device-down-pod":        must(DeviceDownPod(s, run, device)),
		"node-secret":            nodeSecret(),
		"node-up-pod":            must(DeviceUpPod(s, run, nodeSecret())),
		"configuration-secret":   configuration,
		"configuration-up-pod":   must(DeviceUpPod(s, run, configuration)),
		"configuration-down-pod": must(DeviceDownPod(s, run, configuration)),
		"hook-before-pod":        HookPod(s, run, hooks, BeforeLease, 0),
		"hook-after-pod":         HookPod(s, run, hooks, AfterLease, 0),
		"hooks-secret":           hooksSecret,
		"probe-device":           DeviceProbePod(s, managed(), ProbedNodes(managed())[2], "3f2a 2026-01-01T12:00:00Z", 60, true),
		"probe-0":                ProbePod(s, cabled(), ProbedNodes(cabled())[0], "3f2a 2026-01-01T12:00:00Z", 60),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, must(yaml.Marshal(obj))) })
	}
}

// golden compares a manifest with testdata, or writes it there.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

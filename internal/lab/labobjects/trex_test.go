package labobjects

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// onCards is TRex on DPDK.
func onCards() v1alpha1.Engine {
	return v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
		CPUs: ptr(int32(8)), HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse("4Gi")},
	}}
}

// onSockets is TRex in software.
func onSockets() v1alpha1.Engine {
	return v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
}

// onOwnProcessors is TRex in software with processors of its own.
func onOwnProcessors() v1alpha1.Engine {
	e := onSockets()
	e.TRex.CPUs = ptr(int32(2))
	return e
}

// trexPods are the first traffic pods of beds in both modes, and of one in software
// with processors of its own.
func trexPods() map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for name, bed := range map[string]*v1alpha1.TestBed{
		"cards": eightPorts(onCards(), virtualFunctions), "sockets": eightPorts(onSockets(), interfaces),
		"own": eightPorts(onOwnProcessors(), interfaces),
	} {
		pods[name] = must(AgentPod(labWithTRex(), aRun(), Agents(bed)[0], bed))
	}
	return pods
}

// TestPodOfTRexWithoutSettings: a bed that names the engine and sets nothing else has TRex in
// software.
func TestPodOfTRexWithoutSettings(t *testing.T) {
	bare := eightPorts(v1alpha1.Engine{Kind: v1alpha1.EngineTRex}, interfaces)
	got := must(AgentPod(labWithTRex(), aRun(), Agents(bare)[0], bare))
	if diff := cmp.Diff(trexPods()["sockets"], got); diff != "" {
		t.Errorf("pod without settings, against software: {} (-want +got):\n%s", diff)
	}
}

func containersOf(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// TestPodOfTRexIsGuaranteed: of the class Guaranteed, and whole processors only for
// the server, or the CPU manager assigns it none exclusively.
func TestPodOfTRexIsGuaranteed(t *testing.T) {
	for name, pod := range trexPods() {
		if name == "sockets" {
			continue
		}
		for _, c := range containersOf(pod) {
			for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, request := c.Resources.Limits[r], c.Resources.Requests[r]
				if limit.IsZero() || limit.Cmp(request) != 0 {
					t.Errorf("%s: container %s requests %s %s and is limited to %s", name, c.Name, request.String(), r, limit.String())
				}
			}
			cpus := c.Resources.Limits.Cpu()
			if whole := cpus.MilliValue()%1000 == 0; whole != (c.Name == "trex") {
				t.Errorf("%s: container %s has %s processors", name, c.Name, cpus)
			}
		}
	}
}

// TestPodOfTRexFitsASmallNode: in software without cpus no container keeps a
// processor, or is kept from one, and memory is bounded as ever.
func TestPodOfTRexFitsASmallNode(t *testing.T) {
	pod := trexPods()["sockets"]
	requests := resource.Quantity{}
	for _, c := range pod.Spec.Containers {
		requests.Add(*c.Resources.Requests.Cpu())
	}
	if requests.MilliValue() == 0 || requests.MilliValue() >= 1000 {
		t.Errorf("the pod requests %s processors, want a part of one", &requests)
	}
	for _, c := range containersOf(pod) {
		if _, limited := c.Resources.Limits[corev1.ResourceCPU]; limited {
			t.Errorf("container %s is limited to %s processors", c.Name, c.Resources.Limits.Cpu())
		}
		limit, request := c.Resources.Limits.Memory(), c.Resources.Requests.Memory()
		if limit.IsZero() || limit.Cmp(*request) != 0 {
			t.Errorf("container %s requests %s memory and is limited to %s", c.Name, request, limit)
		}
	}
}

// TestRightsInThePodOfTRex: the server has the capabilities that it needs and no
// more; no other container has any.
func TestRightsInThePodOfTRex(t *testing.T) {
	for name, pod := range trexPods() {
		want := map[string][]corev1.Capability{
			"install": nil, "agent": nil, "trex": {"IPC_LOCK", "NET_ADMIN", "NET_RAW"},
		}
		if name == "cards" {
			want["trex"] = append(want["trex"], "SYS_NICE")
		}
		got := map[string][]corev1.Capability{}
		for _, c := range containersOf(pod) {
			rights := c.SecurityContext
			got[c.Name] = rights.Capabilities.Add
			if !slices.Equal(rights.Capabilities.Drop, []corev1.Capability{"ALL"}) || *rights.AllowPrivilegeEscalation || !*rights.ReadOnlyRootFilesystem {
				t.Errorf("%s: container %s keeps what it should not: %+v", name, c.Name, rights)
			}
			if root := *rights.RunAsUser == 0; root != (c.Name == "trex") || *rights.RunAsNonRoot == root {
				t.Errorf("%s: container %s runs as user %d", name, c.Name, *rights.RunAsUser)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: capabilities (-want +got):\n%s", name, diff)
		}
	}
}

// TestEachContainerSeesItsOwn: devices, huge pages and configurations are where they
// are needed, and nowhere else.
func TestEachContainerSeesItsOwn(t *testing.T) {
	pod := trexPods()["cards"]
	keys := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			for _, item := range v.Secret.Items {
				keys[v.Name] += item.Key + " "
			}
			if len(v.Secret.Items) == 0 {
				t.Errorf("volume %s shows all keys of secret %s", v.Name, v.Secret.SecretName)
			}
		}
	}
	got, devices := map[string]string{}, map[string]int{}
	for _, c := range containersOf(pod) {
		for _, m := range c.VolumeMounts {
			got[c.Name] += keys[m.Name]
			if m.MountPath == hugePagesDir && c.Name != "trex" {
				t.Errorf("container %s has huge pages", c.Name)
			}
		}
		for r := range c.Resources.Limits {
			if strings.Contains(string(r), "/") || strings.HasPrefix(string(r), "hugepages-") {
				devices[c.Name]++
			}
		}
	}
	want := map[string]string{"agent": "agent.json ca.crt agent-0.crt agent-0.key ", "trex": "trex.json ", "install": ""}
	for name, keys := range want {
		if got[name] != keys {
			t.Errorf("container %s sees %q, want %q", name, got[name], keys)
		}
	}
	if diff := cmp.Diff(map[string]int{"trex": 4}, devices); diff != "" {
		t.Errorf("extended resources and huge pages (-want +got):\n%s", diff)
	}
}

// TestConfigurationsOfTRex: server and agent have the same ports in the same
// order, and the server what it needs to find them.
func TestConfigurationsOfTRex(t *testing.T) {
	for name, tc := range map[string]struct {
		engine v1alpha1.Engine
		attach func(int) *v1alpha1.Attachment
		want   server.Config
	}{
		"cards of a device plugin": {
			engine: onCards(), attach: virtualFunctions,
			want: server.Config{Dir: "/opt/trex", RPCPort: 4501, HugePagesMiB: 4096, Ports: []server.Port{
				{Name: "p1", Resource: "intel.com/dut_p1"}, {Name: "p2", Resource: "intel.com/dut_p2"},
				{Name: "p3", Resource: "intel.com/dut_any"}, {Name: "p4", Resource: "intel.com/dut_any"},
			}},
		},
		"packet sockets on cards of a device plugin": {
			engine: onSockets(), attach: virtualFunctions,
			want: server.Config{Dir: "/opt/trex", RPCPort: 4501, Software: &server.Software{RingFrames: 16384}, Ports: []server.Port{
				{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "p2"}, {Name: "p3", Interface: "p3"}, {Name: "p4", Interface: "p4"},
			}},
		},
		"packet sockets on claimed cards": {
			engine: onSockets(), attach: claims,
			want: server.Config{Dir: "/opt/trex", RPCPort: 4501, Software: &server.Software{RingFrames: 16384}, Ports: []server.Port{
				{Name: "p1", Interface: "p1"}, {Name: "p2", Interface: "net2"}, {Name: "p3", Interface: "p3"}, {Name: "p4", Interface: "net4"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bed := eightPorts(tc.engine, tc.attach)
			sec := must(AgentSecret(labWithTRex(), aRun(), Agents(bed)[0], bed, aProfile(1), nil))
			var got server.Config
			var agentConfig agent.Config
			for file, into := range map[string]any{"trex.json": &got, "agent.json": &agentConfig} {
				if err := json.Unmarshal(sec.Data[file], into); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("configuration of the server (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&agent.TRexConfig{Endpoint: "tcp://127.0.0.1:4501", TimedFramesPerSecond: 1000}, agentConfig.TRex); diff != "" {
				t.Errorf("configuration of the agent (-want +got):\n%s", diff)
			}
			for i, p := range agentConfig.Ports {
				if p.Name != got.Ports[i].Name {
					t.Errorf("port %d is %s to the agent and %s to the server", i, p.Name, got.Ports[i].Name)
				}
			}
		})
	}
}

// TestSettingsOfTRex: settings of the bed take precedence over defaults.
func TestSettingsOfTRex(t *testing.T) {
	bed := eightPorts(v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
		Image: "example.com/trex:mine", CPUs: ptr(int32(3)), Memory: ptr(resource.MustParse("3Gi")), TimedFramesPerSecond: ptr(int32(7)),
		HugePages: &v1alpha1.TRexHugePages{PageSize: "2Mi", Total: resource.MustParse("512Mi")},
	}}, virtualFunctions)
	pod := must(AgentPod(labWithTRex(), aRun(), Agents(bed)[0], bed))
	trex := pod.Spec.Containers[1]
	limits := trex.Resources.Limits
	for what, pair := range map[string][2]string{
		"image":      {trex.Image, "example.com/trex:mine"},
		"cpu":        {limits.Cpu().String(), "3"},
		"memory":     {limits.Memory().String(), "3Gi"},
		"huge pages": {ptr(limits["hugepages-2Mi"]).String(), "512Mi"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %s, want %s", what, pair[0], pair[1])
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "hugepages" && v.EmptyDir.Medium != "HugePages-2Mi" {
			t.Errorf("huge pages come from medium %q", v.EmptyDir.Medium)
		}
	}
	agentConfig, _ := trexConfigs(bed.Spec.Engine.TRex, nil, false)
	if agentConfig.TimedFramesPerSecond != 7 {
		t.Errorf("%d timed frames per second, want 7", agentConfig.TimedFramesPerSecond)
	}
}

// TestNoImageOfTRex: without an image the error describes what to do.
func TestNoImageOfTRex(t *testing.T) {
	bed := eightPorts(onSockets(), interfaces)
	_, err := AgentPod(settings(), aRun(), Agents(bed)[0], bed)
	if err == nil || err.Error() != "the operator was installed without an image of TRex: set engine.trex.image or the chart's trexImage" {
		t.Errorf("error %v", err)
	}
}

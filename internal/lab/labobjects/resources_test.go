package labobjects

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// TestEveryContainerIsLimited goes through the manifests of all pods in testdata.
func TestEveryContainerIsLimited(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "---\n") {
			var pod corev1.Pod
			if err := yaml.Unmarshal([]byte(document), &pod); err != nil || pod.Kind != "Pod" {
				continue
			}
			roles[pod.Labels[LabelRole]] = true
			for _, problem := range unlimited(pod.Spec) {
				t.Errorf("%s: pod %s: %s", file, pod.Name, problem)
			}
		}
	}
	for _, role := range []string{RoleAgent, RoleRunner, RoleDevice, RoleConfigure, RoleHook, RoleProbe} {
		if !roles[role] {
			t.Errorf("no pod with the role %s was checked", role)
		}
	}
}

// unlimited lists what lacks a request or a limit in a pod, and what has a limit of processor
// time without having processors of its own for it.
func unlimited(pod corev1.PodSpec) []string {
	var problems []string
	// A pod with whole processors has CPU limits in all containers, or it would not be
	// of the class Guaranteed.
	owns := false
	for _, c := range pod.Containers {
		limit := c.Resources.Limits.Cpu()
		owns = owns || !limit.IsZero() && limit.MilliValue()%1000 == 0 && limit.Equal(*c.Resources.Requests.Cpu())
	}
	for _, c := range append(append([]corev1.Container(nil), pod.InitContainers...), pod.Containers...) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if request := c.Resources.Requests[name]; request.IsZero() {
				problems = append(problems, c.Name+" requests no "+string(name))
			}
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if limit := c.Resources.Limits[name]; limit.IsZero() {
				problems = append(problems, c.Name+" has no limit of "+string(name))
			}
		}
		if has := !c.Resources.Limits.Cpu().IsZero(); has != owns {
			problems = append(problems, c.Name+" has a CPU limit without processors of its own, or lacks it in a pod that has some")
		}
	}
	for _, v := range pod.Volumes {
		if e := v.EmptyDir; e != nil && e.SizeLimit == nil && !strings.HasPrefix(string(e.Medium), string(corev1.StorageMediumHugePagesPrefix)) {
			problems = append(problems, "volume "+v.Name+" has no limit of its size")
		}
	}
	return problems
}

// TestAgentHoldsAllStreams: the memory limit leaves room for as many streams as the
// engine takes; see internal/traffic/xdp on the quarter.
func TestAgentHoldsAllStreams(t *testing.T) {
	const perStream = 23 << 10
	engine, known := capability.Of(string(v1alpha1.EngineXDP))
	limit := resource.MustParse(agentMemoryLimit)
	if streams := limit.Value() / 4 / perStream; !known || streams < int64(engine.MaxStreams) {
		t.Errorf("%s hold %d streams, and the engine takes %d", agentMemoryLimit, streams, engine.MaxStreams)
	}
}

// The agent learns how many senders a port has. Beds that leave the number out have the same
// configuration as before.
func TestAgentHasItsSenders(t *testing.T) {
	for _, want := range []int{0, 4} {
		bed := aBed()
		if want > 0 {
			bed.Spec.Engine.XDP = &v1alpha1.XDPEngine{SendersPerPort: ptr(int32(want))}
		}
		secret := must(AgentSecret(settings(), aRun(), Agents(bed)[0], bed, aProfile(1), nil))
		var got agent.Config
		if err := json.Unmarshal(secret.Data["agent.json"], &got); err != nil {
			t.Fatal(err)
		}
		if got.SendersPerPort != want {
			t.Errorf("%d senders per port, want %d", got.SendersPerPort, want)
		}
	}
}

// A kubelet gives whole processors to pods of the class Guaranteed only: whose
// containers request what they are limited to.
func TestAgentHasProcessorsOfItsOwn(t *testing.T) {
	bed := aBed()
	bed.Spec.Engine.XDP = &v1alpha1.XDPEngine{CPUs: ptr(int32(3))}
	pod := must(AgentPod(settings(), aRun(), Agents(bed)[0], bed))
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != 0 {
		t.Fatalf("containers %v and %v, want one", pod.Spec.InitContainers, pod.Spec.Containers)
	}
	r := pod.Spec.Containers[0].Resources
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if request, limit := r.Requests[name], r.Limits[name]; request.IsZero() || !request.Equal(limit) {
			t.Errorf("%s: requests %s, limited to %s", name, &request, &limit)
		}
	}
	if got := r.Limits.Cpu().MilliValue(); got != 3000 {
		t.Errorf("%d thousandths of a processor, want 3000", got)
	}
	for _, problem := range unlimited(pod.Spec) {
		t.Error(problem)
	}
}

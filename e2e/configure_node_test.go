//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// nodeLab are the objects of the sample of a node that is configured.
type nodeLab struct {
	topology, lists corev1.ConfigMap
	bed             v1alpha1.TestBed
	profile         v1alpha1.TrafficProfile
}

// newNodeLab makes the objects of the sample. Its image is the one of FRR, with the programs of the node's machine, and a further
// variant has a line that nft rejects.
func (l *lab) newNodeLab(t *testing.T) *nodeLab {
	t.Helper()
	g := NewWithT(t)
	read := func(file string) string {
		text, err := os.ReadFile(l.path("config", "samples", "containerlab-acl", file))
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	s := &nodeLab{}
	topology, bed, _ := strings.Cut(read("testbed.yaml"), "\n---\n")
	decode(t, topology, &s.topology)
	decode(t, bed, &s.bed)
	decode(t, read("configurations.yaml"), &s.lists)
	decode(t, read("trafficprofile.yaml"), &s.profile)
	const key, image = "topology.clab.yaml", "image: registry.example/linux-router:12\n"
	text := s.topology.Data[key]
	g.Expect(text).To(ContainSubstring(image))
	s.topology.Data[key] = strings.Replace(text, image, "image: localhost/nodrop-frr:8.4\n      image-pull-policy: Never\n      binds: [\"/usr:/usr:ro\"]\n", 1)
	s.lists.Data["wrong"] = strings.Replace(s.lists.Data["list"], "ip saddr 198.19.0.7 drop", "ip saddr 198.19.0.777 drop", 1)
	wrong := s.bed.Spec.Device.Variants[1].DeepCopy()
	wrong.Name, wrong.Containerlab.Configuration.ConfigMapRef.Key = "wrong", "wrong"
	s.bed.Spec.Device.Variants = append(s.bed.Spec.Device.Variants, *wrong)
	s.bed.Spec.Access[0].Variants = append(s.bed.Spec.Access[0].Variants, "wrong")
	s.profile.Spec.FrameSizes = []int32{512}
	for _, o := range []client.Object{&s.topology, &s.lists, &s.bed, &s.profile} {
		g.Expect(l.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { l.discard(t, o) })
	}
	return s
}

// measures starts a benchmark in variants, with a value of the parameter, and returns it when it has ended.
func (s *nodeLab) measures(t *testing.T, l *lab, name string, back v1alpha1.ParameterValue, variants ...v1alpha1.VariantName) *v1alpha1.Benchmark {
	t.Helper()
	b := objects.Benchmark(teamNamespace, name,
		objects.BedName(s.bed.Name), objects.ProfileName(s.profile.Name), objects.Pauses(200*time.Millisecond, 0),
		objects.Tests(v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{
			Loads: []v1alpha1.Load{"1%"}, TrialDuration: metav1.Duration{Duration: time.Second},
		}}),
		objects.BenchmarkFunc(func(b *v1alpha1.Benchmark) {
			b.Spec.Variants, b.Spec.DeviceParameters = variants, []v1alpha1.ChosenParameter{{Name: "back", Value: back}}
		}),
	)
	NewWithT(t).Expect(l.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { l.remove(t, b) })
	return l.finish(t, client.ObjectKeyFromObject(b))
}

// TestConfiguredNode measures a Linux router that containerlab starts: without rules, and with an access list of 201 entries that drops
// the traffic of a port, as the benchmark chooses. In full length it also measures a list that accepts this traffic, and ends a benchmark by a
// list that nft rejects. No topology is left.
func TestConfiguredNode(t *testing.T) {
	together(t)
	alone(t, &theRouter)
	l, g := newLab(t), NewWithT(t)
	s := l.newNodeLab(t)

	b := s.measures(t, l, "node-variants", "drop", "plain", "list")
	g.Expect(b.Status.Phase).NotTo(Equal(v1alpha1.PhaseError), b.Status.Message) // A busy machine may send too late to conclude.
	rows := l.rows(t, b)
	g.Expect(rows).To(HaveLen(2))
	for _, row := range rows {
		passes := BeNumerically(">", row.Frames.Sent/2)
		if row.Variant == "list" { // The traffic of p2 is dropped.
			passes = And(BeNumerically(">", 0), BeNumerically("<=", row.Frames.Sent/2))
		}
		g.Expect(row.Frames.Received).To(passes, "variant %s", row.Variant)
	}
	given := l.environment(t, b).Configurations()
	g.Expect(given).To(HaveLen(2))
	g.Expect(given["plain"].Commands).To(BeZero(), "the topology starts it without rules")
	g.Expect(given["list"]).To(And(HaveField("Commands", BeEquivalentTo(1)), HaveField("Before", given["plain"].Digest), HaveField("Software", ContainSubstring("nftables v"))))
	g.Expect(given["list"].Digest).NotTo(Equal(given["plain"].Digest))
	dropping := given["list"].Digest
	l.expectClean(t, b)
	if testing.Short() { // TestDeviceUpConfiguresNodes of cmd/nodrop has the list that nft rejects, and TestNodeConfiguration of controllers the parameters.
		return
	}

	b = s.measures(t, l, "node-accepts", "accept", "list")
	g.Expect(b.Status.Phase).NotTo(Equal(v1alpha1.PhaseError), b.Status.Message)
	for _, row := range l.rows(t, b) {
		g.Expect(row.Frames.Received).To(BeNumerically(">", row.Frames.Sent/2), "the traffic of p2 is accepted")
	}
	g.Expect(l.environment(t, b).Configurations()["list"].Digest).NotTo(Equal(dropping))
	l.expectClean(t, b)

	b = s.measures(t, l, "node-wrong", "accept", "wrong")
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseError))
	g.Expect(b.Status.Message).To(And(
		ContainSubstring("the device did not come up with its configuration, and its topology is destroyed"),
		ContainSubstring(`the device rejected "ip saddr 198.19.0.777 drop"`)))
	l.expectClean(t, b)
}

package controllers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	dutdevice "nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestNodeConfiguration has beds whose topology starts a node that NoDrop then configures.
func TestNodeConfiguration(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"each variant, and no base at the end":            nodeVariants,
		"the base alone":                                  nodeBase,
		"a value of a benchmark":                          nodeValues,
		"a node that rejects a line":                      nodeRejects,
		"a pod that does not report":                      nodeSilent,
		"the pod that started the node is deleted":        nodePodGoes,
		"the operator dies before the report is kept":     nodeOperatorDies,
		"a bed that is deleted while its node differs":    nodeBedGoes,
		"what is missing":                                 nodeIncomplete,
		"configurations for a device without a container": nodeRefused,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// nodeName is in place of the address of a device in a container.
const nodeName = "dut"

// node is a bed with a virtual router that is configured in two variants.
func node(name string) *v1alpha1.TestBed {
	bed := virtual(name)
	list := v1alpha1.DeviceConfigurationSource{ConfigMapRef: reference("leaf-acl", "acl.conf")}
	bed.Spec.Device.Containerlab.Configuration = objects.NodeConfiguration(v1alpha1.NodePlatform(v1alpha1.PlatformFRR), "leaf", "base.conf")
	bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "plain"}, {Name: "acl", Containerlab: &v1alpha1.ContainerlabVariant{Configuration: &list}}}
	return bed
}

// createNode makes such a bed with all that it needs.
func (w *world) createNode(bed *v1alpha1.TestBed) {
	w.t.Helper()
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), configMap("leaf", "base.conf", baseText), configMap("leaf-acl", "acl.conf", aclText), bed, profile())
}

// startNode starts a node without a configuration, and gives it the one that a pod has.
func (k *fakeKubelet) startNode(ctx context.Context, pod *corev1.Pod) error {
	sec := &corev1.Secret{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Spec.Volumes[0].Secret.SecretName}, sec); err != nil {
		return err
	}
	text, err := runner.Decompress(sec.Data["configuration.json.zst"])
	if err != nil {
		return err
	}
	var n dutdevice.Node
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	k.devices[nodeName] = n.Wanted
	record := configure.Record{BeforeDigest: digestOf(""), AfterDigest: digestOf(n.Wanted), Sessions: 1, Answers: []configure.Answer{{Command: "hostname leaf"}}}
	message, err := json.Marshal(dutdevice.Started{
		Placement: dutdevice.Placement{Tester: []int{0}, Device: []int{1}}, Configuration: record.Summary(sshcli.FRR.Dialect, parsed(n.Base)),
	})
	if err != nil {
		return err
	}
	succeeded(pod)
	pod.Status.ContainerStatuses[0].State.Terminated.Message = string(message)
	return nil
}

func nodeVariants(w *world) {
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr", withVariants("acl", "plain")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(nodeName)).To(Equal(aclText))
	given := w.runnerConfig("b").Configuration
	w.Expect(given).To(And(HaveField("Digest", digestOf(aclText)), HaveField("Commands", BeEquivalentTo(1)), HaveField("Drift", Equal([]string{"- hostname leaf"}))))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionDeviceReady).Message).
		To(Equal("the device is up and configured; its topology is destroyed afterwards, so that nothing is restored"))
	w.Expect(w.runnerConfig("b").Agents).To(HaveLen(1))

	w.measuresVariants(b, given, nodeName)
}

func nodeBase(w *world) {
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Configuration).To(HaveField("Digest", digestOf(baseText)))
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

// nodeValues has no webhook: what a grant does not allow waits without a bed, and never reaches the node.
func nodeValues(w *world) {
	bed := node("frr")
	bed.Spec.Device.Variants[1].Containerlab.Parameters = []v1alpha1.DeviceParameter{
		{Name: "address", Default: "198.18.0.1", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"198.18.0.1", "198.18.0.2", "198.18.0.3"}}},
	}
	grant := &bed.Spec.Access[0]
	grant.Variants = []v1alpha1.VariantName{"acl"}
	grant.DeviceParameters = []v1alpha1.ParameterGrant{{Name: "address", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"198.18.0.1", "198.18.0.2"}}}}
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), configMap("leaf", "base.conf", baseText),
		configMap("leaf-acl", "acl.conf", "hostname leaf\naccess-list a deny {{address}}\n"), bed, profile())
	with := func(variant v1alpha1.VariantName, name v1alpha1.ParameterName, value v1alpha1.ParameterValue) func(*v1alpha1.Benchmark) {
		return func(b *v1alpha1.Benchmark) {
			b.Spec.Variants, b.Spec.DeviceParameters = []v1alpha1.VariantName{variant}, []v1alpha1.ChosenParameter{{Name: name, Value: value}}
		}
	}
	for name, attempt := range map[string]struct {
		change func(*v1alpha1.Benchmark)
		want   string
	}{
		"variant":   {withVariants("plain"), "has only the variants acl"},
		"value":     {with("acl", "address", "198.18.0.3"), "has the parameter address with one of 198.18.0.1, 198.18.0.2"},
		"parameter": {with("acl", "entries", "7"), "has only the parameters address"},
	} {
		create(w.t, w.c, benchmark(name, "frr", attempt.change))
		w.Expect(w.says(name, v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted).Message).To(ContainSubstring(attempt.want))
	}
	create(w.t, w.c, benchmark("b", "frr", with("acl", "address", "198.18.0.2")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(nodeName)).To(Equal("hostname leaf\naccess-list a deny 198.18.0.2\n"))
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

func nodeRejects(w *world) {
	w.kubelet.fail("device-up")
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr", withVariants("acl")))
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("the device did not come up with its configuration, and its topology is destroyed: Error: node dut"))
	w.Expect(w.pod("b", "runner")).To(BeNil())
	w.bedIsClean("frr")
}

func nodeSilent(w *world) {
	w.kubelet.hold("device-up")
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr"))
	w.appears("b", "device-up")
	w.letGo("b", "device-up") // It reports processors only.
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("has configured the device, and did not report how"))
	w.bedIsClean("frr")
}

// It is not made again: it would deploy the topology anew, and take the interfaces of the traffic pods along.
func nodePodGoes(w *world) {
	w.kubelet.hold("agent-0")
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr", withVariants("acl")))
	w.appears("b", "agent-0")
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "device-up"), client.GracePeriodSeconds(0))).To(Succeed())
	w.letGo("b", "agent-0")
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Configuration).To(HaveField("Digest", digestOf(aclText)))
	w.Expect(w.pod("b", "device-up")).To(BeNil())
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

// No traffic pod is there: the pod is made again, and deploys the topology anew.
func nodeOperatorDies(w *world) {
	w.kubelet.hold("device-up")
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr", withVariants("acl")))
	first := w.appears("b", "device-up")
	w.stop()
	w.Expect(w.c.Delete(w.t.Context(), first, client.GracePeriodSeconds(0))).To(Succeed())
	w.start()
	w.Eventually(func() bool {
		second := w.pod("b", "device-up")
		return second != nil && second.UID != first.UID
	}).Should(BeTrue(), "the second pod")
	w.kubelet.release(w)
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Configuration).To(HaveField("Digest", digestOf(aclText)))
}

// The run has what it takes to stop the device.
func nodeBedGoes(w *world) {
	w.createNode(node("frr"))
	create(w.t, w.c, benchmark("b", "frr", withVariants("acl")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	for _, o := range []client.Object{w.bed("frr"), configMap("router", "", ""), configMap("leaf", "", ""), configMap("leaf-acl", "", "")} {
		w.Expect(w.c.Delete(w.t.Context(), o)).To(Succeed())
	}
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Eventually(w.leftovers).Should(BeEmpty())
}

func nodeIncomplete(w *world) {
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), node("frr"))
	says := func(text string) {
		w.t.Helper()
		w.Eventually(func() string { return w.closed("frr", v1alpha1.ReasonBedInvalid) }).Should(ContainSubstring(text))
	}
	says("ConfigMap leaf is not in the lab's namespace")
	create(w.t, w.c, configMap("leaf", "base.conf", baseText), configMap("leaf-acl", "acl.conf", "!\n"))
	says("key acl.conf of ConfigMap leaf-acl: it configures nothing")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "hostname leaf\n"+strings.Repeat("access-list a deny any\n", 8<<10)))).To(Succeed())
	says("two configurations of the device of bed frr have")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "hostname leaf\naccess-list a deny {{address}}\n"))).To(Succeed())
	w.changeBed("frr", func(bed *v1alpha1.TestBed) {
		bed.Spec.Device.Variants[1].Containerlab.Parameters = []v1alpha1.DeviceParameter{
			{Name: "other", Default: "1", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"1"}}},
		}
	})
	says("the configuration of variant acl has {{address}}, and the variant has no such parameter")
	w.changeBed("frr", func(bed *v1alpha1.TestBed) {
		c := bed.Spec.Device.Containerlab.Configuration
		c.Platform, c.Files, c.Reload = v1alpha1.NodePlatformFiles, []string{"/etc/a"}, "true"
		bed.Spec.Device.Variants[1].Containerlab.Parameters = nil
	})
	says("want an object in YAML with the text of each file")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf", "base.conf", "/etc/a: a\n"))).To(Succeed())
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "/etc/b: b\n"))).To(Succeed())
	says("/etc/b: Unsupported value: the files of the device are /etc/a")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "/etc/a: b\n"))).To(Succeed())
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed("frr").Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue())
}

// The broken samples have the other messages of the API server.
func nodeRefused(w *world) {
	bed := modelled("sim")
	bed.Spec.Device.Variants = node("frr").Spec.Device.Variants
	w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring("device.variants gives containerlab, and the device is not of containerlab")))
	bed = node("frr")
	bed.Spec.Device.Containerlab.Configuration.ConfigMapRef.Name = ""
	w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring("spec.device.containerlab.configuration.configMapRef.name")))
	create(w.t, w.c, node("frr"))
}

package controllers_test

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestManagement has beds whose devices NoDrop configures.
func TestManagement(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"each variant, and the base at the end":          configuresVariants,
		"a value of a benchmark":                         configuresValues,
		"the base alone":                                 configuresBase,
		"a device that rejects a line":                   deviceRejects,
		"a device that cannot be restored":               deviceStaysDifferent,
		"a bed that is deleted while its device differs": bedGoesWhileConfigured,
		"the pod that configured the device is deleted":  configuringPodGoes,
		"two beds with one device":                       bedsOfOneDevice,
		"what is missing":                                managementIncomplete,
		"what the API server refuses":                    managementRefused,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

const (
	deviceAddress = "192.0.2.1:22"
	baseText      = "hostname leaf\n"
	aclText       = "hostname leaf\naccess-list a deny any\n"
	// refusing is in place of the configuration of a device that accepts no user.
	refusing = "refusing"
)

// managed is a bed with a device that is configured in two variants.
func managed(name string) *v1alpha1.TestBed {
	return physical(name, func(bed *v1alpha1.TestBed) {
		bed.Spec.Device.Physical.Management = objects.Managed("leaf", deviceAddress, "base.conf")
		bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{
			{Name: "plain"},
			{Name: "acl", Physical: &v1alpha1.PhysicalVariant{Configuration: v1alpha1.DeviceConfigurationSource{ConfigMapRef: reference("leaf-acl", "acl.conf")}}},
		}
	})
}

// deviceAccess is the Secret by which the device is reached.
func deviceAccess(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: labNamespace}, Type: v1alpha1.DeviceAccessSecretType,
		StringData: map[string]string{"user": "lab", "password": "do-not-show", "hostKeys": "ssh-ed25519 AAAA"},
	}
}

// createManaged makes a managed bed with all that it needs.
func (w *world) createManaged(bed *v1alpha1.TestBed) {
	w.t.Helper()
	create(w.t, w.c, configMap("leaf", "base.conf", baseText), configMap("leaf-acl", "acl.conf", aclText), deviceAccess("leaf"), bed, profile())
}

// configure gives a device the configuration that a pod has.
func (k *fakeKubelet) configure(ctx context.Context, pod *corev1.Pod) error {
	args := pod.Spec.Containers[0].Args
	arg := func(name string) string { return args[slices.Index(args, name)+1] }
	if slices.Contains(args, "compare") {
		return k.compare(ctx, pod, arg("--address"), slices.Contains(args, "--restore"))
	}
	sec := &corev1.Secret{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Spec.Volumes[0].Secret.SecretName}, sec); err != nil {
		return err
	}
	text := string(sec.Data[path.Base(arg("--configuration"))])
	before := k.devices[arg("--address")]
	k.devices[arg("--address")] = text
	dialect := sshcli.FRR.Dialect
	record := configure.Record{Before: parsed(before), BeforeDigest: digestOf(before), AfterDigest: digestOf(text), Sessions: 1}
	message, err := json.Marshal(record.Summary(dialect, parsed(string(sec.Data["base.conf"]))))
	if err != nil {
		return err
	}
	succeeded(pod)
	pod.Status.ContainerStatuses[0].State.Terminated.Message = string(message)
	return nil
}

// compare compares a device with the base that a pod has, or restores it.
func (k *fakeKubelet) compare(ctx context.Context, pod *corev1.Pod, address string, restore bool) error {
	base := &corev1.ConfigMap{}
	volume := pod.Spec.Volumes[0].ConfigMap
	if err := k.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: volume.Name}, base); err != nil {
		return err
	}
	text, dialect := base.Data[volume.Items[0].Key], sshcli.FRR.Dialect
	have, reached := k.devices[address]
	var failure error
	switch {
	case !reached:
		failure = configure.ErrUnreachable
	case have == refusing:
		failure = configure.ErrRefused
	case restore:
		k.devices[address] = text
		have = text
	}
	message, err := json.Marshal(configure.Compare(dialect, parsed(text), parsed(have), failure))
	if err != nil {
		return err
	}
	succeeded(pod)
	pod.Status.ContainerStatuses[0].State.Terminated.Message = string(message)
	return nil
}

// set gives a device a configuration by hand; none makes it unreachable.
func (k *fakeKubelet) set(address, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.devices[address] = text; text == "" {
		delete(k.devices, address)
	}
}

// TestDeviceHealth has beds whose devices are compared with their bases.
func TestDeviceHealth(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a device that was changed by hand":    changedByHand,
		"a device that cannot be reached":      deviceUnreachable,
		"a device that refuses the password":   deviceRefuses,
		"a base that is changed to the device": baseFollows,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server, probing)) })
	}
}

// isReady waits until a bed can be leased.
func (w *world) isReady(bed string) {
	w.t.Helper()
	w.Eventually(func() bool { return meta.IsStatusConditionTrue(w.bed(bed).Status.Conditions, v1alpha1.ConditionReady) }).Should(BeTrue(), "%s is ready", bed)
}

func changedByHand(w *world) {
	w.kubelet.set(deviceAddress, baseText)
	w.createManaged(managed("leaf"))
	w.isReady("leaf")
	w.kubelet.set(deviceAddress, aclText)
	w.pass(20 * time.Minute)
	message := w.closed("leaf", v1alpha1.ReasonConfigurationDiffers)
	w.Expect(message).To(And(ContainSubstring(`the device differs from its base: ["+ access-list a deny any"]`), ContainSubstring("kubectl annotate testbed leaf nodrop.dev/restore-base=yes")))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.says("b", v1alpha1.ConditionBedLeased, v1alpha1.ReasonBedNotReady)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(aclText), "nothing was changed without a person")

	bed := w.bed("leaf")
	before := bed.DeepCopy()
	metav1.SetMetaDataAnnotation(&bed.ObjectMeta, v1alpha1.AnnotationRestoreBase, "yes")
	w.Expect(w.c.Patch(w.t.Context(), bed, client.MergeFrom(before))).To(Succeed())
	w.pass(time.Minute)
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText))
	w.Eventually(func() map[string]string { return w.bed("leaf").Annotations }).ShouldNot(HaveKey(v1alpha1.AnnotationRestoreBase))
	w.Expect(w.runnerConfig("b").Configuration.Drift).To(BeEmpty())
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

func deviceUnreachable(w *world) {
	w.createManaged(managed("leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonDeviceUnreachable)).To(ContainSubstring("the configuration of the device cannot be read: the device cannot be reached"))
	w.kubelet.set(deviceAddress, baseText)
	w.pass(time.Minute)
	w.isReady("leaf")
}

// It is not asked again before the next probe.
func deviceRefuses(w *world) {
	w.kubelet.set(deviceAddress, refusing)
	w.createManaged(managed("leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonDeviceRefused)).To(ContainSubstring("correct Secret leaf"))
	w.kubelet.set(deviceAddress, baseText)
	w.pass(10 * time.Minute)
	asked := w.asked.Load()
	w.Eventually(w.asked.Load).Should(BeNumerically(">", asked+20), "times that the operator has looked at its clock")
	w.closed("leaf", v1alpha1.ReasonDeviceRefused)
	w.pass(10 * time.Minute)
	w.isReady("leaf")
}

// Who changes the base on purpose changes the device first, or lets it be restored.
func baseFollows(w *world) {
	w.kubelet.set(deviceAddress, aclText)
	w.createManaged(managed("leaf"))
	w.closed("leaf", v1alpha1.ReasonConfigurationDiffers)
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf", "base.conf", aclText))).To(Succeed())
	w.pass(time.Minute)
	w.isReady("leaf")
}

// parsed is a configuration of the device.
func parsed(text string) configure.Configuration {
	c, _ := sshcli.FRR.Dialect.Parse(text)
	return c
}

func digestOf(text string) string { return configure.Digest(parsed(text)) }

// device returns the configuration of a device.
func (k *fakeKubelet) device(address string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.devices[address]
}

func configuresVariants(w *world) {
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl", "plain")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(aclText))
	given := w.runnerConfig("b").Configuration
	w.Expect(given).To(HaveField("Digest", digestOf(aclText)))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionDeviceReady).Message).To(Equal("the device is configured"))
	up := w.pod("b", "device-up")
	w.Expect(up.Labels).To(HaveKeyWithValue(labobjects.LabelRole, labobjects.RoleConfigure), "the label by which the network policy selects it")
	w.noPasswordIn(b)

	w.measuresVariants(b, given, deviceAddress)
}

// measuresVariants has a benchmark of the variants acl and plain, whose device got the configuration of acl, measure both to its end.
func (w *world) measuresVariants(b *v1alpha1.Benchmark, given *v1alpha1.DeviceConfiguration, address string) {
	w.t.Helper()
	environment := func(c *v1alpha1.DeviceConfiguration, variant v1alpha1.VariantName) *v1alpha1.ResultEnvironment {
		e := &v1alpha1.ResultEnvironment{Engine: v1alpha1.EngineXDP, Variants: []v1alpha1.VariantEnvironment{{Name: "acl"}, {Name: "plain"}}}
		e.SetConfiguration(variant, c)
		return e
	}
	old := w.pod("b", "runner")
	w.kubelet.hold("runner")
	state := measured(rowOf("acl", 64))
	state.Environment = environment(given, "acl")
	w.runners.report(b, state)
	w.replaced(old)
	w.Expect(w.kubelet.device(address)).To(Equal(baseText), "what plain has")
	second := w.runnerConfig("b").Configuration
	w.Expect(second.Digest).To(Equal(digestOf(baseText)))
	state = measured(rowOf("acl", 64), rowOf("plain", 64))
	state.Environment = environment(second, "plain")
	w.runners.report(b, state)
	w.letGo("b", "runner")
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.kubelet.device(address)).To(Equal(baseText))
	w.bedIsClean(b.Status.TestBedName)
	w.Expect(w.stored(b).Environment.Configurations()).To(Equal(map[v1alpha1.VariantName]*v1alpha1.DeviceConfiguration{"acl": given, "plain": second}))
}

// noPasswordIn looks for the password in all that a run makes.
func (w *world) noPasswordIn(b *v1alpha1.Benchmark) {
	w.t.Helper()
	var pods corev1.PodList
	var secrets corev1.SecretList
	w.Expect(w.c.List(w.t.Context(), &pods, client.InNamespace(labNamespace))).To(Succeed())
	w.Expect(w.c.List(w.t.Context(), &secrets, client.InNamespace(labNamespace), client.HasLabels{labobjects.LabelUID})).To(Succeed())
	text, err := json.Marshal([]any{b, pods.Items, w.bed(b.Status.TestBedName)})
	w.Expect(err).NotTo(HaveOccurred())
	for _, s := range secrets.Items {
		for _, value := range s.Data {
			text = append(text, value...)
		}
	}
	w.Expect(string(text)).NotTo(ContainSubstring("do-not-show"))
}

// addressParameter lets benchmarks choose an address in the variant acl.
func addressParameter(bed *v1alpha1.TestBed) {
	bed.Spec.Device.Variants[1].Physical.Parameters = []v1alpha1.DeviceParameter{
		{Name: "address", Default: "198.18.0.1", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"198.18.0.1", "198.18.0.2", "198.18.0.3"}}},
	}
}

// configuresValues has no webhook: what a grant does not allow waits without a bed, and never reaches the device.
func configuresValues(w *world) {
	bed := managed("leaf")
	addressParameter(bed)
	bed.Spec.Access[0].DeviceParameters = []v1alpha1.ParameterGrant{{Name: "address", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"198.18.0.1", "198.18.0.2"}}}}
	const text = "hostname leaf\naccess-list a deny {{address}}\n"
	create(w.t, w.c, configMap("leaf", "base.conf", baseText), configMap("leaf-acl", "acl.conf", text), deviceAccess("leaf"), bed, profile())
	with := func(value v1alpha1.ParameterValue) func(*v1alpha1.Benchmark) {
		return func(b *v1alpha1.Benchmark) {
			b.Spec.Variants = []v1alpha1.VariantName{"acl"}
			b.Spec.DeviceParameters = []v1alpha1.ChosenParameter{{Name: "address", Value: value}}
		}
	}
	create(w.t, w.c, benchmark("beyond", "leaf", with("198.18.0.3")))
	c := w.says("beyond", v1alpha1.ConditionAccepted, v1alpha1.ReasonNotAccepted)
	w.Expect(c.Message).To(ContainSubstring("has the parameter address with one of 198.18.0.1, 198.18.0.2"))
	create(w.t, w.c, benchmark("b", "leaf", with("198.18.0.2")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal("hostname leaf\naccess-list a deny 198.18.0.2\n"))
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText))
}

func configuresBase(w *world) {
	w.kubelet.devices[deviceAddress] = aclText
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText))
	w.Expect(w.runnerConfig("b").Configuration).To(And(HaveField("Digest", digestOf(baseText)), HaveField("Before", digestOf(aclText)), HaveField("Drift", Equal([]string{"+ access-list a deny any"}))))
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

func deviceRejects(w *world) {
	w.kubelet.fail("device-up")
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl")))
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("the device was not configured: Error: node dut"))
	w.Expect(w.pod("b", "runner")).To(BeNil())
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText), "the device was restored")
	w.bedIsClean("leaf")
}

// The bed is closed until its owner has looked at the device; then the base is restored.
func deviceStaysDifferent(w *world) {
	w.kubelet.fail("device-down")
	w.impatient(shortCleanUp)
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl")), benchmark("next", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.closed("leaf", v1alpha1.ReasonBedQuarantined)
	quarantined := meta.FindStatusCondition(w.bed("leaf").Status.Conditions, v1alpha1.ConditionQuarantined)
	w.Expect(quarantined.Message).To(ContainSubstring("the base configuration of the device"))
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(aclText))

	w.kubelet.mu.Lock()
	delete(w.kubelet.failing, "device-down")
	w.kubelet.mu.Unlock()
	w.impatient(func(d *kit.Deadlines) { d.CleanUp = patience })
	bed := w.bed("leaf")
	before := bed.DeepCopy()
	metav1.SetMetaDataAnnotation(&bed.ObjectMeta, v1alpha1.AnnotationReleaseQuarantine, "yes")
	w.Expect(w.c.Patch(w.t.Context(), bed, client.MergeFrom(before))).To(Succeed())
	w.reaches("next", v1alpha1.PhaseRunning)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText))
}

// What it takes to restore the device is kept with the run, and not with the bed.
func bedGoesWhileConfigured(w *world) {
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl")))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	for _, o := range []client.Object{w.bed("leaf"), configMap("leaf", "", ""), configMap("leaf-acl", "", "")} {
		w.Expect(w.c.Delete(w.t.Context(), o)).To(Succeed())
	}
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(baseText))
	w.Eventually(w.leftovers).Should(BeEmpty())
}

func configuringPodGoes(w *world) {
	w.kubelet.hold("agent-0")
	w.createManaged(managed("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl")))
	w.appears("b", "agent-0")
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "device-up"), client.GracePeriodSeconds(0))).To(Succeed())
	w.letGo("b", "agent-0")
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Configuration).To(And(HaveField("Digest", digestOf(aclText)), HaveField("Before", digestOf(aclText))), "it was configured once more")
}

// They have other ports, and no benchmark of one configures the device while the other is measured.
func bedsOfOneDevice(w *world) {
	other := managed("other")
	for i, iface := range []string{"eth3", "eth4"} {
		other.Spec.Ports[i].Attachment = objects.HostDevice(iface)
	}
	w.createManaged(managed("leaf"))
	create(w.t, w.c, other, benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("c", "other"))
	w.reaches("c", v1alpha1.PhaseQueued)
	w.Consistently(func() *v1alpha1.BedLease { return w.bed("other").Status.Lease }, "1s").Should(BeNil(), "the lease of the other bed")
	w.Expect(kit.Shared(w.bed("leaf"), w.bed("other"))).To(Equal("device at 192.0.2.1:22"))
	w.runners.report(b, measured(row(64)))
	w.reaches("c", v1alpha1.PhaseRunning)
}

func managementIncomplete(w *world) {
	create(w.t, w.c, managed("leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonBedInvalid)).To(ContainSubstring("ConfigMap leaf is not in the lab's namespace"))
	create(w.t, w.c, configMap("leaf", "base.conf", baseText), configMap("leaf-acl", "acl.conf", "!\n"))
	says := func(text string) {
		w.t.Helper()
		w.Eventually(func() string { return w.closed("leaf", v1alpha1.ReasonBedInvalid) }).Should(ContainSubstring(text))
	}
	says("key acl.conf of ConfigMap leaf-acl: it configures nothing")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "hostname leaf\n"+strings.Repeat("access-list a deny any\n", 8<<10)))).To(Succeed())
	says("two configurations of the device of bed leaf have")
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "hostname leaf\naccess-list a deny {{address}}\n"))).To(Succeed())
	w.changeBed("leaf", addressParameter)
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", "hostname leaf\naccess-list a deny any\n"))).To(Succeed())
	says("the configuration of variant acl has no {{address}}")
	w.changeBed("leaf", func(bed *v1alpha1.TestBed) { bed.Spec.Device.Variants[1].Physical.Parameters = nil })
	w.Expect(w.c.Update(w.t.Context(), configMap("leaf-acl", "acl.conf", aclText))).To(Succeed())
	says("has no Secret leaf of type nodrop.dev/device")
	wrong := deviceAccess("leaf")
	wrong.Type = corev1.SecretTypeOpaque
	create(w.t, w.c, wrong)
	w.Consistently(func() string { return w.closed("leaf", v1alpha1.ReasonBedInvalid) }, "1s").Should(ContainSubstring("has no Secret leaf of type"))
	w.Expect(w.c.Delete(w.t.Context(), wrong)).To(Succeed())
	create(w.t, w.c, deviceAccess("leaf"))
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed("leaf").Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue())
}

func managementRefused(w *world) {
	for want, change := range map[string]func(*v1alpha1.TestBed){
		`"leaf" is not an address: give host:port`:                func(b *v1alpha1.TestBed) { b.Spec.Device.Physical.Management.SSH.Address = "leaf" },
		`Unsupported value: "ios"`:                                func(b *v1alpha1.TestBed) { b.Spec.Device.Physical.Management.SSH.Platform = "ios" },
		"exactly one of the fields in [ssh gnmi] must be set":     func(b *v1alpha1.TestBed) { b.Spec.Device.Physical.Management.SSH = nil },
		"portGroup and device.physical.management are both given": func(b *v1alpha1.TestBed) { b.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf"} },
		"management and configurationDigest are both given":       func(b *v1alpha1.TestBed) { b.Spec.Device.Physical.ConfigurationDigest = "sha256:1" },
		"give physical.management":                                func(b *v1alpha1.TestBed) { b.Spec.Device.Physical.Management = nil },
		"device.variants gives simulated, and the device is not simulated": func(b *v1alpha1.TestBed) {
			b.Spec.Device.Variants[1] = v1alpha1.DeviceVariant{Name: "x", Simulated: &v1alpha1.SimulatedVariant{Behaviour: &v1alpha1.SimulatedBehaviour{}}}
		},
	} {
		bed := managed("leaf")
		change(bed)
		w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring(want)))
	}
	bed := modelled("sim")
	bed.Spec.Device.Variants = managed("leaf").Spec.Device.Variants
	w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring("device.variants gives physical, and the device is not physical: give simulated in its place")))
}

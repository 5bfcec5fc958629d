package histories

import (
	"context"
	"encoding/json"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// managedBed is a bed with a device that is configured, for some benchmarks in the variant aclVariant.
const (
	managedBed = "leaf"
	aclVariant = v1alpha1.VariantName("acl")
)

// deviceText is the configuration of the device.
type deviceText string

const (
	baseText deviceText = "hostname leaf\n"
	aclText  deviceText = "hostname leaf\naccess-list a deny any\n"
	// partText is a part of two configurations: a pod has begun to enter commands.
	partText deviceText = "access-list a\n"
)

func managed(name string) *v1alpha1.TestBed {
	bed := virtual(name)
	management := objects.Managed(name, "192.0.2.1:22", "base.conf")
	management.SSH.Platform, management.SSH.Resets, management.SSH.Scales = v1alpha1.PlatformEOS, deviceResets(), deviceScales()
	bed.Spec.Hooks = leaseHooks()
	bed.Spec.Device = v1alpha1.Device{
		Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one", Management: management},
		Variants: []v1alpha1.DeviceVariant{{Name: aclVariant, Physical: &v1alpha1.PhysicalVariant{
			Configuration: v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "acl", Key: "acl.conf"}},
		}}},
	}
	for i := range bed.Spec.Ports {
		bed.Spec.Ports[i].Attachment = objects.HostDevice(name + "-" + bed.Spec.Ports[i].Name)
	}
	return bed
}

func accessToDevice() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: managedBed, Namespace: labNamespace}, Type: v1alpha1.DeviceAccessSecretType}
}

// configure lets a pod go on that configures the device: it begins, which leaves the device with a part of what it
// enters, and after a while it is done. It reports whether the status of the pod is new. A sick one
// never ends.
func (l *fakeLab) configure(ctx context.Context, pod *corev1.Pod, sick bool) bool {
	if pod.Status.Phase != corev1.PodRunning {
		l.check.seeConfigureBegin(pod)
		l.check.setDevice(partText)
		pod.Status.Phase = corev1.PodRunning
		return true
	}
	if sick || l.since(l.entered, pod) < 3*l.delay(pod, "enter") {
		return false
	}
	sec := &corev1.Secret{}
	if l.Get(ctx, client.ObjectKey{Namespace: labNamespace, Name: pod.Spec.Volumes[0].Secret.SecretName}, sec) != nil {
		return false
	}
	args := pod.Spec.Containers[0].Args
	text := deviceText(sec.Data[path.Base(args[slices.Index(args, "--configuration")+1])])
	if l.defect != baseStaysAway || roleOf(pod) == "device-up" {
		l.check.setDevice(text)
	}
	l.check.countConfigured()
	message, err := json.Marshal(v1alpha1.DeviceConfiguration{Digest: string(text), Sessions: 1})
	if err != nil {
		panic(err)
	}
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "configure", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(message)}},
	}}
	return true
}

// loseConfiguring takes a pod away that has begun to configure the device.
func (w *world) loseConfiguring(ctx context.Context, e event) {
	if pod := w.loseRunning(ctx, labobjects.RoleConfigure, e); pod != nil {
		w.check.allow(w.check.keyOf(pod.Labels[labobjects.LabelUID]).Name, v1alpha1.PhaseError) // It is tried once.
	}
}

func (c *checker) setDevice(text deviceText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.device = text
}

func (c *checker) countConfigured() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.configured++
}

// seeLost counts a pod that had begun to configure a device, and did not end. The caller holds the lock.
func (c *checker) seeLost(pod *corev1.Pod) {
	switch role := pod.Labels[labobjects.LabelRole]; {
	case pod.Status.Phase == corev1.PodSucceeded:
	case role == labobjects.RoleConfigure && c.device == partText:
		c.broken++
	case role == labobjects.RoleDevice && c.beds[pod.Labels[labobjects.LabelUID]] == nodeBed && c.node.text == partText:
		c.node.broken++
	}
}

// variantOf returns the variant that a benchmark measures.
func (c *checker) variantOf(uid string) v1alpha1.VariantName {
	c.mu.Lock()
	defer c.mu.Unlock()
	if spec := c.specs[uid]; spec != nil && len(spec.Variants) > 0 {
		return spec.Variants[0]
	}
	return ""
}

// wanted returns the configuration that the device has while a benchmark is measured. The caller holds the lock.
func (c *checker) wanted(uid string) deviceText {
	if spec := c.specs[uid]; spec != nil && slices.Contains(spec.Variants, aclVariant) {
		return aclText
	}
	return baseText
}

package labobjects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/lab/bedprobe"
)

// AnnotationProbe of a pod names the probe that it belongs to.
const AnnotationProbe = "nodrop.dev/probe"

// labelBed holds the UID of the bed that a pod probes.
const labelBed = "nodrop.dev/bed-uid"

// terminationLog is the file whose content becomes the termination message of a container.
const terminationLog = "/dev/termination-log"

// ProbedNode contains the ports of a bed on one node whose interfaces are probed.
type ProbedNode struct {
	// Index counts the nodes from 0.
	Index int
	// Node that has the interfaces; empty for the device itself, which is compared with its base
	// configuration.
	Node string
	// Ports with an interface of the node.
	Ports []bedprobe.Port
}

// IsDevice reports whether the device itself is probed.
func (n ProbedNode) IsDevice() bool { return n.Node == "" }

func (n ProbedNode) String() string {
	if n.IsDevice() {
		return "the device"
	}
	return "node " + n.Node
}

// ProbedNodes returns the nodes on which a bed is probed, with the interfaces that its ports name.
// None for a bed whose device is started or modeled for a benchmark, as its interfaces are then
// made with the device. Ports of a device plugin or a claim have no interface before a pod has it.
func ProbedNodes(bed *v1alpha1.TestBed) []ProbedNode {
	if d := device.Of(bed.Spec.Device); !d.Cabled && !d.Absent {
		return nil
	}
	var nodes []ProbedNode
	for _, a := range Agents(bed) {
		n := ProbedNode{Index: a.Index, Node: a.Node}
		for _, p := range a.Ports {
			if p.Attachment == nil || p.Attachment.HostDevice == nil {
				continue
			}
			speed, err := p.Speed.BitsPerSecond()
			if err != nil {
				continue // Other checks report it.
			}
			n.Ports = append(n.Ports, bedprobe.Port{Name: p.Name, Interface: p.Attachment.HostDevice.Interface, Megabits: speed / 1e6})
		}
		if len(n.Ports) > 0 {
			nodes = append(nodes, n)
		}
	}
	if bed.Spec.Device.Management() != nil {
		nodes = append(nodes, ProbedNode{Index: len(Agents(bed))})
	}
	return nodes
}

// Digest identifies what is probed of a bed.
func Digest(bed *v1alpha1.TestBed, nodes []ProbedNode) string {
	described := fmt.Appendf(nil, "%s %#v", device.Of(bed.Spec.Device).Kind, nodes)
	if m := bed.Spec.Device.Management(); m != nil {
		described = fmt.Appendf(described, " %s %s %s %v", m.Platform(), m.Address(), m.SecretName, m.Configuration)
	}
	sum := sha256.Sum256(described)
	return hex.EncodeToString(sum[:8])
}

// ProbePodName is the name of the pod that probes a bed on a node.
func ProbePodName(bed *v1alpha1.TestBed, index int) string {
	return fmt.Sprintf("%s-%s-%d", Run{UID: string(bed.UID)}.Prefix(), RoleProbe, index)
}

// ProbeSelector selects the pods that probe a bed.
func ProbeSelector(bed *v1alpha1.TestBed) map[string]string {
	return map[string]string{labelBed: string(bed.UID)}
}

// ProbePod reads the interfaces of a bed's ports on their node. It has the network of the node,
// since the interfaces stay there: moving one takes its link down, which the device would see.
// It has no capability, no token and no volume, and ends by itself. The bed owns it.
func ProbePod(s Settings, bed *v1alpha1.TestBed, n ProbedNode, probe string, deadlineSeconds int64) *corev1.Pod {
	args := []string{"bed-probe", "--answer", terminationLog}
	if device.Of(bed.Spec.Device).Absent {
		args = append(args, "--ignore-links")
	}
	for _, p := range n.Ports {
		args = append(args, p.String())
	}
	pod := probePod(s, bed, n, probe, deadlineSeconds, RoleProbe)
	pod.Spec.HostNetwork = true
	pod.Spec.Affinity = onNode(n.Node)
	pod.Spec.Containers = []corev1.Container{{
		Name:                     RoleProbe,
		Image:                    s.Image,
		ImagePullPolicy:          s.PullPolicy,
		Args:                     args,
		Resources:                sharing("10m", "16Mi", "128Mi"),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	return pod
}

// probePod has all of a probe but its container.
func probePod(s Settings, bed *v1alpha1.TestBed, n ProbedNode, probe string, deadlineSeconds int64, role string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ProbePodName(bed, n.Index), Namespace: s.Namespace,
			Labels: map[string]string{
				"app.kubernetes.io/name":       "nodrop",
				"app.kubernetes.io/managed-by": "nodrop-operator",
				"app.kubernetes.io/component":  role,
				LabelRole:                      role,
				labelBed:                       string(bed.UID),
			},
			Annotations: map[string]string{AnnotationProbe: probe},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "TestBed", Name: bed.Name, UID: bed.UID,
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         ptr(deadlineSeconds),
			AutomountServiceAccountToken:  ptr(false),
			EnableServiceLinks:            ptr(false),
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Tolerations:                   tolerations(),
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// ProbeAnswer returns what a pod that has ended found.
func ProbeAnswer(pod *corev1.Pod) (bedprobe.Answer, error) {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return bedprobe.Decode(t.Message)
		}
	}
	return bedprobe.Decode("")
}

package histories

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// nodeBed is a bed whose topology starts a node that NoDrop configures, for some benchmarks in the variant aclVariant. It shares its
// interfaces with a bed whose topology has no configuration.
const nodeBed = "frr2"

// destroyed is the configuration of a node whose topology does not run.
const destroyed deviceText = ""

// node is the node of nodeBed.
type node struct {
	// text is its configuration.
	text deviceText
	// lost are the runs whose topology ended with the node of the cluster, by attemptName.
	lost map[string]bool
	// started counts topologies with a configured node, and broken the pods that were lost while they started or destroyed one.
	started, broken int
}

// configuredNode is nodeBed.
func configuredNode(name string) *v1alpha1.TestBed {
	bed := virtual(name)
	list := v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "acl", Key: "acl.conf"}}
	bed.Spec.Device.Containerlab.Configuration = objects.NodeConfiguration(v1alpha1.NodePlatform(v1alpha1.PlatformFRR), managedBed, "base.conf")
	bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: aclVariant, Containerlab: &v1alpha1.ContainerlabVariant{Configuration: &list}}}
	return bed
}

// nodeOf returns the configurations that a pod mounts which starts or destroys a topology; nil if NoDrop does not configure its node.
func (l *fakeLab) nodeOf(ctx context.Context, pod *corev1.Pod) *device.Node {
	if pod.Labels[labobjects.LabelRole] != labobjects.RoleDevice {
		return nil
	}
	sec := &corev1.Secret{}
	if l.Get(ctx, client.ObjectKey{Namespace: labNamespace, Name: pod.Spec.Volumes[0].Secret.SecretName}, sec) != nil || !labobjects.IsNodeConfigured(sec) {
		return nil
	}
	text, err := runner.Decompress(sec.Data["configuration.json.zst"])
	if err != nil {
		panic(err)
	}
	n := &device.Node{}
	if err := json.Unmarshal(text, n); err != nil {
		panic(err)
	}
	return n
}

// deploy lets a pod go on that starts or destroys a topology: it begins, which leaves a node with a part of its configuration, and after a
// while it is done. It reports whether the status of the pod is new.
func (l *fakeLab) deploy(pod *corev1.Pod, n *device.Node) bool {
	if pod.Status.Phase != corev1.PodRunning {
		l.check.setNodeText(partText)
		pod.Status.Phase = corev1.PodRunning
		return true
	}
	if l.since(l.entered, pod) < 3*l.delay(pod, "enter") {
		return false
	}
	started := device.Started{Placement: device.Placement{Tester: []int{0}, Device: []int{1}}}
	if roleOf(pod) == "device-up" {
		text := deviceText(n.Wanted)
		if l.defect == nodeKeepsBase {
			text = deviceText(n.Base)
		}
		l.check.startNode(text)
		started.Configuration = &v1alpha1.DeviceConfiguration{Digest: n.Wanted, Sessions: 1}
	} else if l.defect != topologyStays {
		l.check.setNodeText(destroyed)
	}
	message, err := json.Marshal(started)
	if err != nil {
		panic(err)
	}
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "device", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(message)}},
	}}
	return true
}

// deployLate ends the process of a pod that is being deleted: one of two topologies runs by then.
func (l *fakeLab) deployLate(ctx context.Context, pod *corev1.Pod) {
	if n := l.nodeOf(ctx, pod); n != nil && roleOf(pod) == "device-up" && pod.Status.Phase == corev1.PodRunning && l.delay(pod, "late") < 3*l.unit {
		l.check.setNodeText(deviceText(n.Wanted))
	}
}

func (c *checker) setNodeText(text deviceText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node.text = text
}

func (c *checker) startNode(text deviceText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node.text = text
	c.node.started++
}

// loseNode ends the topology when the node of the cluster restarts: no container of it starts again.
func (c *checker) loseNode() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.node.text == destroyed {
		return
	}
	c.node.text = destroyed
	for uid, bed := range c.beds {
		if b := c.last[uid]; bed == nodeBed && b != nil {
			c.node.lost[attemptName(uid, c.attempts[uid])] = true
			c.allowed[b.Name] = append(c.allowed[b.Name], v1alpha1.PhaseError)
		}
	}
}

// nodeIsLost reports whether the topology of a run ended with the node of the cluster: its runner finds no neighbor.
func (c *checker) nodeIsLost(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.node.lost[attemptName(uid, c.attempts[uid])]
}

// seeNodeMeasured judges that the node has the configuration of a run when a runner begins. The caller holds the lock.
func (c *checker) seeNodeMeasured(uid string) {
	if want := c.wanted(uid); c.beds[uid] == nodeBed && c.node.text != want {
		c.violated("a runner of %s began while the node has %q, want %q", uid, c.node.text, want)
	}
}

// seeNodeReturned judges that the topology is destroyed when the bed is given back. The caller holds the lock.
func (c *checker) seeNodeReturned(bed, uid string) {
	if bed == nodeBed && c.node.text != destroyed {
		c.violated("bed %s was given back by %s while its topology runs, and its node has %q", bed, uid, c.node.text)
	}
}

// loseDeploying takes a pod away that has begun to start or destroy a topology.
func (w *world) loseDeploying(ctx context.Context, e event) {
	if pod := w.loseRunning(ctx, labobjects.RoleDevice, e); pod != nil {
		w.check.allow(w.check.keyOf(pod.Labels[labobjects.LabelUID]).Name, v1alpha1.PhaseError) // It is tried once.
	}
}

package doctor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

// Seen is a value that was read, or the reason why it could not be read.
type Seen[T any] struct {
	Value T
	// Unknown is the reason why there is no value, with advice; empty when there is one.
	Unknown Reason
}

// Reason why something is not known.
type Reason struct {
	// Why, such as "you may not list nodes".
	Why string
	// Advice describes how to make it visible.
	Advice string
}

// Known returns what was seen.
func Known[T any](value T) Seen[T] { return Seen[T]{Value: value} }

// NotSeen returns a value that is not known.
func NotSeen[T any](why, advice string) Seen[T] {
	return Seen[T]{Unknown: Reason{Why: why, Advice: advice}}
}

// IsKnown reports whether there is a value.
func (s Seen[T]) IsKnown() bool { return s.Unknown == Reason{} }

// Facts are everything that is judged.
type Facts struct {
	// Bed that is checked; nil for the whole cluster.
	Bed *v1alpha1.TestBed
	// Lab is the lab's namespace, and Namespace the operator's.
	Lab, Namespace string
	// Kubernetes is the version of the API server, such as v1.36.3.
	Kubernetes Seen[string]
	// Kinds are the resources that the API server serves, as group/version/resource,
	// of the groups nodrop.dev, k8s.cni.cncf.io and resource.k8s.io.
	Kinds Seen[[]string]
	// Operator of NoDrop; nil where there is none.
	Operator Seen[*Operator]
	// Recorder of metrics; nil where there is none.
	Recorder Seen[*Recorder]
	// Multus are DaemonSets with that name.
	Multus Seen[[]DaemonSet]
	// Networks are the NetworkAttachmentDefinitions of the lab's namespace.
	Networks Seen[[]Network]
	// ClaimTemplates are the ResourceClaimTemplates of the lab's namespace.
	ClaimTemplates Seen[[]string]
	// DeviceClasses are the names of the DeviceClasses of dynamic resource allocation.
	DeviceClasses Seen[[]string]
	// Admission is, for each engine whose pods hold interfaces or the node, what the
	// API server says against such a pod in the lab's namespace; "" for nothing, and
	// NoLab when there is no such namespace.
	Admission map[Engine]Seen[string]
	// PoolResources are resources that a network or a bed of this cluster names.
	PoolResources []string
	// Started are the nodes on which a virtual device was up, with the benchmark that
	// measured it.
	Started Seen[map[string]string]
	// Nodes that are checked: those of the bed, or all.
	Nodes []Node
}

// NoLab is the refusal of pods when the lab's namespace does not exist.
const NoLab = "the namespace does not exist"

// Operator of NoDrop.
type Operator struct {
	// Ready and Replicas are numbers of its pods.
	Ready, Replicas int32
	// TRexImage that it was installed with; "" for none.
	TRexImage string
}

// Recorder of metrics.
type Recorder struct {
	// Ready reports whether its pod is.
	Ready bool
	// State is the last state of its spool that it logged; nil if it logged none.
	State *recorder.State
}

// DaemonSet and how many of its pods are ready.
type DaemonSet struct {
	Name           string
	Ready, Desired int32
}

// Network is a NetworkAttachmentDefinition, with the resource of a device plugin
// that it is for, if any.
type Network struct {
	Name, Resource string
}

// Node of the cluster.
type Node struct {
	// Name of the node.
	Name string
	// Absent reports whether a bed names it and the cluster does not have it.
	Absent bool
	// Info is the kubelet's description of the node.
	Info corev1.NodeSystemInfo
	// NotReady is the reason why the node is not ready; "" when it is ready.
	NotReady string
	// Unschedulable reports whether the node was cordoned.
	Unschedulable bool
	// Taints of the node.
	Taints []corev1.Taint
	// Allocatable contains the resources that pods can use on the node.
	Allocatable corev1.ResourceList
	// Drivers of dynamic resource allocation that offer devices there.
	Drivers Seen[[]string]
	// Kubelet is its configuration.
	Kubelet Seen[Kubelet]
	// Probe is the result of the probe pod on the node.
	Probe Seen[probe.Node]
	// Attached is the reason why a pod cannot have the interfaces of the bed's ports on the
	// node, "" if it can; nil if no pod tried.
	Attached *Seen[string]
}

// Kubelet is the part of a kubelet's configuration that engines depend on.
type Kubelet struct {
	CPUManagerPolicy      string `json:"cpuManagerPolicy"`
	TopologyManagerPolicy string `json:"topologyManagerPolicy"`
}

// serves reports whether the API server serves a resource, in any version.
func (f Facts) serves(group, resource string) bool {
	return slices.ContainsFunc(f.Kinds.Value, func(kind string) bool {
		g, r := cutKind(kind)
		return g == group && r == resource
	})
}

package labobjects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// agentMemoryLimit bounds an agent of the engine xdp. BPF maps count as its memory:
// 22.4 KiB for each stream that a port receives. The engine takes streams for up to a
// quarter of the limit, which 65,536 streams fit into, the most that it numbers.
const agentMemoryLimit = "6Gi"

// storageLimit bounds what a container leaves on the node: its log, and its share of
// volumes. The kubelet keeps 50 MiB of a log by default.
const storageLimit = "256Mi"

// own lets the only container of a pod have whole processors for itself: the pod is of
// the class Guaranteed then, which takes limits of processors and memory that are what is
// requested.
func own(r *corev1.ResourceRequirements, cpus resource.Quantity) {
	if cpus.IsZero() {
		return
	}
	r.Requests[corev1.ResourceCPU], r.Limits[corev1.ResourceCPU] = cpus, cpus
	r.Requests[corev1.ResourceMemory] = r.Limits[corev1.ResourceMemory].DeepCopy()
}

// sharing are the resources of a container that shares the processors of the node.
//
// No container has a CPU limit, except where the limit is what assigns it processors
// exclusively. A limit is kept by halting the container until the next period of 100 ms: an
// agent would send less than intended, and the trial would measure the limit. The
// runner steps through trials by the clock, and a device is started by a deadline.
// Requests keep the shares of others.
//
// The storage request is 0: nodes that do not count storage offer none.
func sharing(cpu, memory, memoryLimit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			corev1.ResourceEphemeralStorage: resource.MustParse("0"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(memoryLimit), corev1.ResourceEphemeralStorage: resource.MustParse(storageLimit),
		},
	}
}

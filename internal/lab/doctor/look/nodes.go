package look

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
)

// kubeletTimeout bounds one request to a kubelet, which may be dead.
const kubeletTimeout = 10 * time.Second

// nodes returns the named nodes, else the nodes of the bed, else all nodes.
func (c *Cluster) nodes(ctx context.Context, bed *v1alpha1.TestBed, names []string) ([]doctor.Node, error) {
	if len(names) == 0 && bed != nil {
		for _, p := range bed.Spec.Ports {
			if p.Node != "" && !slices.Contains(names, p.Node) {
				names = append(names, p.Node)
			}
		}
		if len(names) == 0 {
			return nil, nil
		}
	}
	list, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, hint.With(fmt.Errorf("reading the nodes: %w", err), "ask the cluster's administrator for the right to list nodes: docs/cli.md has a ClusterRole for everything that doctor reads")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the nodes: %w", err)
	}
	drivers := c.drivers(ctx)
	var nodes []doctor.Node
	for i := range list.Items {
		node := &list.Items[i]
		if len(names) > 0 && !slices.Contains(names, node.Name) {
			continue
		}
		n := describe(node)
		n.Drivers = doctor.Seen[[]string]{Value: slices.Compact(slices.Sorted(slices.Values(drivers.Value[node.Name]))), Unknown: drivers.Unknown}
		n.Kubelet = c.kubelet(ctx, node.Name)
		nodes = append(nodes, n)
	}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n doctor.Node) bool { return n.Name == name }) {
			nodes = append(nodes, doctor.Node{Name: name, Absent: true})
		}
	}
	slices.SortFunc(nodes, func(a, b doctor.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

func describe(node *corev1.Node) doctor.Node {
	n := doctor.Node{
		Name: node.Name, Info: node.Status.NodeInfo, Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable,
		Allocatable: node.Status.Allocatable, NotReady: "its kubelet never reported that it is ready",
		Probe: doctor.NotSeen[probe.Node]("only a pod on the node can read this", "use --probe: a pod without privileges then reads each node"),
	}
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		n.NotReady = ""
		if c.Status != corev1.ConditionTrue {
			n.NotReady = c.Reason + ": " + c.Message
		}
	}
	return n
}

// kubelet reads the configuration that a kubelet runs with, through the API server.
func (c *Cluster) kubelet(ctx context.Context, node string) doctor.Seen[doctor.Kubelet] {
	ctx, cancel := context.WithTimeout(ctx, kubeletTimeout)
	defer cancel()
	text, err := c.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("configz").DoRaw(ctx)
	advice := "see cpuManagerPolicy and topologyManagerPolicy in /var/lib/kubelet/config.yaml of the node"
	switch {
	case apierrors.IsForbidden(err):
		return doctor.NotSeen[doctor.Kubelet]("you may not get nodes/proxy", "ask the cluster's administrator for the right to get nodes/proxy; or "+advice)
	case err != nil:
		return doctor.NotSeen[doctor.Kubelet]("the kubelet did not return its configuration: "+err.Error(), advice)
	}
	var answer struct {
		Config *doctor.Kubelet `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Config == nil {
		return doctor.NotSeen[doctor.Kubelet]("the kubelet's configuration has an unknown format", advice)
	}
	return doctor.Known(*answer.Config)
}

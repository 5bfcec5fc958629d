package look

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// attach starts a pod with the interfaces of the bed's ports on each node whose ports are
// devices, to find out whether device plugin, driver, Multus and CNI plugins work together.
func (c *Cluster) attach(ctx context.Context, p *Probe, bed *v1alpha1.TestBed, nodes []doctor.Node) {
	if p == nil || bed == nil {
		return
	}
	for _, agent := range labobjects.Agents(bed) {
		i := slices.IndexFunc(nodes, func(n doctor.Node) bool { return n.Name == agent.Node })
		if i < 0 || nodes[i].Absent || nodes[i].NotReady != "" || !slices.ContainsFunc(agent.Ports, isDevice) {
			continue
		}
		attached := doctor.NotSeen[string]("the bed is leased: its devices are in use", "ask again when the bed is free")
		if bed.Status.Lease == nil {
			attached = c.attachNode(ctx, *p, agent)
		}
		nodes[i].Attached = &attached
	}
}

// isDevice reports whether a port is a device of a device plugin or of a claim.
func isDevice(p v1alpha1.Port) bool {
	return p.Attachment != nil && (p.Attachment.SRIOV != nil || p.Attachment.ResourceClaim != nil)
}

// attachNode returns why a pod cannot have the interfaces; "" if it can.
func (c *Cluster) attachNode(ctx context.Context, p Probe, agent labobjects.Agent) doctor.Seen[string] {
	pod := c.probePod(p, agent.Node)
	if pod == nil {
		return doctor.NotSeen[string]("the operator, whose image the pod uses, was not found", "name an image with nodrop by --probe-image")
	}
	run := labobjects.Run{Namespace: c.lab, Name: "doctor", UID: string(uuid.NewUUID())}
	if err := labobjects.Attach(pod, run, agent); err != nil {
		return see("attach interfaces", "", err)
	}
	networks, err := labobjects.Networks(labobjects.Settings{Namespace: c.lab}, run, agent)
	if err != nil {
		return see("attach interfaces", "", err)
	}
	for _, n := range networks {
		n.SetLabels(pod.Labels)
		creating, created := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		err := c.objects.Create(creating, n)
		created()
		if isNotServed(err) {
			return doctor.Known("the API server does not serve network-attachment-definitions")
		}
		if err != nil {
			return see("create network-attachment-definitions in namespace "+c.lab, "", err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
			defer cancel()
			_ = client.IgnoreNotFound(c.objects.Delete(ctx, n))
		}()
	}
	return c.runAttached(ctx, p, pod, agent)
}

// runAttached runs the pod, and removes it before the networks go.
func (c *Cluster) runAttached(ctx context.Context, p Probe, pod *corev1.Pod, agent labobjects.Agent) doctor.Seen[string] {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	pods := c.kube.CoreV1().Pods(c.lab)
	creating, created := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	pod, err := pods.Create(creating, pod, metav1.CreateOptions{})
	created()
	if err != nil {
		return see("create pods in namespace "+c.lab, "", err)
	}
	name, uid := pod.Name, pod.UID
	defer c.removePod(context.WithoutCancel(ctx), p, name, uid)
	var problem string
	pod, err = c.waitForEnd(ctx, pod, func(ctx context.Context) bool {
		problem = c.sandboxProblem(ctx, name)
		return problem != ""
	})
	switch {
	case problem != "":
		return doctor.Known(problem)
	case err != nil && ctx.Err() != nil:
		return doctor.Known(fmt.Sprintf("a pod with the interfaces did not start within %s (%s)", p.Timeout, state(pod)))
	case err != nil:
		return see("get pods in namespace "+c.lab, "", err)
	}
	return doctor.Known(lacking(pod, agent.Ports))
}

// removePod deletes the pod with its usual grace period and waits until it is gone: its
// devices are then back on the node.
func (c *Cluster) removePod(ctx context.Context, p Probe, name string, uid types.UID) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout+requestTimeout)
	defer cancel()
	pods := c.kube.CoreV1().Pods(c.lab)
	_ = pods.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: new(int64(1))})
	_ = wait.PollUntilContextCancel(ctx, probePoll, true, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// repeated is the number of reports of the kubelet after which a problem counts: on a busy
// node the first attempt may fail for lack of time.
const repeated = 2

// sandboxProblem returns what the kubelet reports about the pod's network or claims, or the
// scheduler about its devices; "" while nothing is reported. Without the right to list events
// it is always "".
func (c *Cluster) sandboxProblem(ctx context.Context, pod string) string {
	events, err := c.kube.CoreV1().Events(c.lab).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.name": pod}.String(),
	})
	if err != nil {
		return ""
	}
	reports := int32(0)
	for _, e := range events.Items {
		switch e.Reason {
		case "FailedScheduling", "UnexpectedAdmissionError":
			return cause(e.Message)
		case "FailedCreatePodSandBox", "FailedPrepareDynamicResources":
			reports += max(e.Count, 1)
			if reports >= repeated {
				return cause(e.Message)
			}
		}
	}
	return ""
}

// cause shortens what the kubelet reports.
func cause(message string) string {
	message = labobjects.PluginProblem(message)
	const limit = 400
	if len(message) > limit {
		message = strings.ToValidUTF8(message[:limit], "") + " ..."
	}
	return message
}

// lacking returns which ports have no interface, if Multus was to give the pod some.
func lacking(pod *corev1.Pod, ports []v1alpha1.Port) string {
	var status []struct{ Interface string }
	text := pod.Annotations[labobjects.AnnotationStatus]
	_ = json.Unmarshal([]byte(text), &status)
	var none []string
	for _, p := range ports {
		if p.Attachment == nil || p.Attachment.ResourceClaim != nil {
			continue
		}
		if !slices.ContainsFunc(status, func(s struct{ Interface string }) bool { return s.Interface == p.Name }) {
			none = append(none, p.Name)
		}
	}
	switch {
	case len(none) == 0:
		return ""
	case text == "":
		return "Multus did not handle the pod: ports " + strings.Join(none, ", ") + " have no interface"
	}
	return "Multus reports no interface for the ports " + strings.Join(none, ", ")
}

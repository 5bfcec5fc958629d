package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
)

// Probe configures the pods that read the nodes.
type Probe struct {
	// Image with nodrop; "" for the operator's.
	Image string
	// Timeout of one node's pod, from its creation to its end.
	Timeout time.Duration
}

// Of pods that read nodes.
const (
	probesAtOnce   = 8
	probePoll      = 250 * time.Millisecond
	requestTimeout = 10 * time.Second // of those that an interrupt does not end
	logLimit       = 1 << 20
)

// probe reads all nodes that exist. A node that is not ready would start no pod.
func (c *Cluster) probe(ctx context.Context, p *Probe, nodes []doctor.Node) {
	if p == nil {
		return
	}
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for i := range nodes {
		switch {
		case nodes[i].Absent:
		case nodes[i].NotReady != "":
			nodes[i].Probe = doctor.NotSeen[probe.Node]("the node is not ready, and starts no pod", "repair the node first")
		default:
			group.Go(func() error {
				nodes[i].Probe = c.probeNode(ctx, *p, nodes[i].Name)
				return nil
			})
		}
	}
	_ = group.Wait()
}

// waitForEnd waits until a pod has ended, or enough reports true. It returns the pod as it was
// read last.
func (c *Cluster) waitForEnd(ctx context.Context, pod *corev1.Pod, enough func(context.Context) bool) (*corev1.Pod, error) {
	err := wait.PollUntilContextCancel(ctx, probePoll, true, func(ctx context.Context) (bool, error) {
		latest, err := c.kube.CoreV1().Pods(c.lab).Get(ctx, pod.Name, metav1.GetOptions{})
		var refused apierrors.APIStatus
		if errors.As(err, &refused) {
			return false, err
		}
		if err != nil {
			// The line, or the client when the time is nearly up: the deadline decides.
			return false, nil
		}
		pod = latest
		return enough(ctx) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed, nil
	})
	return pod, err
}

func (c *Cluster) probeNode(ctx context.Context, p Probe, node string) doctor.Seen[probe.Node] {
	pod := c.probePod(p, node)
	if pod == nil {
		return doctor.NotSeen[probe.Node]("the operator, whose image reads nodes, was not found", "name an image with nodrop by --probe-image")
	}
	if err := context.Cause(ctx); err != nil {
		return see("create pods in namespace "+c.lab, probe.Node{}, err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	pods := c.kube.CoreV1().Pods(c.lab)
	// An interrupt does not cut the request short, which may have made the pod already.
	creating, created := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	pod, err := pods.Create(creating, pod, metav1.CreateOptions{})
	created()
	if err != nil {
		return see("create pods in namespace "+c.lab, probe.Node{}, err)
	}
	name, uid := pod.Name, pod.UID
	defer func() {
		// Also after an interrupt: nothing may be left behind. A pod that cannot be
		// removed ends by its own deadline.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = pods.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: new(int64(0))})
	}()
	pod, err = c.waitForEnd(ctx, pod, func(context.Context) bool { return false })
	if err != nil && ctx.Err() != nil {
		return doctor.NotSeen[probe.Node](fmt.Sprintf("the pod that reads the node did not end within %s (%s)", p.Timeout, state(pod)), "correct what keeps it from running, or set a longer --probe-timeout")
	}
	if err != nil {
		return see("get pods in namespace "+c.lab, probe.Node{}, err)
	}
	text, err := pods.GetLogs(name, &corev1.PodLogOptions{LimitBytes: new(int64(logLimit))}).DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		return see("get pods/log in namespace "+c.lab, probe.Node{}, err)
	}
	var n probe.Node
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if pod.Status.Phase == corev1.PodFailed || err != nil {
		said := string(text)
		if err != nil && said == "" {
			said = err.Error()
		}
		return doctor.NotSeen[probe.Node](fmt.Sprintf("the pod that reads the node failed (%s): %.200s", state(pod), said), "check that its image is as new as this program, or name another by --probe-image")
	}
	return doctor.Known(n)
}

// state returns the state of a pod and its reason.
func state(pod *corev1.Pod) string {
	text := string(pod.Status.Phase)
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "" {
			return text + ", " + w.Reason + ": " + w.Message
		}
		if t := s.State.Terminated; t != nil && t.Reason != "" {
			return text + ", " + t.Reason
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return text + ", " + c.Reason + ": " + c.Message
		}
	}
	return text
}

// probePod is the pod that reads one node; nil when no image is known. It needs nothing that
// the pod security level restricted refuses.
func (c *Cluster) probePod(p Probe, node string) *corev1.Pod {
	container := corev1.Container{
		Name: "doctor", Image: p.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Args: []string{"doctor-node"},
		// It requests nothing, and its limits are small.
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.Quantity{}, corev1.ResourceMemory: resource.Quantity{}, corev1.ResourceEphemeralStorage: resource.Quantity{}},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi"), corev1.ResourceEphemeralStorage: resource.MustParse("64Mi")},
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	var pullSecrets []corev1.LocalObjectReference
	if c.deployment != nil {
		template := c.deployment.Spec.Template.Spec
		pullSecrets = template.ImagePullSecrets
		if p.Image == "" && len(template.Containers) > 0 {
			container.Image, container.ImagePullPolicy = template.Containers[0].Image, template.Containers[0].ImagePullPolicy
		}
	}
	if container.Image == "" {
		return nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "nodrop-doctor-", Labels: map[string]string{
			"app.kubernetes.io/name": "nodrop", "app.kubernetes.io/component": "doctor",
		}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: new(int64(p.Timeout/time.Second) + 1),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), ImagePullSecrets: pullSecrets,
			// It tolerates every taint: it runs for a moment, and requests nothing.
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
					Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}}}},
			}}},
			Containers: []corev1.Container{container},
		},
	}
}

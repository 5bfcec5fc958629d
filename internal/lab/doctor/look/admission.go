package look

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// admission asks the API server whether it admits pods like those of the engines,
// without making them. The pods of a bed that allows hosts have the capability for them.
func (c *Cluster) admission(ctx context.Context, engines []doctor.Engine, bed *v1alpha1.TestBed) map[doctor.Engine]doctor.Seen[string] {
	allowed := c.mayCreatePods(ctx)
	answers := map[doctor.Engine]doctor.Seen[string]{}
	for _, e := range engines {
		pod := podLike(e, bed != nil && bed.Spec.Hosts != nil)
		if pod == nil {
			continue
		}
		if !allowed.Value {
			answers[e] = c.byLabel(ctx, allowed)
			continue
		}
		_, err := c.kube.CoreV1().Pods(c.lab).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			answers[e] = doctor.Known("")
		case apierrors.IsNotFound(err):
			answers[e] = doctor.Known(doctor.NoLab)
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			answers[e] = doctor.Known(withoutName(err.Error()))
		default:
			answers[e] = see("create pods in namespace "+c.lab, "", err)
		}
	}
	return answers
}

func (c *Cluster) mayCreatePods(ctx context.Context) doctor.Seen[bool] {
	review, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.lab, Verb: "create", Resource: "pods"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return see("create selfsubjectaccessreviews", false, err)
	}
	return doctor.Known(review.Status.Allowed)
}

const labelEnforce = "pod-security.kubernetes.io/enforce"

// byLabel judges by the label of the lab's namespace, for users who may not create pods.
func (c *Cluster) byLabel(ctx context.Context, allowed doctor.Seen[bool]) doctor.Seen[string] {
	if !allowed.IsKnown() {
		return doctor.Seen[string]{Unknown: allowed.Unknown}
	}
	namespace, err := c.kube.CoreV1().Namespaces().Get(ctx, c.lab, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return doctor.Known(doctor.NoLab)
	}
	if err == nil {
		switch level := namespace.Labels[labelEnforce]; level {
		case "baseline", "restricted":
			return doctor.Known(fmt.Sprintf("namespace %s has the pod security level %s", c.lab, level))
		}
	}
	return doctor.NotSeen[string]("you may not create pods in namespace "+c.lab+", so that it was not tried", "ask for the right to create pods there (nothing is created: it is a dry run), or see the label "+labelEnforce+" of the namespace")
}

// withoutName leaves out which pod was refused: it does not exist.
func withoutName(message string) string {
	message = strings.ReplaceAll(message, `pods "`+tried+`" is forbidden: `, "")
	return strings.ReplaceAll(message, `Pod "`+tried+`" is invalid: `, "")
}

// tried is the name of the pod of the dry run.
const tried = "nodrop-doctor"

// podLike has the fields that policies check in the pods of an engine, with hosts if they have any; nil for an
// engine whose pods have no privileges.
func podLike(e doctor.Engine, hosts bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: tried}}
	container := corev1.Container{Name: "tried", Image: "nodrop.invalid/none"}
	secured := func(capabilities []corev1.Capability) *corev1.SecurityContext {
		return &corev1.SecurityContext{
			RunAsUser: new(int64(0)), RunAsNonRoot: new(false), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: capabilities},
		}
	}
	switch e {
	case doctor.XDP:
		container.SecurityContext = secured(labobjects.Agent{Hosts: hosts}.Capabilities())
	case doctor.TRexSoftware, doctor.TRex:
		container.SecurityContext = secured(labobjects.TRexCapabilities(e == doctor.TRexSoftware))
	case doctor.Containerlab:
		// As root on the node: with its network, its processes, and Docker's socket.
		pod.Spec.HostNetwork, pod.Spec.HostPID = true, true
		container.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		container.VolumeMounts = []corev1.VolumeMount{{Name: "docker", MountPath: "/run/docker.sock"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "docker", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/run/docker.sock", Type: new(corev1.HostPathSocket)},
		}}}
	default:
		return nil
	}
	pod.Spec.AutomountServiceAccountToken = new(false)
	if e != doctor.Containerlab {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	}
	pod.Spec.Containers = []corev1.Container{container}
	return pod
}

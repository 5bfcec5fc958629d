package beds

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
)

// nodesOffer compares what the bed's nodes offer with the requests of its traffic pods:
// a pod that no node can run would keep the bed for minutes, and then fail with a
// message of the scheduler.
func (r *Reconciler) nodesOffer(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	needs := preflight.Needs(bed)
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		var node corev1.Node
		if err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return "", "", fmt.Errorf("reading node %s: %w", name, err)
		}
		if missing := preflight.Missing(name, bed.Spec.Engine.Kind, needs[name], node.Status.Allocatable); missing != "" {
			return v1alpha1.ReasonResourcesMissing, missing, nil
		}
	}
	return "", "", nil
}

// claimsExist checks for the templates of resource claims. Only a claim shows whether a
// driver has a device.
func (r *Reconciler) claimsExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.ResourceClaim == nil {
			continue
		}
		key := client.ObjectKey{Namespace: r.Lab.Namespace, Name: p.Attachment.ResourceClaim.TemplateName}
		problem, err := claimProblem(key, r.Live.Get(ctx, key, &resourcev1.ResourceClaimTemplate{}))
		if err != nil {
			return "", "", err
		}
		if problem != "" {
			return v1alpha1.ReasonResourcesMissing, fmt.Sprintf("spec.ports[%d].attachment.resourceClaim.templateName: %s", i, problem), nil
		}
	}
	return "", "", nil
}

// claimProblem turns the answer about a template into what is missing, and what to do.
func claimProblem(key client.ObjectKey, err error) (problem string, _ error) {
	switch {
	case err == nil:
		return "", nil
	case meta.IsNoMatchError(err):
		return "the cluster does not serve resource.k8s.io/v1, by which devices are claimed: use Kubernetes 1.34 or later with a driver for network cards, or use the attachment sriov for the port; see docs/own-cluster.md", nil
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("ResourceClaimTemplate %s is not in the lab's namespace %s: apply it there, or name one of kubectl get resourceclaimtemplates -n %s", key.Name, key.Namespace, key.Namespace), nil
	}
	return "", fmt.Errorf("reading ResourceClaimTemplate %s: %w", key.Name, err)
}

package beds

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// trexHasImage is checked here and not at admission, which does not have the settings of
// the operator.
func (r *Reconciler) trexHasImage(_ context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if bed.Spec.Engine.Server() == nil {
		return "", "", nil
	}
	if _, err := labobjects.TRexImage(r.Lab, bed.Spec.Engine.Server()); err != nil {
		return v1alpha1.ReasonBedInvalid, "spec.engine.trex.image: " + err.Error(), nil
	}
	return "", "", nil
}

// networksExist checks for the networks that ports name. A network for another
// resource would get no device, and its plugin fails long after the bed was leased.
func (r *Reconciler) networksExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.SRIOV == nil || p.Attachment.SRIOV.NetworkName == "" {
			continue
		}
		problem, err := r.network(ctx, p.Attachment.SRIOV)
		if err != nil {
			return "", "", err
		}
		if problem != "" {
			return v1alpha1.ReasonBedInvalid, fmt.Sprintf("spec.ports[%d].attachment.sriov.networkName: %s", i, problem), nil
		}
	}
	return "", "", nil
}

func (r *Reconciler) network(ctx context.Context, a *v1alpha1.SRIOVAttachment) (problem string, _ error) {
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(labobjects.NetworkGVK)
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: a.NetworkName}, n)
	switch {
	case meta.IsNoMatchError(err):
		return kit.ErrNoMultus.Error(), nil
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("NetworkAttachmentDefinition %s is not in the lab's namespace %s: apply it there, add it to the chart's networks, or leave networkName out, so that NoDrop makes one", a.NetworkName, r.Lab.Namespace), nil
	case err != nil:
		return "", fmt.Errorf("reading NetworkAttachmentDefinition %s: %w", a.NetworkName, err)
	}
	if resource := n.GetAnnotations()[labobjects.AnnotationResource]; resource != a.ResourceName {
		return fmt.Sprintf("NetworkAttachmentDefinition %s has %q as annotation %s, and the port has resourceName %s: make them the same", a.NetworkName, resource, labobjects.AnnotationResource, a.ResourceName), nil
	}
	return "", nil
}

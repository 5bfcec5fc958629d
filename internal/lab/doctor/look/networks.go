package look

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// annotationResource of a network is the device plugin's resource that it is for.
const annotationResource = "k8s.v1.cni.cncf.io/resourceName"

func isNotServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

func (c *Cluster) networks(ctx context.Context) doctor.Seen[[]doctor.Network] {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(labobjects.NetworkGVK)
	err := c.objects.List(ctx, list, client.InNamespace(c.lab))
	if err != nil && !isNotServed(err) {
		return see[[]doctor.Network]("list network-attachment-definitions in namespace "+c.lab, nil, err)
	}
	var networks []doctor.Network
	for _, n := range list.Items {
		networks = append(networks, doctor.Network{Name: n.GetName(), Resource: n.GetAnnotations()[annotationResource]})
	}
	return doctor.Known(networks)
}

// poolResources are known to be network cards since a network or a bed says so.
// Without the right to read beds the guess by name is all there is.
func (c *Cluster) poolResources(ctx context.Context, f doctor.Facts) []string {
	var names []string
	for _, n := range f.Networks.Value {
		if n.Resource != "" {
			names = append(names, n.Resource)
		}
	}
	var beds v1alpha1.TestBedList
	if err := c.objects.List(ctx, &beds); err != nil {
		return names
	}
	for _, bed := range beds.Items {
		for _, p := range bed.Spec.Ports {
			if p.Attachment != nil && p.Attachment.SRIOV != nil {
				names = append(names, p.Attachment.SRIOV.ResourceName)
			}
		}
	}
	return names
}

func (c *Cluster) claims(ctx context.Context) (templates, classes doctor.Seen[[]string]) {
	templateList, err := c.kube.ResourceV1().ResourceClaimTemplates(c.lab).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		templates = see[[]string]("list resourceclaimtemplates in namespace "+c.lab, nil, err)
	} else if err == nil {
		for _, t := range templateList.Items {
			templates.Value = append(templates.Value, t.Name)
		}
	}
	classList, err := c.kube.ResourceV1().DeviceClasses().List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		classes = see[[]string]("list deviceclasses", nil, err)
	} else if err == nil {
		for _, d := range classList.Items {
			classes.Value = append(classes.Value, d.Name)
		}
	}
	return templates, classes
}

// drivers returns the drivers that offer devices, by node.
func (c *Cluster) drivers(ctx context.Context) doctor.Seen[map[string][]string] {
	slices, err := c.kube.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return doctor.Known[map[string][]string](nil)
	}
	if err != nil {
		return see[map[string][]string]("list resourceslices", nil, err)
	}
	drivers := map[string][]string{}
	for _, s := range slices.Items {
		if s.Spec.NodeName != nil && len(s.Spec.Devices) > 0 {
			drivers[*s.Spec.NodeName] = append(drivers[*s.Spec.NodeName], s.Spec.Driver)
		}
	}
	return doctor.Known(drivers)
}

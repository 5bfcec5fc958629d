package labobjects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// podInterface is the name of a port's interface in the traffic pod. Multus uses the
// name of the port; the driver of a resource claim may use another one.
func podInterface(p v1alpha1.Port) string {
	if p.Attachment != nil && p.Attachment.ResourceClaim != nil && p.Attachment.ResourceClaim.Interface != "" {
		return p.Attachment.ResourceClaim.Interface
	}
	return p.Name
}

// addDevices requests the devices of ports for one container of the pod: the one that
// sends and receives. The device plugin, or the driver of a claim, passes the device's
// files and its address to that container only, and
// the kubelet's topology manager can only bring processors and devices of the same
// container onto one NUMA node.
func addDevices(spec *corev1.PodSpec, container *corev1.Container, ports []v1alpha1.Port) error {
	for _, p := range ports {
		switch a := p.Attachment; {
		case a == nil:
			return errNoAttachment(p)
		case a.SRIOV != nil:
			countDevice(&container.Resources, corev1.ResourceName(a.SRIOV.ResourceName))
		case a.ResourceClaim != nil:
			// A claim of a template lives as long as the pod: Kubernetes removes it with it.
			spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{
				Name: p.Name, ResourceClaimTemplateName: ptr(a.ResourceClaim.TemplateName),
			})
			container.Resources.Claims = append(container.Resources.Claims, corev1.ResourceClaim{Name: p.Name})
		}
	}
	return nil
}

// countDevice requests one more device. Requests and limits of extended resources are
// equal.
func countDevice(r *corev1.ResourceRequirements, name corev1.ResourceName) {
	for _, list := range []*corev1.ResourceList{&r.Requests, &r.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		count := (*list)[name]
		count.Add(*resource.NewQuantity(1, resource.DecimalSI))
		(*list)[name] = count
	}
}

func errNoAttachment(p v1alpha1.Port) error {
	return fmt.Errorf("port %s has no attachment: set attachment.hostDevice, attachment.sriov or attachment.resourceClaim", p.Name)
}

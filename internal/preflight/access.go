package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Allows says whether a bed lets benchmarks of a namespace queue for it.
func Allows(bed *v1alpha1.TestBed, namespace *corev1.Namespace) bool {
	allowed := bed.Spec.AllowedNamespaces
	if allowed == nil {
		return false
	}
	return slices.Contains(allowed.Names, namespace.Name) || selects(allowed.Selector, namespace.Labels)
}

// Wants says whether a benchmark names the bed, or selects it by its labels.
func Wants(b *v1alpha1.Benchmark, bed *v1alpha1.TestBed) bool {
	if b.Spec.TestBedName != "" {
		return b.Spec.TestBedName == bed.Name
	}
	return selects(b.Spec.TestBedSelector, bed.Labels)
}

// Usable returns the beds that a benchmark wants and may use.
func Usable(b *v1alpha1.Benchmark, namespace *corev1.Namespace, beds []v1alpha1.TestBed) []v1alpha1.TestBed {
	var usable []v1alpha1.TestBed
	for i := range beds {
		if Wants(b, &beds[i]) && Allows(&beds[i], namespace) {
			usable = append(usable, beds[i])
		}
	}
	return usable
}

// selects is false for a selector that is absent or malformed; the form is
// checked where the selector is admitted.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

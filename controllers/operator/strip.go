package operator

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// usedAnnotations are the annotations of team objects that the operator reads.
var usedAnnotations = []string{v1alpha1.AnnotationFiringSize}

// stripManagedFields removes the managed fields, which are a third of an object.
var stripManagedFields = cache.TransformStripManagedFields()

// stripUnused removes from an object that enters the cache what the operator does not use: managed
// fields, and of objects of teams and of namespaces annotations, which can have 256 KiB. Writes of
// such objects are patches of what differs, so that annotations in the API server stay.
func stripUnused(in any) (any, error) {
	out, err := stripManagedFields(in)
	if err != nil {
		return out, err //nolint:wrapcheck // It is the transform of the cache.
	}
	switch o := out.(type) {
	case *v1alpha1.Benchmark, *v1alpha1.BenchmarkSchedule, *v1alpha1.TrafficProfile, *v1alpha1.NotificationSink, *v1alpha1.Reservation,
		*v1alpha1.BenchmarkResult, *v1alpha1.BenchmarkSnapshot:
		stripAnnotations(o.(client.Object)) //nolint:forcetypeassert // All of these are.
	case *corev1.Namespace:
		stripAnnotations(o)
		o.Spec, o.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{Phase: o.Status.Phase}
	}
	return out, nil
}

func stripAnnotations(o client.Object) {
	var kept map[string]string
	for _, name := range usedAnnotations {
		if value, given := o.GetAnnotations()[name]; given {
			kept = map[string]string{name: value}
		}
	}
	o.SetAnnotations(kept)
}

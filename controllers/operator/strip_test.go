package operator

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The cache of the operator keeps no annotation of a team but the ones that it reads, and the
// annotations of beds.
func TestCacheStripsAnnotations(t *testing.T) {
	transform := managerOptions(Config{}, nil, nil, nil).Cache.DefaultTransform
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "o", Labels: map[string]string{"l": "v"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			Annotations: map[string]string{"note": strings.Repeat("x", 256<<10), v1alpha1.AnnotationFiringSize: "2"},
		}
	}
	for want, all := range map[int][]client.Object{
		1: {
			&v1alpha1.Benchmark{ObjectMeta: meta()}, &v1alpha1.BenchmarkSchedule{ObjectMeta: meta()}, &v1alpha1.TrafficProfile{ObjectMeta: meta()},
			&v1alpha1.NotificationSink{ObjectMeta: meta()}, &v1alpha1.Reservation{ObjectMeta: meta()}, &v1alpha1.BenchmarkResult{ObjectMeta: meta()},
			&v1alpha1.BenchmarkSnapshot{ObjectMeta: meta()}, &corev1.Namespace{ObjectMeta: meta()},
		},
		2: {&v1alpha1.TestBed{ObjectMeta: meta()}},
	} {
		for _, o := range all {
			out, err := transform(o)
			if err != nil {
				t.Fatal(err)
			}
			kept := out.(client.Object)
			if len(kept.GetAnnotations()) != want || kept.GetAnnotations()[v1alpha1.AnnotationFiringSize] != "2" || len(kept.GetManagedFields()) > 0 || kept.GetLabels()["l"] != "v" {
				t.Errorf("%T: %d annotations of which %d are used, %d managed fields", o, len(kept.GetAnnotations()), want, len(kept.GetManagedFields()))
			}
		}
	}
}

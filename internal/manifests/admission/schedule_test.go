package admission_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestScheduleReadsAModelOnce judges a schedule with the largest matrix: the API server is asked once for the model of
// the bed, and not for each cell.
func TestScheduleReadsAModelOnce(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	const table = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,60,1,2,3\n"
	model := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nodrop-lab", Name: "m"}}
	all := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64)), bedFor("team"),
	}
	for name, tc := range map[string]struct {
		table   string
		refused bool
	}{
		"accepted": {table + "1518,100,1,2,3\n", false},
		"refused":  {table, true},
	} {
		t.Run(name, func(t *testing.T) {
			model.Data = map[string]string{"k": tc.table}
			reads := 0
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(all, model)...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, model := o.(*corev1.ConfigMap); model {
						reads++
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			webhook := admission.Schedules{Now: time.Now, Benchmarks: &admission.Benchmarks{
				Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).Build(), Live: live, LabNamespace: "nodrop-lab",
			}}
			s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"}}
			s.Spec.Schedule, s.Spec.Matrix = "0 2 * * *", &v1alpha1.BenchmarkMatrix{}
			s.Spec.BenchmarkTemplate.Spec = objects.Benchmark("team", "", objects.BedName("bed"), objects.ProfileName("pairs"), objects.Deadline(3600),
				objects.Tests(v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "10%"}})).Spec
			for i := range 64 {
				s.Spec.Matrix.FrameSizes = append(s.Spec.Matrix.FrameSizes, v1alpha1.FrameSize(64+i))
			}
			if _, err := webhook.ValidateCreate(t.Context(), s); (err != nil) != tc.refused {
				t.Error(err)
			}
			if reads != 1 {
				t.Errorf("the model was read %d times, want 1", reads)
			}
		})
	}
}

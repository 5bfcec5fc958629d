package admission_test

import (
	"context"
	"strings"
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

// bedFor is a modelled bed that grants a namespace the default.
func bedFor(namespace string) *v1alpha1.TestBed {
	return objects.TestBed("bed",
		objects.Labels(map[string]string{"kind": "modelled"}), objects.Simulated("m", "k"), objects.Sim(2, "1G"),
		objects.Access(v1alpha1.AccessGrant{Names: []string{namespace}, MaxDuration: metav1.Duration{Duration: time.Hour}}),
	)
}

// TestCacheAcceptsOnly lets the cache be behind the API server: it may accept, and what
// it does not accept is read from the API server before it is refused.
func TestCacheAcceptsOnly(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	pairs := objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64))
	all := []client.Object{namespace, pairs, bedFor("team")}
	bySelector := func(b *v1alpha1.Benchmark) {
		b.Spec.TestBedName, b.Spec.TestBedSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "modelled"}}
	}
	for name, tc := range map[string]struct {
		cached, live []client.Object
		change       func(*v1alpha1.Benchmark)
		refused      string
		asked        bool
	}{
		"the cache has all":               {cached: all, live: all},
		"by selector":                     {cached: all, live: all, change: bySelector},
		"the cache is empty":              {live: all, asked: true},
		"the cache lacks the profile":     {cached: []client.Object{namespace, bedFor("team")}, live: all, asked: true},
		"the cache lacks the bed":         {cached: []client.Object{namespace, pairs}, live: all, asked: true, change: bySelector},
		"the cache has a bed for others":  {cached: []client.Object{namespace, pairs, bedFor("other")}, live: all, asked: true},
		"the server has a bed for others": {cached: nil, live: []client.Object{namespace, pairs, bedFor("other")}, asked: true, refused: "this TestBed does not allow namespace team"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.live...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, model := o.(*corev1.ConfigMap); !model { // No cache has ConfigMaps.
						asked = true
					}
					return c.Get(ctx, key, o, opts...)
				},
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if _, profiles := list.(*v1alpha1.TrafficProfileList); profiles {
						t.Error("a refusal reads all profiles of a team from the API server, which may be 64 MB")
					}
					return c.List(ctx, list, opts...)
				},
			}).Build()
			webhook := admission.Benchmarks{Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.cached...).Build(), Live: live}
			b := objects.Benchmark("team", "b",
				objects.BedName("bed"), objects.ProfileName("pairs"), objects.Deadline(3600),
				objects.Tests(v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "10%"}}),
			)
			if tc.change != nil {
				tc.change(b)
			}
			_, err := webhook.ValidateCreate(t.Context(), b)
			switch {
			case tc.refused == "" && err != nil:
				t.Error(err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("%v, want it refused with %q", err, tc.refused)
			}
			if asked != tc.asked {
				t.Errorf("the API server was asked: %t, want %t", asked, tc.asked)
			}
		})
	}
}

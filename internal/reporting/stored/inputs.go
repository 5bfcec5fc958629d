package stored

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pages"
	"nodrop.dev/nodrop/internal/reporting/gate"
)

// Inputs contains the inputs with which a benchmark was measured, as they were then.
type Inputs struct {
	// Profile of the benchmark; nil before it was accepted.
	Profile *v1alpha1.TrafficProfile
	// Bed that was leased; nil before.
	Bed *v1alpha1.TestBed
	// ConfigMaps of the device by name, with all their keys.
	ConfigMaps map[string]*corev1.ConfigMap
	// Baselines of the gates by their names; nil before they were judged, and where no gate
	// has one.
	Baselines map[string]gate.Baseline
}

// Kept returns the metadata that is stored with an input: name, namespace, UID, generation and
// labels. The rest differs between reads and does not concern the measurement.
func Kept(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, Generation: m.Generation, Labels: m.Labels}
}

// ReadInputs reads the snapshots that the benchmark's status names.
func ReadInputs(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (Inputs, error) {
	in := Inputs{ConfigMaps: map[string]*corev1.ConfigMap{}}
	if b.Status.Results == nil || len(b.Status.Results.Inputs) == 0 {
		return in, nil
	}
	var all []v1alpha1.BenchmarkSnapshot
	empty := func() *v1alpha1.BenchmarkSnapshotList { return &v1alpha1.BenchmarkSnapshotList{} }
	for page, err := range pages.All(ctx, reader, pageSize, empty, client.InNamespace(b.Namespace), client.MatchingLabels(Selector(b))) {
		if err != nil {
			return in, fmt.Errorf("listing the snapshots of benchmark %s: %w", b.Name, err)
		}
		for _, s := range page.Items {
			if s.Spec.BenchmarkUID == string(b.UID) {
				all = append(all, s)
			}
		}
	}
	for _, source := range b.Status.Results.Inputs {
		var err error
		switch source.Kind {
		case v1alpha1.SnapshotTrafficProfile:
			in.Profile = &v1alpha1.TrafficProfile{}
			err = restore(all, source, in.Profile)
		case v1alpha1.SnapshotTestBed:
			in.Bed = &v1alpha1.TestBed{}
			err = restore(all, source, in.Bed)
		case v1alpha1.SnapshotConfigMap:
			config := &corev1.ConfigMap{}
			err = restore(all, source, config)
			in.ConfigMaps[source.Name] = config
		case v1alpha1.SnapshotBaselines:
			err = restore(all, source, &in.Baselines)
		}
		if err != nil {
			return in, err
		}
	}
	return in, nil
}

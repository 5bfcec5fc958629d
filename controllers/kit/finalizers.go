package kit

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// FinalizersOfHolder are the finalizers of a benchmark that gets a bed: that of the
// clean-up and, in a lab with an archive, that of the archive. Others stay.
func FinalizersOfHolder(benchmark *v1alpha1.Benchmark, archive Archive) []string {
	after := benchmark.DeepCopy()
	controllerutil.AddFinalizer(after, v1alpha1.FinalizerCleanUp)
	if archive != nil {
		controllerutil.AddFinalizer(after, v1alpha1.FinalizerArchive)
	}
	return after.Finalizers
}

// KeepForArchive marks an object that is about to be created, a part of a result or
// a snapshot, so that it is not deleted before it was archived. Without an archive
// it does nothing.
func KeepForArchive(obj client.Object, archive Archive) {
	if archive == nil {
		return
	}
	controllerutil.AddFinalizer(obj, v1alpha1.FinalizerArchive)
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelUnarchived] = "true"
	obj.SetLabels(labels)
}

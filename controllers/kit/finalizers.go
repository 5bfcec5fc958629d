package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// ClaimBenchmark gives a benchmark that waits the finalizers of one that gets a bed. The patch
// tests that the status is as it was read where it decides, and that the finalizers are: of two
// operators only one claims it. It is a conflict otherwise.
func ClaimBenchmark(ctx context.Context, writer client.Writer, b *v1alpha1.Benchmark, finalizers []string) error {
	operations := append(decidingTests(b, statusFields(b)), finalizerTests(b)...)
	return patchMetadata(ctx, writer, b, append(operations, operation{"add", "/metadata/finalizers", finalizers}))
}

// AddFinalizer adds a finalizer to an object that is not being deleted. The patch tests the UID
// and the finalizers only. It is a conflict if they are not as they were read.
func AddFinalizer(ctx context.Context, writer client.Writer, obj client.Object, finalizer string) error {
	if slices.Contains(obj.GetFinalizers(), finalizer) {
		return nil
	}
	after := append(slices.Clone(obj.GetFinalizers()), finalizer)
	operations := append(uidTest(obj), finalizerTests(obj)...)
	if err := patchMetadata(ctx, writer, obj, append(operations, operation{"add", "/metadata/finalizers", after})); err != nil {
		return err
	}
	obj.SetFinalizers(after)
	return nil
}

// RemoveFinalizer removes a finalizer from an object, and a label if one is named. The patch
// tests the UID and the place of the finalizer only. It is a conflict if others moved it.
func RemoveFinalizer(ctx context.Context, writer client.Writer, obj client.Object, finalizer, label string) error {
	at := slices.Index(obj.GetFinalizers(), finalizer)
	operations := uidTest(obj)
	if at >= 0 {
		path := fmt.Sprintf("/metadata/finalizers/%d", at)
		operations = append(operations, operation{"test", path, finalizer}, operation{"remove", path, nil})
	}
	if value, has := obj.GetLabels()[label]; has {
		path := "/metadata/labels/" + escapedPointer(label)
		operations = append(operations, operation{"test", path, value}, operation{"remove", path, nil})
	}
	if len(operations) == 1 {
		return nil
	}
	if err := patchMetadata(ctx, writer, obj, operations); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(obj, finalizer)
	delete(obj.GetLabels(), label)
	return nil
}

func uidTest(obj client.Object) []operation {
	return []operation{{"test", "/metadata/uid", string(obj.GetUID())}}
}

// finalizerTests returns the tests that an object is not being deleted, and has the finalizers
// with which it was read.
func finalizerTests(obj client.Object) []operation {
	var finalizers any
	if f := obj.GetFinalizers(); len(f) > 0 {
		finalizers = f
	}
	return []operation{{"test", "/metadata/deletionTimestamp", nil}, {"test", "/metadata/finalizers", finalizers}}
}

// patchMetadata applies operations to an object, and returns a conflict if a test fails.
func patchMetadata(ctx context.Context, writer client.Writer, obj client.Object, operations []operation) error {
	target, ok := obj.DeepCopyObject().(client.Object) // It takes the answer, of which nothing is needed.
	if !ok {
		return fmt.Errorf("%T is no object of the API", obj)
	}
	err := writer.Patch(ctx, target, jsonPatch(operations))
	if isTestFailed(err) {
		return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupVersion.Group}, obj.GetName(), errOtherWriter)
	}
	return err
}

// escapedPointer is a key in a path of a JSON patch (RFC 6901).
func escapedPointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
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

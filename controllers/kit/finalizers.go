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

// HoldForArchive gives a benchmark the finalizer of the archive, unless it has it. The API server
// merges it with finalizers that others write at the same time, so that no team can keep it away. It
// is a conflict if the benchmark is being deleted, or another one has its name.
func HoldForArchive(ctx context.Context, writer client.Writer, b *v1alpha1.Benchmark) error {
	if slices.Contains(b.Finalizers, v1alpha1.FinalizerArchive) {
		return nil
	}
	target := Named(&v1alpha1.Benchmark{}, b) // It takes the answer.
	err := writer.Patch(ctx, target, applyPatch(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Benchmark",
		"metadata": map[string]any{"name": b.Name, "namespace": b.Namespace, "uid": b.UID, "finalizers": []string{v1alpha1.FinalizerArchive}},
	}), client.FieldOwner("nodrop-archive"), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		err = apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarks").GroupResource(), b.Name, err)
	}
	if err != nil {
		return fmt.Errorf("adding the finalizer of the archive: %w", err)
	}
	b.Finalizers = target.Finalizers
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

package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/lab"
)

// CleanUp removes a run as RemoveRun does, and returns what is left, with the failure if there is
// one; "" if nothing is left. Its error is that the API server does not answer, which does not show
// what is left.
func (b *Base) CleanUp(ctx context.Context, run lab.Run) (left string, _ error) {
	left, err := b.RemoveRun(ctx, run)
	switch {
	case err == nil:
		return left, nil
	case NoAnswer(err):
		return "", err
	}
	return cmp.Or(left, "failing") + ": " + err.Error(), nil
}

// RemoveRun removes what a run left in the lab, as far as that can be done now, and returns what
// is still there; "" if nothing is. It needs neither the benchmark nor its bed: everything is
// found by its labels.
//
// Order matters. Agents release interfaces to the node before their device is stopped, and the
// device's secret, which contains how to stop it, is removed only when it is stopped.
func (b *Base) RemoveRun(ctx context.Context, run lab.Run) (left string, _ error) {
	if b.Bench != nil {
		return b.Bench.Sweep(ctx, run)
	}
	device := &corev1.Secret{}
	err := b.Live.Get(ctx, client.ObjectKey{Namespace: b.Lab.Namespace, Name: lab.DeviceSecretName(run)}, device)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the device's topology: %w", err)
	}
	mayBeUp := err == nil
	pods, err := b.Pods(ctx, run)
	if err != nil {
		return "", err
	}
	down := pods[lab.DeviceDownName(run)]
	if mayBeUp {
		delete(pods, lab.DeviceDownName(run))
	}
	if left, err := b.removePods(ctx, pods); left != "" || err != nil {
		return left, err
	}
	if mayBeUp {
		if left, err := b.stopDevice(ctx, run, device, down); left != "" || err != nil {
			return left, err
		}
	}
	return b.removeRest(ctx, run)
}

// removePods deletes pods and names those that are still there.
func (b *Base) removePods(ctx context.Context, pods map[string]*corev1.Pod) (left string, _ error) {
	var names []string
	var failures []error
	for name, pod := range pods {
		names = append(names, name)
		if pod.DeletionTimestamp.IsZero() {
			failures = append(failures, client.IgnoreNotFound(b.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})))
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	return "pods " + strings.Join(names, ", ") + " are being removed", errors.Join(failures...)
}

// stopDevice runs the pod that stops the device, and removes the secret when that
// succeeded.
func (b *Base) stopDevice(ctx context.Context, run lab.Run, device *corev1.Secret, down *corev1.Pod) (left string, _ error) {
	switch {
	case down == nil:
		pod, err := lab.DeviceDownPod(b.Lab, run, device)
		if err != nil {
			return "", err
		}
		return "the device is being stopped", b.Ensure(ctx, run, pod)
	case down.Status.Phase == corev1.PodSucceeded:
		if err := b.Delete(ctx, device); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("removing the device's topology: %w", err)
		}
		return "", nil
	case down.Status.Phase == corev1.PodFailed:
		// Evicted, for instance: the pod itself does not try again.
		if err := b.Delete(ctx, down, client.Preconditions{UID: &down.UID}); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("removing pod %s: %w", down.Name, err)
		}
		return "the device was not stopped: " + EndOf(down), nil
	}
	return "the device is being stopped" + Colon(b.WaitsFor(ctx, down)), nil
}

// removeRest deletes networks, secrets and the pod that stopped the device, and returns what
// is still there.
func (b *Base) removeRest(ctx context.Context, run lab.Run) (left string, _ error) {
	objects, err := b.ObjectsOf(ctx, client.MatchingLabels(run.Selector()))
	if err != nil {
		return "", err
	}
	objects = slices.DeleteFunc(objects, func(o metav1.PartialObjectMetadata) bool { return !run.Has(o.Labels) })
	if len(objects) == 0 {
		return "", nil
	}
	var there []string
	for i := range objects {
		there = append(there, objects[i].Name)
		if err := b.Delete(ctx, &objects[i]); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("removing %s: %w", objects[i].Name, err)
		}
	}
	return strings.Join(there, ", ") + " are being removed", nil
}

// ObjectsOf lists what there is of runs in the lab, in the order in which it is removed:
// networks, secrets, pods. Only metadata is read: nothing needs the content of a secret.
func (b *Base) ObjectsOf(ctx context.Context, runs client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for _, kind := range []schema.GroupVersionKind{
		lab.NetworkGVK, corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Pod"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := b.Live.List(ctx, list, client.InNamespace(b.Lab.Namespace), runs)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // The cluster has no Multus.
		}
		if err != nil {
			return nil, fmt.Errorf("listing the objects of runs: %w", err)
		}
		for _, object := range list.Items {
			object.SetGroupVersionKind(kind)
			all = append(all, object)
		}
	}
	return all, nil
}

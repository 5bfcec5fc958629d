package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/lab"
)

// sweep removes what a run left in the lab, as far as that can be done now, and
// says what is still there; "" when there is nothing. It needs neither the
// benchmark nor its bed: everything is found by its labels.
//
// Order matters. Agents release interfaces to the node before their device is stopped,
// and the device's secret, which says how to stop it, is removed only when it is
// stopped.
func (b *base) sweep(ctx context.Context, run lab.Run) (left string, _ error) {
	if b.Bench != nil {
		return b.Bench.Sweep(ctx, run)
	}
	device := &corev1.Secret{}
	err := b.live.Get(ctx, client.ObjectKey{Namespace: b.Lab.Namespace, Name: lab.DeviceSecretName(run)}, device)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the device's topology: %w", err)
	}
	mayBeUp := err == nil
	pods, err := b.pods(ctx, run)
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
func (b *base) removePods(ctx context.Context, pods map[string]*corev1.Pod) (left string, _ error) {
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
func (b *base) stopDevice(ctx context.Context, run lab.Run, device *corev1.Secret, down *corev1.Pod) (left string, _ error) {
	switch {
	case down == nil:
		pod, err := lab.DeviceDownPod(b.Lab, run, device)
		if err != nil {
			return "", err
		}
		return "the device is being stopped", b.ensure(ctx, run, pod)
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
		return "the device was not stopped: " + endOf(down), nil
	}
	return "the device is being stopped" + colon(b.waitsFor(ctx, down)), nil
}

// removeRest deletes networks, secrets and the pod that stopped the device, and
// says what is still there.
func (b *base) removeRest(ctx context.Context, run lab.Run) (left string, _ error) {
	networks := &unstructured.UnstructuredList{}
	networks.SetGroupVersionKind(lab.NetworkGVK.GroupVersion().WithKind(lab.NetworkGVK.Kind + "List"))
	var there []string
	for _, list := range []client.ObjectList{networks, &corev1.SecretList{}, &corev1.PodList{}} {
		err := b.live.List(ctx, list, client.InNamespace(b.Lab.Namespace), client.MatchingLabels(run.Selector()))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // Without Multus there is nothing of it to remove.
		}
		if err != nil {
			return "", fmt.Errorf("listing what is left of the run: %w", err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return "", fmt.Errorf("listing what is left of the run: %w", err)
		}
		for _, item := range items {
			obj, ok := item.(client.Object)
			if !ok {
				return "", fmt.Errorf("listing what is left of the run: %T is no object", item)
			}
			there = append(there, obj.GetName())
			if err := b.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("removing %s: %w", obj.GetName(), err)
			}
		}
	}
	if len(there) == 0 {
		return "", nil
	}
	return strings.Join(there, ", ") + " are being removed", nil
}

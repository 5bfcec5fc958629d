package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// Remains describes what a clean-up has not removed yet.
type Remains struct {
	// What is left; empty if nothing is.
	What string
	// Allowed is the time that the hooks of the bed may take, in addition to the usual deadline.
	Allowed time.Duration
	// Final reports whether the clean-up stopped, since a hook failed: the bed is to be quarantined.
	Final bool
}

// CleanUp removes a run as Remove does, and returns what is left, with the failure if there is
// one. Its error is that the API server does not answer, which does not show what is left.
func (o RunObjects) CleanUp(ctx context.Context, run labobjects.Run) (Remains, error) {
	left, err := o.Remove(ctx, run)
	if err == nil {
		return left, nil
	}
	left.What, err = failing(left.What, err)
	return left, err
}

// CleanUpVariant removes what was started for a variant, and leaves the hooks of the lease. It returns what
// CleanUp returns.
func (o RunObjects) CleanUpVariant(ctx context.Context, run labobjects.Run) (left string, _ error) {
	if o.Bench != nil {
		return o.Bench.Sweep(ctx, run)
	}
	secrets, err := o.secretsOf(ctx, run)
	if err != nil {
		return failing("", err)
	}
	left, err = o.removeStarted(ctx, run, secrets, false)
	if err == nil {
		return left, nil
	}
	return failing(left, err)
}

// failing adds a failure to what is left, unless it is that the API server does not answer.
func failing(left string, err error) (string, error) {
	if NoAnswer(err) {
		return "", err
	}
	return cmp.Or(left, "failing") + ": " + err.Error(), nil
}

// Remove removes what a run left in the lab, as far as that can be done now, and returns what
// is still there. It needs neither the benchmark nor its bed: everything is found by its labels.
//
// Order matters. Hooks before the lease end first. Agents release interfaces to the node before their
// device is stopped, and the device's secret, which contains how to stop it, is removed only when it is
// stopped. Then hooks after the lease run.
func (o RunObjects) Remove(ctx context.Context, run labobjects.Run) (Remains, error) {
	if o.Bench != nil {
		left, err := o.Bench.Sweep(ctx, run)
		return Remains{What: left}, err
	}
	secrets, err := o.secretsOf(ctx, run)
	if err != nil {
		return Remains{}, err
	}
	var hooks *corev1.Secret
	if secrets[labobjects.HooksSecretName(run)] {
		if hooks, err = o.hooksOf(ctx, run); err != nil {
			return Remains{}, err
		}
	}
	if hooks != nil {
		if left, err := o.stopBefore(ctx, run, hooks); left != "" || err != nil {
			return Remains{What: left}, err
		}
	}
	if left, err := o.removeStarted(ctx, run, secrets, hooks == nil); left != "" || err != nil {
		return Remains{What: left}, err
	}
	if hooks != nil {
		return o.endLease(ctx, run, hooks)
	}
	return Remains{}, nil
}

// secretsOf returns the names of the secrets of a run, so that none is asked for that was never made.
func (o RunObjects) secretsOf(ctx context.Context, run labobjects.Run) (map[string]bool, error) {
	all, err := o.list(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), client.MatchingLabels(run.Selector()))
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(all))
	for i := range all {
		if run.Has(all[i].Labels) {
			names[all[i].Name] = true
		}
	}
	return names, nil
}

// removeStarted removes everything of a run but its hooks, and these too if asked. It gets the names of the run's
// secrets, which were read before: a secret is made before the pods that need it.
func (o RunObjects) removeStarted(ctx context.Context, run labobjects.Run, secrets map[string]bool, hooks bool) (left string, _ error) {
	device, mayBeUp := &corev1.Secret{}, false
	if secrets[labobjects.DeviceSecretName(run)] {
		err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.Lab.Namespace, Name: labobjects.DeviceSecretName(run)}, device)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("reading the device's topology: %w", err)
		}
		mayBeUp = err == nil
	}
	pods, err := o.Pods(ctx, run)
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(pods, func(_ string, pod *corev1.Pod) bool { return pod.Labels[labobjects.LabelRole] == labobjects.RoleHook })
	down := pods[labobjects.DeviceDownName(run)]
	if mayBeUp {
		delete(pods, labobjects.DeviceDownName(run))
	}
	if left, err := o.removePods(ctx, pods); left != "" || err != nil {
		return left, err
	}
	if mayBeUp {
		if left, err := o.stopDevice(ctx, run, device, down); left != "" || err != nil {
			return left, err
		}
	}
	return o.removeRest(ctx, run, hooks)
}

// removePods deletes pods and names those that are still there.
func (o RunObjects) removePods(ctx context.Context, pods map[string]*corev1.Pod) (left string, _ error) {
	var names []string
	var failures []error
	for name, pod := range pods {
		names = append(names, name)
		if pod.DeletionTimestamp.IsZero() {
			failures = append(failures, client.IgnoreNotFound(o.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})))
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	return "pods " + strings.Join(names, ", ") + " are being removed", errors.Join(failures...)
}

// stopDevice runs the pod that stops the device or restores its base configuration, and removes the
// secret when that succeeded.
func (o RunObjects) stopDevice(ctx context.Context, run labobjects.Run, device *corev1.Secret, down *corev1.Pod) (left string, _ error) {
	is, not := "the device is being stopped", "the device was not stopped: "
	if labobjects.IsConfiguration(device) {
		is, not = "the base configuration of the device is being restored", "the base configuration of the device was not restored: "
	}
	switch {
	case down == nil:
		pod, err := labobjects.DeviceDownPod(o.Lab, run, device)
		if err != nil {
			return "", err
		}
		return is, o.Ensure(ctx, run, pod)
	case down.Status.Phase == corev1.PodSucceeded:
		if controllerutil.RemoveFinalizer(device, labobjects.FinalizerDevice) {
			if err := o.Client.Update(ctx, device); client.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("letting go of the device's topology: %w", err)
			}
		}
		if err := o.Client.Delete(ctx, device); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("removing the device's topology: %w", err)
		}
		return "", nil
	case down.Status.Phase == corev1.PodFailed:
		// Evicted, for instance: the pod itself does not try again.
		if err := o.Client.Delete(ctx, down, client.Preconditions{UID: &down.UID}); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("removing pod %s: %w", down.Name, err)
		}
		return not + EndOf(down), nil
	}
	return is + Colon(WaitsFor(ctx, o.Live, down)), nil
}

// removeRest deletes networks, secrets and the pod that stopped the device, and the pods of hooks if asked, and
// returns what is still there. The Secret of hooks stays.
func (o RunObjects) removeRest(ctx context.Context, run labobjects.Run, hooks bool) (left string, _ error) {
	objects, err := o.List(ctx, client.MatchingLabels(run.Selector()))
	if err != nil {
		return "", err
	}
	objects = slices.DeleteFunc(objects, func(m metav1.PartialObjectMetadata) bool {
		isHook := m.Labels[labobjects.LabelRole] == labobjects.RoleHook
		return !run.Has(m.Labels) || isHook && (!hooks || m.Kind == "Secret")
	})
	var there []string
	for i := range objects {
		gone, err := o.removeObject(ctx, &objects[i])
		if err != nil {
			return "", fmt.Errorf("removing %s: %w", objects[i].Name, err)
		}
		if !gone {
			there = append(there, objects[i].Name)
		}
	}
	if len(there) == 0 {
		return "", nil
	}
	return strings.Join(there, ", ") + " are being removed", nil
}

// removeObject deletes an object as it was listed, and reports whether it is gone. The API server removes a secret or a
// network without finalizers before it answers; the version of the object shows that nothing gave it one since. A pod
// ends later.
func (o RunObjects) removeObject(ctx context.Context, object *metav1.PartialObjectMetadata) (gone bool, _ error) {
	if !object.DeletionTimestamp.IsZero() {
		return false, nil
	}
	listed := client.Preconditions{UID: &object.UID}
	atOnce := object.Kind != "Pod" && len(object.Finalizers) == 0
	if atOnce {
		listed.ResourceVersion = &object.ResourceVersion
	}
	switch err := o.Client.Delete(ctx, object, listed); {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		return false, nil // It was written, or made anew: the next check sees it.
	case err != nil:
		return false, err
	}
	return atOnce, nil
}

// List lists what there is of runs in the lab, in the order in which it is removed:
// networks, secrets, pods. Only metadata is read: nothing needs the content of a secret.
func (o RunObjects) List(ctx context.Context, runs client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for _, kind := range []schema.GroupVersionKind{
		labobjects.NetworkGVK, corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Pod"),
	} {
		objects, err := o.list(ctx, kind, runs)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// list lists what there is of runs of one kind.
func (o RunObjects) list(ctx context.Context, kind schema.GroupVersionKind, runs client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := o.Live.List(ctx, list, client.InNamespace(o.Lab.Namespace), runs)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil // The cluster has no Multus.
	}
	if err != nil {
		return nil, fmt.Errorf("listing the objects of runs: %w", err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, nil
}

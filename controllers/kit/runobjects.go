package kit

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// RunObjects makes, lists and removes the objects of runs in the lab.
type RunObjects struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Lab contains the location and the images of runs.
	Lab labobjects.Settings
	// Bench removes runs instead of this type; nil without one.
	Bench Bench
	// New lets Ensure create an object before it looks for it: most likely the object does not exist.
	New bool
}

// ForNew returns the same for objects that most likely do not exist.
func (o RunObjects) ForNew() RunObjects {
	o.New = true
	return o
}

// Ensure creates an object of a run unless it exists, and reads an existing one into it.
func (o RunObjects) Ensure(ctx context.Context, run labobjects.Run, obj client.Object) error {
	key := client.ObjectKeyFromObject(obj)
	var err error
	if !o.New {
		err = o.Live.Get(ctx, key, obj)
	}
	if o.New || apierrors.IsNotFound(err) {
		if err = o.Client.Create(ctx, obj); apierrors.IsAlreadyExists(err) {
			err = o.Live.Get(ctx, key, obj)
		}
	}
	if err != nil {
		return fmt.Errorf("making %s: %w", key, err)
	}
	if owner := obj.GetLabels(); !run.Has(owner) {
		return fmt.Errorf("making %s: it exists and belongs to %q: delete it", key, owner[labobjects.LabelUID])
	}
	return nil
}

// Pods returns the existing pods of a run, by name.
func (o RunObjects) Pods(ctx context.Context, run labobjects.Run) (map[string]*corev1.Pod, error) {
	return o.podsOf(ctx, o.Live, run)
}

// CachedPods returns the pods of a run as the cache knows them. A pod that it does not have, or that it shows as lost, may
// be there all the same.
func (o RunObjects) CachedPods(ctx context.Context, run labobjects.Run) (map[string]*corev1.Pod, error) {
	return o.podsOf(ctx, o.Client, run)
}

func (o RunObjects) podsOf(ctx context.Context, reader client.Reader, run labobjects.Run) (map[string]*corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.InNamespace(o.Lab.Namespace), client.MatchingLabels(run.Selector())); err != nil {
		return nil, fmt.Errorf("listing the pods of the run: %w", err)
	}
	pods := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		if pod := &list.Items[i]; run.Has(pod.Labels) {
			pods[pod.Name] = pod
		}
	}
	return pods, nil
}

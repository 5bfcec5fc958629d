//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/pages"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// uninstaller removes NoDrop from a cluster.
type uninstaller struct {
	client client.WithWatch
	out    io.Writer
	// lab is the namespace of the pods of runs.
	lab                 string
	dryRun, force, crds bool
	// done is the number of actions that were performed or listed.
	done int
	// unstopped names the devices that were not stopped.
	unstopped []string
}

// action is one change of an object.
type action struct {
	verb verb
	what string
	do   func(context.Context) error
}

// verb describes a change before and after it.
type verb struct{ would, did string }

var (
	verbStop    = verb{"stop", "stopped"}
	verbDelete  = verb{"delete", "deleted"}
	verbRelease = verb{"release", "released"}
)

// Kinds that no package of the client knows.
var (
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	webhookKind    = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// operatorLabels are the labels of the operator's Deployment and pods.
var operatorLabels = client.MatchingLabels{"app.kubernetes.io/name": "nodrop", "app.kubernetes.io/component": "operator"}

// reasons returns why the lab is in use: beds with a benchmark, devices that may be up, and results that
// are not where they are kept yet.
func (u *uninstaller) reasons(ctx context.Context) (reasons []string, _ error) {
	holders := map[string]bool{}
	err := u.each(ctx, v1alpha1.GroupVersion.WithKind("TestBed"), func(o *unstructured.Unstructured) {
		if holder, _, _ := unstructured.NestedString(o.Object, "status", "lease", "holder"); holder != "" {
			holders[holder] = true
			reasons = append(reasons, fmt.Sprintf("benchmark %s has bed %s", holder, o.GetName()))
		}
	})
	if err != nil {
		return nil, err
	}
	err = u.each(ctx, v1alpha1.GroupVersion.WithKind("Benchmark"), func(o *unstructured.Unstructured) {
		name := o.GetNamespace() + "/" + o.GetName()
		switch f := o.GetFinalizers(); {
		case holders[name]:
		case slices.Contains(f, v1alpha1.FinalizerArchive):
			reasons = append(reasons, fmt.Sprintf("the result of benchmark %s is not archived or recorded yet", name))
		}
	})
	if err != nil {
		return nil, err
	}
	devices, err := u.heldDevices(ctx)
	for i := range devices {
		reasons = append(reasons, deviceText(&devices[i])+" may be up")
	}
	return reasons, err
}

// heldDevices returns the Secrets of devices that were not stopped.
func (u *uninstaller) heldDevices(ctx context.Context) (held []unstructured.Unstructured, _ error) {
	err := u.each(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), func(o *unstructured.Unstructured) {
		if slices.Contains(o.GetFinalizers(), labobjects.FinalizerDevice) {
			held = append(held, *o)
		}
	}, client.InNamespace(u.lab), client.HasLabels{labobjects.LabelUID})
	return held, err
}

// deviceText names a device by the benchmark, the node and the Secret with its topology.
func deviceText(secret *unstructured.Unstructured) string {
	a := secret.GetAnnotations()
	return fmt.Sprintf("the device of benchmark %s on node %s (topology in Secret %s/%s)", a[labobjects.AnnotationBenchmark], a[labobjects.AnnotationNode], secret.GetNamespace(), secret.GetName())
}

// operators stops the operators, which would add finalizers again, and waits until their pods are gone.
func (u *uninstaller) operators(ctx context.Context) (actions []action, _ error) {
	err := u.each(ctx, deploymentKind, func(o *unstructured.Unstructured) {
		if replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found && replicas == 0 {
			return
		}
		actions = append(actions, action{verbStop, "the operator, Deployment " + nameOf(o), func(ctx context.Context) error {
			err := u.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)))
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			return u.gone(ctx, func(ctx context.Context) (left []string, _ error) {
				err := u.each(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), func(pod *unstructured.Unstructured) { left = append(left, "pod "+nameOf(pod)) },
					client.InNamespace(o.GetNamespace()), operatorLabels)
				return left, err
			})
		}})
	}, operatorLabels)
	return actions, err
}

// webhooks removes the webhooks, which refuse changes when no operator answers.
func (u *uninstaller) webhooks(ctx context.Context) ([]action, error) {
	return u.deletions(ctx, webhookKind, func(o *unstructured.Unstructured) bool { return o.GetName() == operator.WebhookConfiguration })
}

// runs removes what runs have in the lab's namespace, except Secrets that tell how to stop a device.
func (u *uninstaller) runs(ctx context.Context) (actions []action, _ error) {
	for _, kind := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod"), labobjects.NetworkGVK, corev1.SchemeGroupVersion.WithKind("Secret")} {
		some, err := u.deletions(ctx, kind, func(o *unstructured.Unstructured) bool {
			return o.GetLabels()[labobjects.LabelRole] != labobjects.RoleDevice || kind.Kind != "Secret"
		}, client.InNamespace(u.lab), client.HasLabels{labobjects.LabelUID})
		if err != nil {
			return nil, err
		}
		actions = append(actions, some...)
	}
	return actions, nil
}

// archived releases parts of results and snapshots, before their benchmarks: while a benchmark has its
// finalizers there may be others.
func (u *uninstaller) archived(ctx context.Context) ([]action, error) {
	results, err := u.releases(ctx, v1alpha1.GroupVersion.WithKind("BenchmarkResult"))
	if err != nil {
		return nil, err
	}
	snapshots, err := u.releases(ctx, v1alpha1.GroupVersion.WithKind("BenchmarkSnapshot"))
	return append(results, snapshots...), err
}

func (u *uninstaller) benchmarks(ctx context.Context) ([]action, error) {
	return u.releases(ctx, v1alpha1.GroupVersion.WithKind("Benchmark"))
}

func (u *uninstaller) beds(ctx context.Context) ([]action, error) {
	return u.releases(ctx, v1alpha1.GroupVersion.WithKind("TestBed"))
}

// devices releases the Secrets of devices. They stay unless they are being deleted, since they have what
// it takes to stop the devices.
func (u *uninstaller) devices(ctx context.Context) ([]action, error) {
	held, err := u.heldDevices(ctx)
	if err != nil {
		return nil, err
	}
	for i := range held {
		u.unstopped = append(u.unstopped, deviceText(&held[i])+" was not stopped: there, stop its containers (containerlab destroy --cleanup)")
	}
	return u.releases(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), client.InNamespace(u.lab), client.HasLabels{labobjects.LabelUID})
}

// definitions removes the definitions with all objects, and waits until they are gone.
func (u *uninstaller) definitions(ctx context.Context) ([]action, error) {
	if !u.crds {
		return nil, nil
	}
	actions, err := u.deletions(ctx, definitionKind, isOurDefinition)
	if len(actions) == 0 || err != nil {
		return nil, err
	}
	last := &actions[len(actions)-1]
	deleting := last.do
	last.do = func(ctx context.Context) error {
		if err := deleting(ctx); err != nil {
			return err
		}
		return u.gone(ctx, u.ourDefinitions)
	}
	return actions, nil
}

// ourDefinitions names the definitions of NoDrop.
func (u *uninstaller) ourDefinitions(ctx context.Context) (names []string, _ error) {
	err := u.each(ctx, definitionKind, func(o *unstructured.Unstructured) {
		if isOurDefinition(o) {
			names = append(names, "definition "+o.GetName())
		}
	})
	return names, err
}

func isOurDefinition(o *unstructured.Unstructured) bool {
	return strings.HasSuffix(o.GetName(), "."+v1alpha1.GroupVersion.Group)
}

// left names what is not removed.
func (u *uninstaller) left(ctx context.Context) ([]string, error) {
	left := u.unstopped
	definitions, err := u.ourDefinitions(ctx)
	if err != nil {
		return nil, err
	}
	if len(definitions) > 0 && !u.crds {
		left = append(left, fmt.Sprintf("%d definitions with all Benchmarks, results and TestBeds (--crds removes them)", len(definitions)))
	}
	var roles int
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		err := u.each(ctx, schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}, func(o *unstructured.Unstructured) {
			if strings.HasPrefix(o.GetName(), "nodrop-") {
				roles++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if roles > 0 {
		left = append(left, fmt.Sprintf("%d ClusterRoles and ClusterRoleBindings with names that begin with nodrop- (helm uninstall nodrop removes them, or kubectl delete)", roles))
	}
	namespace := &corev1.Namespace{}
	if err := u.client.Get(ctx, client.ObjectKey{Name: u.lab}, namespace); err == nil {
		left = append(left, fmt.Sprintf("namespace %s with ConfigMaps and Secrets of the lab (kubectl delete namespace %s)", u.lab, u.lab))
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading namespace %s: %w", u.lab, err)
	}
	return left, nil
}

// releases removes the finalizers of NoDrop from all objects of a kind.
func (u *uninstaller) releases(ctx context.Context, kind schema.GroupVersionKind, selection ...client.ListOption) (actions []action, _ error) {
	err := u.each(ctx, kind, func(o *unstructured.Unstructured) {
		if !slices.ContainsFunc(o.GetFinalizers(), isOurFinalizer) {
			return
		}
		held := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}}
		held.SetGroupVersionKind(kind)
		actions = append(actions, action{verbRelease, kind.Kind + " " + nameOf(o), func(ctx context.Context) error { return u.release(ctx, held) }})
	}, selection...)
	return actions, err
}

// release removes the finalizers of NoDrop from an object, unless another one has its name by now.
func (u *uninstaller) release(ctx context.Context, held *metav1.PartialObjectMetadata) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := held.DeepCopy()
		if err := u.client.Get(ctx, client.ObjectKeyFromObject(held), now); err != nil || now.UID != held.UID {
			return err
		}
		for _, finalizer := range slices.DeleteFunc(slices.Clone(now.Finalizers), func(f string) bool { return !isOurFinalizer(f) }) {
			if err := kit.RemoveFinalizer(ctx, u.client, now, finalizer, v1alpha1.LabelUnarchived); err != nil {
				return err
			}
		}
		return nil
	})
	return client.IgnoreNotFound(err)
}

func isOurFinalizer(finalizer string) bool {
	return strings.HasPrefix(finalizer, v1alpha1.GroupVersion.Group+"/")
}

// deletions deletes the objects of a kind that a function selects.
func (u *uninstaller) deletions(ctx context.Context, kind schema.GroupVersionKind, selects func(*unstructured.Unstructured) bool, selection ...client.ListOption) (actions []action, _ error) {
	err := u.each(ctx, kind, func(o *unstructured.Unstructured) {
		if !selects(o) || o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
			return
		}
		uid := o.GetUID()
		actions = append(actions, action{verbDelete, kind.Kind + " " + nameOf(o), func(ctx context.Context) error {
			return client.IgnoreNotFound(u.client.Delete(ctx, o, client.Preconditions{UID: &uid}))
		}})
	}, selection...)
	return actions, err
}

// each passes the objects of a kind to a function, page by page. A kind that the cluster does not have
// has none.
func (u *uninstaller) each(ctx context.Context, kind schema.GroupVersionKind, do func(*unstructured.Unstructured), selection ...client.ListOption) error {
	const size = 200
	empty := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	for page, err := range pages.All(ctx, u.client, size, empty, selection...) {
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
	}
	return nil
}

// gone waits until a function names no object any more.
func (u *uninstaller) gone(ctx context.Context, list func(context.Context) (left []string, _ error)) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := list(ctx)
		if err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%w: still there are %s", context.Cause(ctx), strings.Join(left, ", ")), err)
		case <-ticker.C:
			if err != nil {
				return err
			}
		}
	}
}

// nameOf returns namespace/name of an object, or its name.
func nameOf(o client.Object) string {
	return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

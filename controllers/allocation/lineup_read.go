package allocation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// ReadLineupInput returns these beds and benchmarks with the other objects that places in the queue
// depend on. It leaves out objects that the reader is not allowed to see: access by
// labels of a namespace, for example, is then not known. The caller sets Now.
func ReadLineupInput(ctx context.Context, c client.Reader, beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) (LineupInput, error) {
	lab := LineupInput{Beds: beds, Benchmarks: benchmarks}
	policy := &v1alpha1.LabPolicy{}
	switch err := c.Get(ctx, client.ObjectKey{Name: v1alpha1.LabPolicyName}, policy); {
	case err == nil:
		lab.Policy = policy
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err):
		return lab, fmt.Errorf("reading the LabPolicy: %w", err)
	}
	var names []string
	seen := map[string]bool{}
	for i := range benchmarks {
		if name := benchmarks[i].Namespace; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	var err error
	if lab.Namespaces, err = readNamespaces(ctx, c, names); err != nil {
		return lab, err
	}
	lab.Profiles, err = readProfiles(ctx, c, names)
	return lab, err
}

// listAllowed lists objects, and reports whether the reader is allowed to.
func listAllowed(ctx context.Context, c client.Reader, list client.ObjectList, what string, opts ...client.ListOption) (may bool, _ error) {
	err := c.List(ctx, list, opts...)
	switch {
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("listing %s: %w", what, err)
	}
	return true, nil
}

// readNamespaces reads namespaces, whose labels decide on access.
func readNamespaces(ctx context.Context, c client.Reader, names []string) ([]corev1.Namespace, error) {
	var all corev1.NamespaceList
	if may, err := listAllowed(ctx, c, &all, "the namespaces"); may || err != nil {
		return all.Items, err
	}
	for _, name := range names {
		var ns corev1.Namespace
		switch err := c.Get(ctx, client.ObjectKey{Name: name}, &ns); {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			ns.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}
		case err != nil:
			return nil, fmt.Errorf("reading namespace %s: %w", name, err)
		}
		all.Items = append(all.Items, ns)
	}
	return all.Items, nil
}

// readProfiles reads the TrafficProfiles of all namespaces, or else of these.
func readProfiles(ctx context.Context, c client.Reader, namespaces []string) ([]v1alpha1.TrafficProfile, error) {
	var all v1alpha1.TrafficProfileList
	if may, err := listAllowed(ctx, c, &all, "the TrafficProfiles"); may || err != nil {
		return all.Items, err
	}
	var profiles []v1alpha1.TrafficProfile
	for _, name := range namespaces {
		var own v1alpha1.TrafficProfileList
		if _, err := listAllowed(ctx, c, &own, "the TrafficProfiles of namespace "+name, client.InNamespace(name)); err != nil {
			return nil, err
		}
		profiles = append(profiles, own.Items...)
	}
	return profiles, nil
}

// WaitingFrom returns a function that returns what Waiting does. It has the other objects of the lab
// from the reader, and DefaultPolicy and Deadlines from set. Each call judges again only those benchmarks and beds whose specs have
// changed since the last call.
func WaitingFrom(c client.Reader, set LineupInput, now func() time.Time) func(context.Context, []v1alpha1.TestBed, []v1alpha1.Benchmark) ([]queue.Waiting, error) {
	var kept judgments
	return func(ctx context.Context, beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) ([]queue.Waiting, error) {
		lab, err := ReadLineupInput(ctx, c, beds, benchmarks)
		if err != nil {
			return nil, err
		}
		lab.DefaultPolicy, lab.Deadlines, lab.Now = set.DefaultPolicy, set.Deadlines, now()
		kept.mu.Lock()
		defer kept.mu.Unlock()
		return listWaiting(lab, &kept), nil
	}
}

package testserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Kinds returns an empty list of each kind of NoDrop.
func Kinds() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.BenchmarkScheduleList{}, &v1alpha1.BenchmarkList{}, &v1alpha1.BenchmarkResultList{}, &v1alpha1.BenchmarkSnapshotList{},
		&v1alpha1.ReservationList{}, &v1alpha1.NotificationSinkList{}, &v1alpha1.LabPolicyList{}, &v1alpha1.TestBedList{}, &v1alpha1.TrafficProfileList{},
	}
}

// DeleteAll deletes all objects of the kinds of lists, one kind after the other, at once and without regard to their finalizers. What
// the API server has made itself stays.
func DeleteAll(ctx context.Context, c client.Client, lists ...client.ObjectList) error {
	for _, list := range lists {
		if err := c.List(ctx, list); err != nil {
			return fmt.Errorf("listing what is to be deleted: %w", err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
		for _, item := range items {
			if err := deleteMade(ctx, c, item.(client.Object)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteMade deletes an object unless the API server has made it.
func deleteMade(ctx context.Context, c client.Client, o client.Object) error {
	_, bootstrapped := o.GetLabels()["kubernetes.io/bootstrapping"]
	if bootstrapped || o.GetNamespace() == metav1.NamespaceSystem || o.GetNamespace() == metav1.NamespaceDefault && o.GetName() == "kubernetes" {
		return nil
	}
	if len(o.GetFinalizers()) > 0 {
		// An update would also send the spec as Go writes it, "1m0s" in place of "60s", which the API server counts as a change.
		if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing the finalizers of %s: %w", o.GetName(), err)
		}
	}
	if err := c.Delete(ctx, o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s: %w", o.GetName(), err)
	}
	return nil
}

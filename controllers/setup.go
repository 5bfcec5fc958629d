package controllers

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/controllers/beds"
	"nodrop.dev/nodrop/controllers/benchmarks"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/notifications"
	"nodrop.dev/nodrop/controllers/quotas"
	"nodrop.dev/nodrop/controllers/reservations"
	"nodrop.dev/nodrop/controllers/schedules"
	"nodrop.dev/nodrop/controllers/storing"
)

// SetupWithManager adds all controllers to a manager.
func SetupWithManager(mgr ctrl.Manager, o kit.Options) error {
	o = o.WithDefaults()
	base := kit.Base{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Recorder:   mgr.GetEventRecorder("nodrop-operator"),
		Timers:     kit.NewTimers(),
		InProgress: kit.NewInProgress(),
		Options:    o,
	}
	poller := benchmarks.NewPoller(o.Runner, o.Poll)
	if err := mgr.Add(poller); err != nil {
		return fmt.Errorf("adding the poller of runners: %w", err)
	}
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.TestBed{}, kit.IndexLease, kit.LeaseUID)
	if err != nil {
		return fmt.Errorf("indexing test beds: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Benchmark{}, benchmarks.IndexGang, benchmarks.GangName); err != nil {
		return fmt.Errorf("indexing benchmarks: %w", err)
	}
	allocator := allocation.New(base, mgr.GetCache())
	if err := mgr.Add(allocator); err != nil {
		return fmt.Errorf("adding the allocator: %w", err)
	}
	if err := benchmarks.NewReconciler(base, poller).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of benchmarks: %w", err)
	}
	if err := (&beds.Reconciler{Base: base}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of test beds: %w", err)
	}
	if err := reservations.NewReconciler(base).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of reservations: %w", err)
	}
	if err := (&quotas.Reconciler{Base: base}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of quotas: %w", err)
	}
	if err := storing.NewArchiveReconciler(base).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of the archive: %w", err)
	}
	if o.Metrics != nil {
		if err := storing.NewRecordReconciler(base).Setup(mgr); err != nil {
			return fmt.Errorf("setting up the controller of metrics: %w", err)
		}
		if err := mgr.Add(&allocation.BedSeries{Base: base, Allocator: allocator}); err != nil {
			return fmt.Errorf("adding the series of the beds: %w", err)
		}
	}
	if o.Archive != nil {
		if err := (&storing.TrendReconciler{Base: base}).Setup(mgr); err != nil {
			return fmt.Errorf("setting up the controller of trends: %w", err)
		}
	}
	if err := mgr.Add(&straySweep{base}); err != nil {
		return fmt.Errorf("adding the sweep of strays: %w", err)
	}
	if err := (&schedules.Reconciler{Base: base}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of schedules: %w", err)
	}
	if err := (&notifications.SinkReconciler{Base: base}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of notification sinks: %w", err)
	}
	if err := (&notifications.NotifyReconciler{Base: base, Lines: notifications.NewLines()}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of notifications: %w", err)
	}
	if err := (&storing.RetentionReconciler{Base: base}).Setup(mgr); err != nil {
		return fmt.Errorf("setting up the controller of retention: %w", err)
	}
	return nil
}

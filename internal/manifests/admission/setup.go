package admission

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// Paths on which the webhooks are served.
const (
	BenchmarkPath = "/validate-nodrop-dev-v1alpha1-benchmark"
	SchedulePath  = "/validate-nodrop-dev-v1alpha1-benchmarkschedule"
	TestBedPath   = "/validate-nodrop-dev-v1alpha1-testbed"

	ReservationPath = "/validate-nodrop-dev-v1alpha1-reservation"
	SinkPath        = "/validate-nodrop-dev-v1alpha1-notificationsink"
)

// Option is a setting of the lab by which objects are judged.
type Option func(*settings)

type settings struct {
	benchmarks *Benchmarks
	sinks      Sinks
}

// WithKueue sets whether Kueue admits benchmarks, and in which namespaces all benchmarks
// must name one of its queues; nil selects no namespace.
func WithKueue(enabled bool, required labels.Selector) Option {
	return func(s *settings) { s.benchmarks.Kueue, s.benchmarks.KueueRequired = enabled, required }
}

// WithReceivers sets the receivers of notifications that the lab allows; without it none.
func WithReceivers(receivers Receivers) Option {
	return func(s *settings) { s.sinks.Receivers = receivers }
}

// SetupWithManager serves the webhooks with the manager's webhook server.
// LabNamespace is the lab's own. DefaultPolicy is that of the lab, and counts count the
// decisions; both may be nil.
func SetupWithManager(mgr ctrl.Manager, labNamespace string, defaultPolicy *v1alpha1.TrafficPolicy, counts *opmetrics.Operator, options ...Option) error {
	benchmarks := &Benchmarks{Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), LabNamespace: labNamespace, DefaultPolicy: defaultPolicy}
	all := settings{benchmarks: benchmarks}
	for _, option := range options {
		option(&all)
	}
	err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.Benchmark{}).
		WithValidator(counted[*v1alpha1.Benchmark]{benchmarks, "Benchmark", counts}).
		WithValidatorCustomPath(BenchmarkPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of benchmarks: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &v1alpha1.BenchmarkSchedule{}).
		WithValidator(counted[*v1alpha1.BenchmarkSchedule]{&Schedules{Benchmarks: benchmarks, Now: time.Now}, "BenchmarkSchedule", counts}).
		WithValidatorCustomPath(SchedulePath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of schedules: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &v1alpha1.TestBed{}).
		WithValidator(counted[*v1alpha1.TestBed]{&TestBeds{}, "TestBed", counts}).
		WithValidatorCustomPath(TestBedPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of test beds: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &v1alpha1.Reservation{}).
		WithValidator(counted[*v1alpha1.Reservation]{&Reservations{Live: mgr.GetAPIReader(), LabNamespace: labNamespace, Now: time.Now}, "Reservation", counts}).
		WithValidatorCustomPath(ReservationPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of reservations: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &v1alpha1.NotificationSink{}).
		WithValidator(counted[*v1alpha1.NotificationSink]{&all.sinks, "NotificationSink", counts}).
		WithValidatorCustomPath(SinkPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of notification sinks: %w", err)
	}
	return nil
}

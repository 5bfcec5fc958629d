package admission

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

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
	ProfilePath     = "/validate-nodrop-dev-v1alpha1-trafficprofile"
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
	objects := newObjectCounts(mgr.GetClient(), mgr.GetCache(), labNamespace)
	schedules := &Schedules{Benchmarks: benchmarks, Now: time.Now}
	reservations := &Reservations{Live: mgr.GetAPIReader(), LabNamespace: labNamespace, Now: time.Now}
	mgr.GetWebhookServer().Register(PacePath, &admission.Webhook{Handler: newWritePace()})
	return errors.Join(
		serve(mgr, BenchmarkPath, "Benchmark", &v1alpha1.Benchmark{}, benchmarks, objects, counts),
		serve(mgr, SchedulePath, "BenchmarkSchedule", &v1alpha1.BenchmarkSchedule{}, schedules, objects, counts),
		serve(mgr, ProfilePath, "TrafficProfile", &v1alpha1.TrafficProfile{}, nothing[*v1alpha1.TrafficProfile]{}, objects, counts),
		serve(mgr, ReservationPath, "Reservation", &v1alpha1.Reservation{}, reservations, objects, counts),
		serve(mgr, SinkPath, "NotificationSink", &v1alpha1.NotificationSink{}, &all.sinks, objects, counts),
		handle(mgr, TestBedPath, "TestBed", &v1alpha1.TestBed{}, &TestBeds{}, counts),
	)
}

// serve serves the webhook of a kind that teams write.
func serve[T client.Object](mgr ctrl.Manager, path, kind string, o T, v admission.Validator[T], objects *objectCounts, counts *opmetrics.Operator) error {
	return handle(mgr, path, kind, o, bounded[T]{v, kind, objects}, counts)
}

// handle serves a webhook.
func handle[T client.Object](mgr ctrl.Manager, path, kind string, o T, v admission.Validator[T], counts *opmetrics.Operator) error {
	err := ctrl.NewWebhookManagedBy(mgr, o).
		WithValidator(counted[T]{v, kind, counts}).
		WithValidatorCustomPath(path).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of kind %s: %w", kind, err)
	}
	return nil
}

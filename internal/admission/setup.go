package admission

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Paths on which the webhooks are served.
const (
	BenchmarkPath = "/validate-nodrop-dev-v1alpha1-benchmark"
	TestBedPath   = "/validate-nodrop-dev-v1alpha1-testbed"
)

// SetupWithManager serves the webhooks with the manager's webhook server.
// DefaultPolicy is that of the lab; it may be nil.
func SetupWithManager(mgr ctrl.Manager, defaultPolicy *v1alpha1.TrafficPolicy) error {
	err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.Benchmark{}).
		WithValidator(&Benchmarks{Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), DefaultPolicy: defaultPolicy}).
		WithValidatorCustomPath(BenchmarkPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of benchmarks: %w", err)
	}
	err = ctrl.NewWebhookManagedBy(mgr, &v1alpha1.TestBed{}).
		WithValidator(&TestBeds{}).
		WithValidatorCustomPath(TestBedPath).
		Complete()
	if err != nil {
		return fmt.Errorf("setting up the webhook of test beds: %w", err)
	}
	return nil
}

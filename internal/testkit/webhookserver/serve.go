// Package webhookserver serves the webhooks of NoDrop to API servers of tests.
package webhookserver

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// Serve serves the webhooks where they were installed, and returns when they answer. The test ends them, unless it has called
// stop before. Counts, which may be nil, count the decisions.
func Serve(t testing.TB, cfg *rest.Config, installed envtest.WebhookInstallOptions, counts *opmetrics.Operator, options ...admission.Option) (stop func()) {
	t.Helper()
	mgr, err := operator.NewManager(cfg, operator.Config{
		MetricsAddress: "0", HealthAddress: "0",
		WebhookHost: installed.LocalServingHost, WebhookPort: installed.LocalServingPort, WebhookCertDir: installed.LocalServingCertDir,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := admission.SetupWithManager(mgr, operator.DefaultLabNamespace, nil, counts, options...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving webhooks: %v", err)
		}
	})
	t.Cleanup(stop)
	started := mgr.GetWebhookServer().StartedChecker()
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return started(&http.Request{}) == nil, nil
	})
	if err != nil {
		t.Fatalf("the webhooks do not answer: %v", err)
	}
	return stop
}

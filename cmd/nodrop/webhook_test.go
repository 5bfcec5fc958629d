//go:build !standalone

package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// judgeChanges lets the webhook of benchmarks judge changes, until the test ends. It does not judge new benchmarks, whose beds
// need not exist here.
func (c *apiServer) judgeChanges(t *testing.T) {
	t.Helper()
	all := kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "webhook", "manifests.yaml"))
	text, err := yaml.Marshal(all[0])
	if err != nil {
		t.Fatal(err)
	}
	webhooks := &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.Unmarshal(text, webhooks); err != nil {
		t.Fatal(err)
	}
	webhooks.Webhooks = slices.DeleteFunc(webhooks.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name != "benchmarks.nodrop.dev" })
	webhooks.Webhooks[0].Rules[0].Operations = []admissionv1.OperationType{admissionv1.Update}
	options := envtest.WebhookInstallOptions{ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{webhooks}}
	if err := options.Install(c.rest); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := errors.Join(c.client.Delete(context.Background(), webhooks), options.Cleanup()); err != nil {
			t.Error(err)
		}
	})
	mgr, err := operator.NewManager(c.rest, operator.Config{
		MetricsAddress: "0", HealthAddress: "0",
		WebhookHost: options.LocalServingHost, WebhookPort: options.LocalServingPort, WebhookCertDir: options.LocalServingCertDir,
	})
	if err == nil {
		err = admission.SetupWithManager(mgr, operator.DefaultLabNamespace, nil, nil)
	}
	if err != nil {
		done <- nil
		t.Fatal(err)
	}
	go func() { done <- mgr.Start(ctx) }()
	started := mgr.GetWebhookServer().StartedChecker()
	eventually(t, "the webhook", func() bool { return started(&http.Request{}) == nil }, func() string { return "it does not answer" })
}

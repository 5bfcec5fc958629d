//go:build !standalone

package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/webhookserver"
)

// judgeChanges lets the webhook of benchmarks judge changes, until the test ends. It does not judge new benchmarks, whose beds
// need not exist here.
func (c *apiServer) judgeChanges(t *testing.T) {
	t.Helper()
	webhooks := &admissionv1.ValidatingWebhookConfiguration{}
	all := kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "webhook", "manifests.yaml"))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[0].Object, webhooks); err != nil {
		t.Fatal(err)
	}
	webhooks.Webhooks = slices.DeleteFunc(webhooks.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name != "benchmarks.nodrop.dev" })
	webhooks.Webhooks[0].Rules[0].Operations = []admissionv1.OperationType{admissionv1.Update}
	options := envtest.WebhookInstallOptions{ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{webhooks}}
	if err := options.Install(c.rest); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.client.Delete(context.Background(), webhooks), options.Cleanup()); err != nil {
			t.Error(err)
		}
	})
	webhookserver.Serve(t, c.rest, options, nil)
}

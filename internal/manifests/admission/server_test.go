package admission_test

import (
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/testkit/webhookserver"
)

// server is an API server with the webhooks running.
type server struct {
	*WithT
	t *testing.T
	// c asks for strict validation, as kubectl apply does.
	c        client.Client
	cfg      *rest.Config
	warnings *warnings
	// counts count the decisions.
	counts *opmetrics.Operator
	// stop ends the webhooks.
	stop func()
}

// warnings keeps what the API server warned of.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

func startServer(t *testing.T) *server {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	cfg, env := testserver.StartAPIServer(t, func(env *envtest.Environment) {
		env.WebhookInstallOptions = envtest.WebhookInstallOptions{
			Paths: []string{filepath.Join(kubetest.Root(t), "config", "webhook", "manifests.yaml")},
		}
	})
	s := &server{WithT: NewWithT(t), t: t, cfg: cfg, warnings: &warnings{}, counts: opmetrics.NewOperator()}
	s.stop = webhookserver.Serve(t, cfg, env.WebhookInstallOptions, s.counts,
		admission.WithKueue(true, labels.SelectorFromSet(labels.Set{"kueue-managed": "true"})))

	scheme, err := operator.Scheme()
	s.Expect(err).NotTo(HaveOccurred())
	strict := rest.CopyConfig(cfg)
	strict.WarningHandler = s.warnings
	c, err := client.New(strict, client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())
	s.c = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	for _, name := range []string{"nodrop-lab", "team-routing"} {
		ns := &corev1.Namespace{}
		ns.Name = name
		s.Expect(s.c.Create(t.Context(), ns)).To(Succeed())
	}
	return s
}

// load reads the objects of a manifest.
func (s *server) load(elem ...string) []*unstructured.Unstructured {
	s.t.Helper()
	return kubetest.Objects(s.t, filepath.Join(append([]string{kubetest.Root(s.t)}, elem...)...))
}

// apply does what kubectl apply does: it creates an object, or changes the one
// that is there.
func (s *server) apply(o *unstructured.Unstructured) error {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(o.GroupVersionKind())
	err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(o), there)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		return s.c.Create(s.t.Context(), o)
	}
	o.SetResourceVersion(there.GetResourceVersion())
	return s.c.Update(s.t.Context(), o)
}

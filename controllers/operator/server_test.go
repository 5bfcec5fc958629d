package operator_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// server is the API server of all tests, which one test has at a time: a start takes more processor time than most of the tests.
// The first test that needs it starts it.
var server struct {
	// admin has all rights, and operator the rights of config/rbac.
	admin, operator *rest.Config
	stop            func() error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if server.stop != nil {
		if err := server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// startServer starts the API server, once.
func startServer(t *testing.T) {
	t.Helper()
	if server.stop != nil {
		return
	}
	cfg, env := testserver.LaunchAPIServer(t, nil)
	server.admin, server.stop = cfg, env.Stop
	user, err := env.AddUser(envtest.User{Name: "system:serviceaccount:" + operator.DefaultNamespace + ":nodrop-operator", Groups: []string{"system:serviceaccounts", "system:authenticated"}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	server.operator = user.Config()
}

// namespace creates a namespace. One that an earlier test made is still there: no controller of this API server removes it.
func (r *rotation) namespace(name string) {
	r.t.Helper()
	err := r.admin.Create(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	r.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// wipe removes what a test made, but its namespaces. Webhooks are removed first: their operators have ended, and the API
// server may ask them until it has seen that.
func (r *rotation) wipe() {
	lists := slices.Concat([]client.ObjectList{&admissionv1.ValidatingWebhookConfigurationList{}}, testserver.Kinds(), []client.ObjectList{
		&corev1.PodList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{}, &coordinationv1.LeaseList{},
		&rbacv1.RoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{},
	})
	r.Eventually(func() error { return testserver.DeleteAll(context.Background(), r.admin, lists...) }).Should(Succeed(), "removing what the test made")
}

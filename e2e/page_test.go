//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// visitor opens the lab page with a token.
type visitor struct {
	lab   *lab
	token string
}

// TestLabPage opens the page of the real operator by its Service, with tokens of two teams of
// which one has a benchmark. The proxy of the API server does not lead to it with a token. On
// the machine of an administrator, kubectl nodrop page shows the same.
func TestLabPage(t *testing.T) {
	long(t) // TestNightly opens the page with tokens of two teams, and TestLabPage of controllers/operator everything on it.
	l, g := newLab(t), NewWithT(t)
	l.helm(t, "labPage.enabled=true")
	t.Cleanup(func() { l.helm(t, "labPage.enabled=false") })
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-switching"}}
	g.Expect(l.Create(t.Context(), namespace)).To(Succeed())
	t.Cleanup(func() { g.Expect(l.Delete(context.Background(), namespace)).To(Succeed()) })
	routing, switching := l.visitor(t, "page-routing", teamNamespace), l.visitor(t, "page-switching", namespace.Name)

	l.apply(t, "config", "samples", "sim")
	key := client.ObjectKey{Namespace: teamNamespace, Name: "nexus9508-ipv4"}
	t.Cleanup(func() {
		l.remove(t, objects.Benchmark(key.Namespace, key.Name))
	})
	b := l.finish(t, key)
	path := "/benchmarks/" + key.String()
	// The API server's authorizer learns of a binding a moment later.
	g.Eventually(func() (int, error) { status, _, err := routing.open(path); return status, err }, 2*time.Minute, poll).Should(Equal(http.StatusOK))
	for path, want := range map[string]string{
		"/": "nexus9508", "/timeline": "nexus9508", "/benchmarks?view=finished": key.Name, path: string(b.Status.Phase),
		"/results/" + key.String(): "Benchmark report", "/reservations": "No reservation",
	} {
		status, text, err := routing.open(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(Equal(http.StatusOK), path)
		g.Expect(text).To(ContainSubstring(want), path)
	}
	g.Eventually(func() (string, error) {
		_, text, err := routing.open("/history/" + key.String())
		return text, err
	}, time.Minute, poll).Should(ContainSubstring("1 run from"), "the archive of the operator")

	for _, path := range []string{"/", "/timeline", "/benchmarks?view=finished", "/beds/nexus9508"} {
		status, text, err := switching.open(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(Equal(http.StatusOK), path)
		g.Expect(text).NotTo(ContainSubstring(teamNamespace), path)
	}
	for _, path := range []string{path, "/results/" + key.String(), "/history/" + key.String()} {
		status, _, err := switching.open(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(Equal(http.StatusNotFound), path)
	}
	status, _, err := visitor{l, "nonsense"}.open("/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusUnauthorized))
	g.Expect(l.throughAPIServer(t, routing)).To(Equal(http.StatusUnauthorized), "the API server passes tokens on")
	g.Expect(l.log(t, l.operatorPod(t))).NotTo(ContainSubstring(routing.token[len(routing.token)-40:]))

	l.localPage(t, path, string(b.Status.Phase))
}

// visitor is an account that has the role view in a namespace.
func (l *lab) visitor(t *testing.T, name, namespace string) visitor {
	t.Helper()
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	may := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
	}
	for _, o := range []client.Object{account, may} {
		g.Expect(l.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { g.Expect(client.IgnoreNotFound(l.Delete(context.Background(), o))).To(Succeed()) })
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(l.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	return visitor{l, token.Status.Token}
}

// open asks the Service of the page, whose certificate is checked as docs/lab-page.md says.
func (v visitor) open(path string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var secret corev1.Secret
	if err := v.lab.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operator.WebhookSecret}, &secret); err != nil {
		return 0, "", err
	}
	var service corev1.Service
	if err := v.lab.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operator.PageService}, &service); err != nil {
		return 0, "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: operator.PageService + "." + operatorNamespace + ".svc",
	}}}
	return ask(ctx, &c, fmt.Sprintf("https://%s:8444%s", service.Spec.ClusterIP, path), v.token)
}

func ask(ctx context.Context, c *http.Client, url, token string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// throughAPIServer requests the page through the proxy of the API server, with a token, as a
// user with the right to use the proxy. It returns the status.
func (l *lab) throughAPIServer(t *testing.T, v visitor) int {
	t.Helper()
	g := NewWithT(t)
	may := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "e2e-page-proxy"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"services/proxy"}, ResourceNames: []string{"https:" + operator.PageService + ":page"}, Verbs: []string{"get"},
	}}}
	bound := &rbacv1.RoleBinding{
		ObjectMeta: may.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: may.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "page-routing"}},
	}
	for _, o := range []client.Object{may, bound} {
		g.Expect(l.Create(t.Context(), o)).To(Succeed())
		t.Cleanup(func() { g.Expect(l.Delete(context.Background(), o)).To(Succeed()) })
	}
	config, err := ctrl.GetConfig()
	g.Expect(err).NotTo(HaveOccurred())
	config = rest.AnonymousClientConfig(config)
	c, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/services/https:%s:page/proxy/", config.Host, operatorNamespace, operator.PageService)
	var status int
	g.Eventually(func(g Gomega) {
		var text string
		status, text, err = ask(t.Context(), c, url, v.token)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).NotTo(ContainSubstring("is forbidden"))
		g.Expect(text).To(ContainSubstring("Who are you?"))
	}, time.Minute, poll).Should(Succeed())
	return status
}

// localPage runs kubectl nodrop page with the client certificate of an administrator.
func (l *lab) localPage(t *testing.T, path, want string) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", "nodrop", "page")
	out, err := cmd.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmd.Start()).To(Succeed())
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	buffer := make([]byte, 256)
	n, err := out.Read(buffer)
	g.Expect(err).NotTo(HaveOccurred())
	base := strings.TrimSuffix(strings.TrimSpace(string(buffer[:n])), "/")
	status, text, err := ask(ctx, http.DefaultClient, base+path, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusOK))
	g.Expect(text).To(ContainSubstring(want))
}

package operator_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/freeport"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// browser opens the lab page as one person.
type browser struct {
	r     *rotation
	port  int
	token string
}

func (b browser) open(method, path string) (status int, text string, err error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.r.bundle())
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: operator.PageService + "." + operator.DefaultNamespace + ".svc",
	}}}
	request, err := http.NewRequestWithContext(b.r.t.Context(), method, fmt.Sprintf("https://localhost:%d%s", b.port, path), nil)
	if err != nil {
		return 0, "", err
	}
	if b.token != "" {
		request.Header.Set("Authorization", "Bearer "+b.token)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

func (b browser) get(path string) (string, error) {
	status, text, err := b.open(http.MethodGet, path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, text)
	}
	return text, err
}

// TestLabPage serves the page from a standby replica with the rights of the chart, to people
// of two teams, an owner of the lab and a stranger, whose rights the API server knows. Each
// person sees only what they may read, which is of other teams the names in the status of TestBeds,
// and no token is logged.
func TestLabPage(t *testing.T) {
	r := newRotation(t)
	files := filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "rbac", "page.yaml")
	for _, o := range kubetest.Objects(t, files) {
		r.Expect(r.admin.Create(t.Context(), o)).To(Succeed())
	}
	webhook, port := freeport.Get(t), freeport.Get(t)
	r.installWebhooks(webhook)
	r.ignoreWebhooks()
	var mu sync.Mutex
	var logged strings.Builder
	t.Cleanup(func() { ctrl.SetLogger(logr.Discard()) })
	ctrl.SetLogger(funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		logged.WriteString(prefix + " " + args + "\n")
	}, funcr.Options{Verbosity: 4}))
	mgr, err := operator.NewManager(r.replicas, operator.Config{
		Namespace: operator.DefaultNamespace, Lab: labobjects.Settings{Namespace: operator.DefaultLabNamespace},
		WebhookHost: "localhost", WebhookPort: webhook, MetricsAddress: "0", HealthAddress: "0", LeaderElect: true,
		PageAddress: fmt.Sprintf("localhost:%d", port), WebhookCertInterval: 50 * time.Millisecond,
	})
	r.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})

	for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), "config", "rbac", "user_roles.yaml")) {
		r.Expect(client.IgnoreAlreadyExists(r.admin.Create(t.Context(), o))).To(Succeed())
	}
	teams := map[string]browser{}
	for _, team := range []string{"routing", "switching"} {
		r.namespace("team-" + team)
		teams[team] = browser{r, port, r.token(team)}
		kubetest.Grant(t, r.admin, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-" + team, Name: "viewers"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nodrop-view"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: team}},
		})
		r.makeLab(team)
	}
	owner, stranger, nobody := browser{r, port, r.token("owner")}, browser{r, port, r.token("stranger")}, browser{r, port, ""}
	r.bind("nodrop-lab-owner", "default", "owner")

	// The operator may review access only if the chart enables the page.
	r.Eventually(func() (int, error) {
		status, _, err := owner.open(http.MethodGet, "/")
		return status, err
	}).Should(Equal(http.StatusServiceUnavailable))
	r.bind("nodrop-page-auth", operator.DefaultNamespace, "nodrop-operator")
	r.Eventually(func() (string, error) { return owner.get("/benchmarks?view=waiting") }).Should(And(ContainSubstring("routing-waits"), ContainSubstring("switching-waits")))

	pages := []string{"/", "/timeline", "/benchmarks?view=running", "/benchmarks?view=waiting", "/benchmarks?view=finished", "/reservations", "/schedules", "/beds/bed-routing", "/beds/bed-switching"}
	for team, other := range map[string]string{"routing": "switching", "switching": "routing"} {
		for _, path := range append(pages, "/benchmarks/team-"+team+"/"+team+"-runs") {
			text, err := teams[team].get(path)
			r.Expect(err).NotTo(HaveOccurred(), path)
			r.Expect(text).NotTo(Or(ContainSubstring(other+"-waits"), ContainSubstring("purpose-"+other), ContainSubstring("/benchmarks/team-"+other), ContainSubstring("team=team-"+other)), path)
			if !showsBeds(path) {
				r.Expect(text).NotTo(Or(ContainSubstring("team-"+other), ContainSubstring(other+"-runs"), ContainSubstring(other+"-holds")), path)
			}
		}
		text, err := teams[team].get("/")
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(text).To(And(ContainSubstring("team-"+other+"/"+other+"-runs"), ContainSubstring("team-"+team+"/"+team+"-runs"), ContainSubstring("bed-"+other)))
		text, err = teams[team].get("/reservations")
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(text).To(ContainSubstring("purpose-" + team))
		for _, path := range []string{"/benchmarks/", "/results/", "/history/", "/comparisons/"} {
			status, _, err := teams[team].open(http.MethodGet, path+"team-"+other+"/"+other+"-runs")
			r.Expect(err).NotTo(HaveOccurred())
			r.Expect(status).To(Equal(http.StatusNotFound), path)
		}
		_, err = teams[team].get("/results/team-" + team + "/" + team + "-runs")
		r.Expect(err).NotTo(HaveOccurred(), "the report")
	}
	// Without a binding everybody sees beds with the names in their status, and no object of a team.
	for _, path := range pages {
		text, err := stranger.get(path)
		r.Expect(err).NotTo(HaveOccurred(), path)
		r.Expect(text).NotTo(Or(ContainSubstring("/benchmarks/team-"), ContainSubstring("-waits"), ContainSubstring("purpose-")), path)
		if !showsBeds(path) {
			r.Expect(text).NotTo(ContainSubstring("team-"), path)
		}
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, "nonsense": http.StatusUnauthorized, owner.token + "x": http.StatusUnauthorized} {
		status, _, err := browser{r, port, token}.open(http.MethodGet, "/")
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(status).To(Equal(want))
	}
	status, _, err := owner.open(http.MethodPost, "/")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(status).To(Equal(http.StatusMethodNotAllowed))
	status, _, err = nobody.open(http.MethodGet, "/static/style.css")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(status).To(Equal(http.StatusUnauthorized))

	// A right that is taken away ends within a minute.
	if !testing.Short() {
		r.Expect(r.admin.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: "viewers"}})).To(Succeed())
		r.Eventually(func() (string, error) { return teams["routing"].get("/benchmarks?view=waiting") }).ShouldNot(ContainSubstring("routing-waits"))
	}

	mu.Lock()
	defer mu.Unlock()
	for _, b := range []browser{owner, stranger, teams["routing"], teams["switching"]} {
		r.Expect(logged.String()).NotTo(ContainSubstring(b.token[len(b.token)-40:]))
	}
	r.Expect(logged.String()).NotTo(ContainSubstring("nonsense"))
}

// ignoreWebhooks lets the API server go on without an answer of the webhooks, which the
// operator of this test does not serve.
func (r *rotation) ignoreWebhooks() {
	r.t.Helper()
	var c admissionv1.ValidatingWebhookConfiguration
	r.Expect(r.admin.Get(r.t.Context(), client.ObjectKey{Name: operator.WebhookConfiguration}, &c)).To(Succeed())
	for i := range c.Webhooks {
		ignore := admissionv1.Ignore
		c.Webhooks[i].FailurePolicy = &ignore
	}
	r.Expect(r.admin.Update(r.t.Context(), &c)).To(Succeed())
}

// makeLab makes a bed that a benchmark of a team has, one that waits for it, and a
// reservation.
func (r *rotation) makeLab(team string) {
	r.t.Helper()
	bed := objects.TestBed("bed-" + team)
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{Model: v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "m", Key: "k"}}}
	bed.Spec.Engine = v1alpha1.Engine{Kind: "sim", Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	r.Expect(r.admin.Create(r.t.Context(), bed)).To(Succeed())
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for _, name := range []string{team + "-runs", team + "-waits"} {
		b := objects.Benchmark("team-"+team, name)
		b.Spec.TestBedName, b.Spec.TrafficProfileName = bed.Name, "p"
		b.Spec.Tests = []v1alpha1.Test{{Name: "t", Throughput: &v1alpha1.ThroughputTest{}}}
		r.Expect(r.admin.Create(r.t.Context(), b)).To(Succeed())
		b.Status.Phase = v1alpha1.PhaseQueued
		if strings.HasSuffix(name, "-runs") {
			b.Status.Phase, b.Status.TestBedName, b.Status.StartTime = v1alpha1.PhaseRunning, bed.Name, &now
			bed.Status.Lease = &v1alpha1.BedLease{Holder: "team-" + team + "/" + name, UID: string(b.UID), AcquireTime: now}
		}
		r.Expect(r.admin.Status().Update(r.t.Context(), b)).To(Succeed())
	}
	bed.Status.Reservations = []v1alpha1.BedReservation{{Reservation: "team-" + team + "/" + team + "-holds", From: metav1.NewTime(now.Add(time.Hour)), Until: metav1.NewTime(now.Add(2 * time.Hour))}}
	bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionUnknown, Reason: "Checking", Message: "after team-" + team + "/" + team + "-runs", LastTransitionTime: now}}
	r.Expect(r.admin.Status().Update(r.t.Context(), bed)).To(Succeed())
	r.Expect(r.admin.Create(r.t.Context(), &v1alpha1.Reservation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-" + team, Name: team + "-holds"},
		Spec:       v1alpha1.ReservationSpec{TestBedNames: []string{bed.Name}, From: metav1.NewTime(now.Add(time.Hour)), Until: metav1.NewTime(now.Add(2 * time.Hour)), Purpose: "purpose-" + team},
	})).To(Succeed())
}

// showsBeds reports whether a page shows the status of TestBeds, which names who has a bed.
func showsBeds(path string) bool {
	return path == "/" || path == "/timeline" || strings.HasPrefix(path, "/beds/")
}

package labpage

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestMeasurePage prints how long pages of a lab of 1,000 beds and 15,000 benchmarks that
// wait take, from a real API server and real caches over HTTPS, for a person who may see half
// of 40 teams. It judges nothing. NODROP_PAGE_LOAD=1 runs it, in some minutes.
func TestMeasurePage(t *testing.T) {
	if os.Getenv("NODROP_PAGE_LOAD") == "" {
		t.Skip("NODROP_PAGE_LOAD=1 measures pages of a large lab")
	}
	rc, _ := testserver.StartAPIServer(t, nil)
	rc = rest.CopyConfig(rc)
	rc.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, admin)
	token := viewer(t, admin)
	caches, err := cache.New(rc, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = caches.Start(t.Context()) }()
	c, err := rest.HTTPClientFor(rc)
	if err != nil {
		t.Fatal(err)
	}
	access, err := Delegated(rc, c)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	bundle, err := pki.IssueServer([]string{"page"}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(bundle.Cert, bundle.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{
		Page:    New(Options{Reader: caches, Results: admin, Access: access, Now: time.Now, Waiting: allocation.WaitingFrom(caches, allocation.LineupInput{}, time.Now), Log: logr.Discard()}),
		Address: address, Caches: caches, Log: logr.Discard(),
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil },
	}
	go func() { _ = server.Start(t.Context()) }()
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	open := func(path string) (time.Duration, int) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		answer, err := browser.Do(r)
		if err != nil {
			return 0, 0
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %v: %s", answer.StatusCode, err, text)
		}
		return time.Since(began), len(text)
	}
	var first time.Duration
	for size := 0; size == 0; time.Sleep(100 * time.Millisecond) {
		first, size = open("/")
	}
	t.Logf("the first page, with all rights asked for: %s", first.Round(time.Millisecond))
	for _, path := range []string{"/", "/timeline", "/benchmarks?view=waiting", "/benchmarks?view=waiting&page=75", "/beds/bed-000"} {
		var took []time.Duration
		var size int
		for range 20 {
			time.Sleep(fresh) // Each request takes a snapshot.
			d, n := open(path)
			took, size = append(took, d), n
		}
		slices.Sort(took)
		t.Logf("%-34s median %s, longest %s, %d bytes", path, took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), size)
	}
}

// fill makes the large lab in an API server.
func fill(t *testing.T, admin client.Client) {
	t.Helper()
	began := time.Now()
	var work errgroup.Group
	work.SetLimit(32)
	for i := range 40 {
		if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%02d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	beds, benchmarks := largeLab()
	for i := range beds {
		work.Go(func() error {
			b := &beds[i]
			b.Spec.Ports = nil
			b.Spec.Engine = v1alpha1.Engine{Kind: "sim", Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
			b.Spec.Device = v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{Model: v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "m", Key: "k"}}}}
			status := b.Status
			if err := admin.Create(t.Context(), b); err != nil {
				return err
			}
			b.Status = status
			for j := range b.Status.Conditions {
				b.Status.Conditions[j].Message = "-"
			}
			return admin.Status().Update(t.Context(), b)
		})
	}
	for i := range benchmarks {
		b := &benchmarks[i]
		if b.Status.Phase == v1alpha1.PhasePassed {
			continue // They are not what is measured.
		}
		work.Go(func() error {
			status := b.Status
			b.UID, b.CreationTimestamp = "", metav1.Time{}
			b.Spec.TestBedName = cmp.Or(b.Spec.TestBedName, b.Status.TestBedName)
			rest := metav1.Duration{Duration: time.Second}
			b.Spec.SettleTime, b.Spec.RestTime = rest, &rest
			b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{TrialDuration: metav1.Duration{Duration: time.Minute}, SearchTrialDuration: metav1.Duration{Duration: time.Second}}}}
			if err := admin.Create(t.Context(), b); err != nil {
				return err
			}
			b.Status = status
			return admin.Status().Update(t.Context(), b)
		})
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("made %d beds and their benchmarks in %s", len(beds), time.Since(began).Round(time.Second))
}

// viewer returns the token of a user who may see the beds and half of the teams.
func viewer(t *testing.T, admin client.Client) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "viewer"}}
	who := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "viewer"}}
	rule := func(resources ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: resources, Verbs: []string{"get", "list", "watch"}}}
	}
	objects := []client.Object{
		account,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "beds"}, Rules: rule("testbeds")},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Rules: rule("benchmarks", "reservations", "benchmarkschedules")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "beds"}, Subjects: who, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "beds"}},
	}
	for i := range 20 {
		objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%02d", 2*i), Name: "team"}, Subjects: who,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "team"}})
	}
	kubetest.Grant(t, admin, objects...)
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

package histories

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// realUnit is the duration of a second of a history on a real API server.
const realUnit = 20 * time.Millisecond

// roundTrip sends a request of an operator to a real API server.
func (l *link) roundTrip(next http.RoundTripper, req *http.Request) (resp *http.Response, _ error) {
	err := l.send(req.Context(), req.Method != http.MethodGet, func() (err error) {
		resp, err = next.RoundTrip(req) //nolint:bodyclose // The caller of the transport closes it.
		return err
	})
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, err
	}
	return resp, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestRealHistories runs histories on a real API server, in real time.
func TestRealHistories(t *testing.T) {
	all := seeds(t, "HISTORIES_REAL", 9)
	cfg, _ := testserver.StartAPIServer(t, func(env *envtest.Environment) {
		env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, filepath.Join("..", "testdata", "crds"))
	})
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := prepare(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i, seed := range all {
		if i > 0 && i%10 == 0 {
			t.Logf("%d histories after %s", i, time.Since(began).Round(time.Second))
		}
		script := newScript(seed)
		if wrong := onServer(t, cfg, admin, seed, script); len(wrong) > 0 {
			t.Fatalf("HISTORY_SEED=%d:\n  %s\nwith: %s", seed, strings.Join(texts(script), "\n  "), strings.Join(wrong, "\n  "))
		}
	}
	t.Logf("%d histories on a real API server, in %s", len(all), time.Since(began).Round(time.Second))
}

// onServer runs one history, and returns what was violated.
func onServer(t *testing.T, cfg *rest.Config, admin client.WithWatch, seed uint64, script []event) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := wipe(ctx, admin); err != nil {
		t.Fatal(err)
	}
	check := newChecker()
	check.behind = true
	w := &world{
		Client: admin, unit: realUnit, rng: rand.New(rand.NewPCG(seed, 3)), check: check,
		lab: newFakeLab(admin, realUnit, check), losses: map[string]int{},
	}
	for kind, list := range map[string]client.ObjectList{
		"TestBed": &v1alpha1.TestBedList{}, "Benchmark": &v1alpha1.BenchmarkList{},
		"BenchmarkResult": &v1alpha1.BenchmarkResultList{}, "Pod": &corev1.PodList{},
	} {
		if err := follow(ctx, admin, kind, list, check); err != nil {
			t.Fatal(err)
		}
	}
	w.run = func(ctx context.Context, l *link) {
		c := rest.CopyConfig(cfg)
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				w.hostile.meddleRequest(admin, req)
				return l.roundTrip(next, req)
			})
		})
		mgr, err := operator.NewManager(c, operator.Config{Lab: settings(), MetricsAddress: "0", HealthAddress: "0"})
		if err == nil {
			err = controllers.SetupWithManager(mgr, options(w, realUnit, l.now))
		}
		if err == nil {
			err = mgr.Start(ctx)
		}
		if err != nil && !errors.Is(err, errDead) {
			t.Logf("seed %d: an operator ended: %v", seed, err)
		}
		l.mu.Lock()
		l.dead = true // Another one has to be started, however this one ended.
		l.mu.Unlock()
	}
	if err := populate(ctx, admin); err != nil {
		t.Fatal(err)
	}
	return w.play(ctx, script)
}

// follow has the checker see every change of a kind.
func follow(ctx context.Context, c client.WithWatch, kind string, list client.ObjectList, check *checker) error {
	events, err := c.Watch(ctx, list)
	if err != nil {
		return fmt.Errorf("watching %s: %w", kind, err)
	}
	go func() {
		defer events.Stop()
		last := map[string]client.Object{}
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-events.ResultChan():
				obj, isObject := e.Object.(client.Object)
				if !ok || !isObject {
					return
				}
				before := last[string(obj.GetUID())]
				last[string(obj.GetUID())] = obj
				if e.Type == watch.Added && before == nil || e.Type == watch.Modified || e.Type == watch.Deleted {
					check.see(change{kind: kind, what: e.Type, before: before, after: obj})
				}
			}
		}
	}()
	return nil
}

// wipe removes what a history left.
func wipe(ctx context.Context, c client.Client) error {
	return testserver.DeleteAll(ctx, c, append(testserver.Kinds(), &corev1.PodList{}, &corev1.SecretList{}, &corev1.ConfigMapList{})...)
}

package labpage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// fakeAccess lets the person who is named by the token see some namespaces, and beds.
// TestLabPage of the end-to-end tests asks a real API server.
func fakeAccess(namespaces ...string) Access {
	return Access{
		authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
		}),
		authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			for _, namespace := range append(namespaces, "beds") {
				if namespace == a.GetNamespace() || namespace == "*" || namespace == a.GetResource() || namespace == "beds" && (a.GetResource() == "testbeds" || a.GetResource() == "labpolicies") {
					return authorizer.DecisionAllow, "", nil
				}
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
	}
}

// without returns an access that does not allow to list a resource.
func without(access Access, resource string) Access {
	others := access.Authorizer
	access.Authorizer = authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetResource() == resource {
			return authorizer.DecisionNoOpinion, "", nil
		}
		return others.Authorize(ctx, a)
	})
	return access
}

func caches(t testing.TB, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "c"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("namespace-" + name)}})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource().Build()
}

func newPage(t testing.TB, access Access, objects ...client.Object) *Page {
	t.Helper()
	c := caches(t, objects...)
	return New(Options{Reader: c, Results: c, Access: access, LabNamespace: "nodrop-lab", Now: func() time.Time { return noon }, Log: logr.Discard(),
		Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, func() time.Time { return noon })})
}

// get requests a path with a test token. It returns status, body and headers.
func get(t testing.TB, p http.Handler, path string) (int, string, http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer alice")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text), w.Header()
}

func at(minutes int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))
}

func bed(name string, change func(*v1alpha1.TestBed)) *v1alpha1.TestBed {
	b := objects.TestBed(name)
	b.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBedReady, LastTransitionTime: at(-60)},
	}
	b.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "cisco", Model: "N9K-C9508"}
	b.Spec.Engine.Kind, b.Spec.Ports = "trex", make([]v1alpha1.Port, 4)
	if change != nil {
		change(b)
	}
	return b
}

func benchmark(namespace, name string, phase v1alpha1.BenchmarkPhase, change func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
	b := objects.Benchmark(namespace, name, objects.UID(types.UID(namespace+name)), objects.Created(at(-90)))
	b.Spec.ActiveDeadlineSeconds, b.Spec.TrafficProfileName = 7200, "ipv4"
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	b.Status.Phase = phase
	if change != nil {
		change(b)
	}
	return b
}

func leased(to string) func(*v1alpha1.TestBed) {
	return func(b *v1alpha1.TestBed) {
		b.Status.Lease = &v1alpha1.BedLease{Holder: to, UID: strings.ReplaceAll(to, "/", ""), AcquireTime: at(-30)}
	}
}

func running(bed string) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) {
		began := at(-30)
		b.Status.TestBedName, b.Status.StartTime = bed, &began
		b.Status.Progress = &v1alpha1.Progress{Summary: "3/7 rows, 41%, 25m left", Trial: "throughput 512 B: 62.5% for 10s", RowsDone: 3, RowsTotal: 7, TrialsDone: 41, TrialsEstimated: 100, SecondsLeft: 1500}
	}
}

// paths are all pages of the lab of TestPages.
var paths = []string{"/", "/timeline", "/timeline?hours=168", "/beds/b1", "/benchmarks", "/benchmarks?view=waiting", "/benchmarks?view=finished", "/benchmarks/a/run", "/reservations", "/schedules", "/table", "/teams"}

func someLab(hostile string) []client.Object {
	return []client.Object{
		bed("b1", leased("a/run")), bed("b2", leased("c/holder")), bed("b3", func(b *v1alpha1.TestBed) {
			b.Status.Queued = 3
			b.Status.Conditions[0] = metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "BedInvalid", Message: hostile, LastTransitionTime: at(-60)}
		}),
		bed("b4", func(b *v1alpha1.TestBed) {
			b.Status.Reservations = []v1alpha1.BedReservation{{Reservation: "a/demo", From: at(-10), Until: at(50)}, {Reservation: "c/reserver", From: at(90), Until: at(150)}}
		}),
		bed("b5", func(b *v1alpha1.TestBed) {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue, Reason: "CleanUpFailed", Message: "after c/holder", LastTransitionTime: at(-60)})
		}),
		benchmark("a", "run", v1alpha1.PhaseRunning, running("b1")),
		benchmark("c", "holder", v1alpha1.PhaseRunning, func(b *v1alpha1.Benchmark) {
			running("b2")(b)
			b.Status.Message, b.Status.Progress.Trial = "secret", "secret"
		}),
		benchmark("c", "secret-waits", v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) { b.Spec.TestBedName = "b1" }),
		benchmark("a", "waits", v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) {
			b.Spec.TestBedName = "b1"
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBedLeased, Status: metav1.ConditionFalse, Reason: "Queued", Message: hostile, LastTransitionTime: at(-60)}}
		}),
		benchmark("a", "done", v1alpha1.PhaseFailed, func(b *v1alpha1.Benchmark) {
			began, ended := at(-50), at(-40)
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime, b.Status.Message = "b1", &began, &ended, hostile
			b.Status.Results = &v1alpha1.ResultSummary{Rows: 1, Headlines: []v1alpha1.Headline{{Test: "throughput", Text: hostile}}}
			b.Spec.Gates = []v1alpha1.Gate{{Name: "floor"}}
			b.Status.Gates = []v1alpha1.GateStatus{{Name: "floor", Verdict: v1alpha1.GateFailed, Failed: 1, Message: hostile, Accepted: &v1alpha1.BaselineAcceptance{User: "alice@example.com", Time: at(-600), Reason: hostile}}}
		}),
		&v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "demo"}, Spec: v1alpha1.ReservationSpec{TestBedNames: []string{"b4"}, From: at(-10), Until: at(50), Purpose: hostile}, Status: v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationActive}},
		&v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "reserver"}, Spec: v1alpha1.ReservationSpec{TestBedNames: []string{"b4"}, From: at(90), Until: at(150), Purpose: "secret-purpose"}},
		&v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nightly"}, Spec: v1alpha1.BenchmarkScheduleSpec{Schedule: hostile}},
		&v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "secret-s"}, Spec: v1alpha1.BenchmarkScheduleSpec{Schedule: "@daily"}},
	}
}

// TestPages: every page is well-formed, loads nothing from outside, shows of other teams only the names
// that TestBeds have, and shows texts of people as text.
func TestPages(t *testing.T) {
	t.Parallel()
	const hostile = `"'><script>alert(1)</script><img src=https://elsewhere.example onerror=alert(2)>{{.}}`
	p := newPage(t, fakeAccess("a"), someLab(hostile)...)
	shown := 0
	for _, path := range append(paths, "/benchmarks/a/done", "/benchmarks/a/waits", "/beds/b3", "/beds/b5") {
		status, text, header := get(t, p, path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, status, text)
			continue
		}
		checkHTML(t, path, text)
		if header.Get("Content-Security-Policy") != policy || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, header)
		}
		for _, part := range []string{"secret", "<script>alert", "<img"} {
			if strings.Contains(text, part) {
				t.Errorf("%s has %q", path, part)
			}
		}
		shown += strings.Count(text, "alert(1)")
	}
	if shown < 8 {
		t.Errorf("hostile texts are shown %d times", shown)
	}
	if _, text, _ := get(t, p, "/benchmarks/a/done"); !strings.Contains(text, "The baseline of gate floor was accepted by alice@example.com on ") {
		t.Error("the page of a benchmark does not say who accepted a baseline")
	}
	_, text, _ := get(t, p, "/")
	for _, part := range []string{"c/holder", "a/run", `href="/benchmarks/a/run"`, "about <time datetime=\"2026-11-23T12:25:00Z\">12:25</time>", "1 to 5 of 5 beds"} {
		if !strings.Contains(text, part) {
			t.Errorf("the overview lacks %q", part)
		}
	}
	if strings.Contains(text, `href="/benchmarks/c/holder"`) {
		t.Error("the overview leads to a benchmark that the person may not see")
	}
	for path, want := range map[string]string{"/beds/b4": "c/reserver", "/beds/b5": "after c/holder"} {
		if _, text, _ := get(t, p, path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q of the status", path, want)
		}
	}
	if _, text, _ := get(t, newPage(t, without(fakeAccess("a"), "testbeds"), someLab("")...), "/"); strings.Contains(text, "holder") {
		t.Error("a person who may not list TestBeds sees a name in their status")
	}
}

// TestMissingRights: what a person may not see is not found, and does not exist for them.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	p := newPage(t, fakeAccess("a"), someLab("")...)
	for path, want := range map[string]int{
		"/benchmarks/c/holder": http.StatusNotFound, "/benchmarks/c/none": http.StatusNotFound, "/results/c/holder": http.StatusNotFound,
		"/comparisons/a/done?with=none": http.StatusNotFound, "/history/c/holder": http.StatusNotFound, "/history/a/done": http.StatusNotFound,
		"/archive/c/holder/1": http.StatusNotFound, "/beds/none": http.StatusNotFound, "/static/..%2fpage.go": http.StatusNotFound, "/x": http.StatusNotFound,
		"/results/a/done?format=exe": http.StatusNotFound, "/comparisons/a/done?with=done": http.StatusBadRequest,
	} {
		if status, text, _ := get(t, p, path); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, text)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace, "X"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, w.Code)
		}
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" || strings.Contains(w.Body.String(), "Schedules") {
		t.Errorf("without a token: status %d: %s", w.Code, w.Body)
	}
}

// TestNoAnswer checks that a page shows nothing if the API server does not answer access
// reviews.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	down := &url.Error{Op: "Post", URL: "https://10.96.0.1", Err: errors.New("connection refused")}
	known := fakeAccess("a")
	for name, access := range map[string]Access{
		"who it is": {authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return nil, false, utilerrors.NewAggregate([]error{down})
		}), known.Authorizer},
		"who it is, refused": {authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return nil, false, apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", nil)
		}), known.Authorizer},
		"what they may": {known.Authenticator, authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionNoOpinion, "", down
		})},
	} {
		p := newPage(t, access, someLab("")...)
		for _, path := range append(paths, "/results/a/done", "/history/a/done") {
			if status, text, _ := get(t, p, path); status != http.StatusServiceUnavailable || strings.Contains(text, "b1") {
				t.Errorf("%s, %s: status %d: %s", name, path, status, text)
			}
		}
	}
}

// TestReport: a report is one file without a script, and there are forms for programs.
func TestReport(t *testing.T) {
	t.Parallel()
	p := newPage(t, fakeAccess("a"), someLab("")...)
	_, text, header := get(t, p, "/results/a/done")
	if !strings.Contains(text, "Benchmark report") || header.Get("Content-Security-Policy") != reportPolicy {
		t.Errorf("headers %v of %s", header, text)
	}
	for _, format := range []string{"json", "csv", "markdown", "junit"} {
		status, _, header := get(t, p, "/results/a/done?format="+format)
		if status != http.StatusOK || !strings.Contains(header.Get("Content-Disposition"), `attachment; filename="done.`) {
			t.Errorf("%s: status %d, headers %v", format, status, header)
		}
	}
}

// TestPreemption checks that the page shows that a bed is being returned, for which benchmark
// if the person may see it, and the results of earlier runs.
func TestPreemption(t *testing.T) {
	t.Parallel()
	p := newPage(t, fakeAccess("a"), bed("b1", func(b *v1alpha1.TestBed) {
		leased("a/run")(b)
		b.Status.Lease.Preemption = &v1alpha1.Preemption{By: "c/urgent", Time: at(-1)}
	}), bed("b2", func(b *v1alpha1.TestBed) {
		leased("a/other")(b)
		b.Status.Lease.Preemption = &v1alpha1.Preemption{By: "a/mine", Time: at(-1)}
	}), benchmark("a", "run", v1alpha1.PhaseCleaningUp, running("b1")), benchmark("a", "again", v1alpha1.PhaseQueued, func(b *v1alpha1.Benchmark) {
		b.Status.EarlierRuns = []v1alpha1.EarlierRun{{TestBedName: "b1", From: at(-120), Until: at(-100), Rows: 3, By: "a/mine"}}
	}))
	for path, want := range map[string]string{
		"/": "makes room for c/urgent", "/beds/b1": "in favor of c/urgent", "/beds/b2": "in favor of a/mine", "/timeline": "a/again had it from 10:00 until 10:20: preempted",
		"/benchmarks/a/again": "on b1, in favor of a/mine, with 3 rows",
	} {
		_, text, _ := get(t, p, path)
		checkHTML(t, path, text)
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q: %s", path, want, text)
		}
	}
}

// TestPager: any query leads to a page that exists.
func TestPager(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	for i := range 250 {
		objects = append(objects, bed(fmt.Sprintf("bed-%03d", i), nil))
	}
	p := newPage(t, fakeAccess("a"), objects...)
	for query, want := range map[string]string{
		"": "1 to 100 of 250 beds", "?page=2": "101 to 200 of 250 beds", "?page=3": "201 to 250 of 250 beds", "?page=99": "201 to 250 of 250 beds",
		"?page=-1": "1 to 100 of 250 beds", "?page=x&bed=24": "1 to 13 of 13 beds", "?state=Closed": "No bed", "?bed=%ff%00": "No bed",
	} {
		if _, text, _ := get(t, p, "/"+query); !strings.Contains(text, want) {
			t.Errorf("%s: no %q", query, want)
		}
	}
}

package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// lab is a lab whose cache a test fills.
type lab struct {
	*objectCounts
	t         *testing.T
	informers *informertest.FakeInformers
}

// newLab has a LabPolicy if policy is not nil.
func newLab(t *testing.T, policy *v1alpha1.LabPolicySpec) *lab {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme)
	if policy != nil {
		c = c.WithObjects(&v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}, Spec: *policy})
	}
	informers := &informertest.FakeInformers{Scheme: scheme}
	l := &lab{newObjectCounts(c.Build(), informers, "nodrop-lab"), t, informers}
	if problem, err := l.tooManyBytes(t.Context(), sized("any", "any", 0), 0); problem != nil || err != nil {
		t.Fatal(problem, err)
	}
	return l
}

// of returns the informer of the kind of an object.
func (l *lab) of(o client.Object) *controllertest.FakeInformer {
	l.t.Helper()
	informer, err := l.informers.FakeInformerFor(l.t.Context(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	return informer
}

// sized is a traffic profile with size bytes as JSON in the cache, or with as few as it can have.
func sized(namespace, name string, size int) *v1alpha1.TrafficProfile {
	return pad(&v1alpha1.TrafficProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, size)
}

// pad gives an object a label, with which it has size bytes as JSON.
func pad[T client.Object](o T, size int) T {
	o.SetLabels(map[string]string{"l": ""})
	o.SetLabels(map[string]string{"l": strings.Repeat("x", max(size-cachedSize(o), 0))})
	return o
}

// create asks for a new object.
func (l *lab) create(o *v1alpha1.TrafficProfile) error {
	_, err := bounded[*v1alpha1.TrafficProfile]{nothing[*v1alpha1.TrafficProfile]{}, "TrafficProfile", l.objectCounts}.ValidateCreate(l.t.Context(), o)
	return err
}

// change asks for a change of an object.
func (l *lab) change(before, after *v1alpha1.TrafficProfile) error {
	_, err := bounded[*v1alpha1.TrafficProfile]{nothing[*v1alpha1.TrafficProfile]{}, "TrafficProfile", l.objectCounts}.ValidateUpdate(l.t.Context(), before, after)
	return err
}

// fill brings benchmarks of a namespace with n bytes into the cache, in steps of 100,000.
func (l *lab) fill(namespace string, n int) {
	for i := range n / 100_000 {
		b := pad(&v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("b", i)}}, 100_000)
		l.of(b).Add(b)
	}
}

// expectRefused compares an answer with the limit of bytes.
func (l *lab) expectRefused(err error, wants ...string) {
	l.t.Helper()
	if !apierrors.IsInvalid(err) {
		l.t.Fatalf("%v, want a refusal", err)
	}
	for _, want := range append(wants, "metadata.namespace: Forbidden: the objects of team ", "delete finished benchmarks (ttlSecondsAfterFinished does so)",
		"higher maxObjectsMiB in LabPolicy lab") {
		if !strings.Contains(err.Error(), want) {
			l.t.Errorf("message lacks %q:\n%v", want, err)
		}
	}
}

// refused returns why objects of a namespace may not have so many bytes more; empty if they may.
func (l *lab) refused(namespace string, growth int) string {
	l.t.Helper()
	problem, err := l.tooManyBytes(l.t.Context(), sized(namespace, "any", 0), growth)
	if err != nil {
		l.t.Fatal(err)
	}
	if problem == nil {
		return ""
	}
	return problem.Error()
}

// TestBytesOfATeam fills the cache to the limit without a LabPolicy.
func TestBytesOfATeam(t *testing.T) {
	l := newLab(t, nil)
	l.fill("team", v1alpha1.DefaultMaxObjectsMiB<<20-200_000)
	small, large := sized("team", "small", 1000), sized("team", "large", 7000)
	for name, err := range map[string]error{
		"small": l.create(small), "another team": l.create(sized("other", "large", 7000)), "the lab": l.create(sized("nodrop-lab", "large", 7000)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var there []*v1alpha1.TrafficProfile
	for i := range 400 {
		p := sized("team", fmt.Sprint("p", i), 1000)
		if err := l.create(p); err != nil {
			break
		}
		l.of(p).Add(p)
		there = append(there, p)
	}
	total := l.totals.namespaces()["team"]
	if limit := v1alpha1.DefaultMaxObjectsMiB << 20; total > limit || total <= limit-1000 {
		t.Fatalf("the team has %d bytes, and may have %d", total, limit)
	}
	l.expectRefused(l.create(large), fmt.Sprintf(
		"team namespace/team of namespace team have %d bytes as JSON, with status and without annotations; with another 7000 they would have %d, and may have 33554432", total, total+7000))

	// A change that makes an object grow is refused, and another one passes, also above the limit.
	if err := l.change(there[0], sized("team", "p0", 900)); err != nil {
		t.Error(err)
	}
	l.expectRefused(l.change(there[0], sized("team", "p0", 2000)))
	noted := sized("team", "p0", 1000)
	noted.Annotations = map[string]string{"note": strings.Repeat("x", 100_000)}
	if err := l.change(there[0], noted); err != nil {
		t.Error("annotations are not in the cache, and were refused:", err)
	}
	archived := sized("team", "p0", 1000)
	archived.Finalizers = []string{v1alpha1.FinalizerArchive}
	if err := l.change(there[0], archived); err != nil {
		t.Error("the operator adds its finalizer, and was refused:", err)
	}
	waits := pad(&v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b0"}}, 100_000)
	ran := waits.DeepCopy()
	ran.Status.Message = strings.Repeat("m", 100_000)
	l.of(ran).Update(waits, ran)
	if err := l.change(there[0], sized("team", "p0", 999)); err != nil {
		t.Error("a team above its limit makes an object smaller, and was refused:", err)
	}
	l.expectRefused(l.create(small))

	// What is deleted does not count any more, also if the watch missed it.
	l.of(ran).Delete(ran)
	for _, h := range there {
		l.of(h).Delete(h)
	}
	if err := l.create(large); err != nil {
		t.Error(err)
	}
}

// TestBytesOfTeams divides namespaces into teams.
func TestBytesOfTeams(t *testing.T) {
	l := newLab(t, &v1alpha1.LabPolicySpec{
		Teams: []v1alpha1.Team{
			{Name: "routing", Namespaces: []string{"east", "west"}, TeamShare: v1alpha1.TeamShare{MaxObjectsMiB: 2}},
			{Name: "unlimited", Namespaces: []string{"free"}},
		},
		Others: v1alpha1.TeamShare{MaxObjectsMiB: 1},
	})
	for namespace, n := range map[string]int{"east": 1_000_000, "west": 1_000_000, "other": 1_000_000, "free": 10_000_000} {
		l.fill(namespace, n)
	}
	for namespace, refused := range map[string]string{
		"east": "team routing of namespace east have 2000000 bytes", "west": "and may have 2097152", "other": "team namespace/other of namespace other have 1000000 bytes",
		"free": "", "new": "",
	} {
		switch problem, err := l.tooManyBytes(t.Context(), sized(namespace, "p", 0), 100_000); {
		case err != nil:
			t.Error(err)
		case refused == "" && problem != nil:
			t.Errorf("%s: %v", namespace, problem)
		case refused != "" && (problem == nil || problem.Type != field.ErrorTypeForbidden || !strings.Contains(problem.Error(), refused)):
			t.Errorf("%s: %v, want %q", namespace, problem, refused)
		}
	}
}

// TestBytesOfAllTeams divides what the objects of all teams may have: each team may have twice what is free, and one that has less than the
// guaranteed part is never refused because of others.
func TestBytesOfAllTeams(t *testing.T) {
	const mib = 1 << 20
	// grow brings objects of namespaces into the cache, in turns, until none is allowed another 100,000 bytes.
	grow := func(l *lab, namespaces ...string) {
		l.t.Helper()
		for i, full := 0, 0; full < len(namespaces); i++ {
			full = 0
			for _, namespace := range namespaces {
				p := sized(namespace, fmt.Sprint("g", i), 100_000)
				if l.refused(namespace, 100_000) != "" {
					full++
					continue
				}
				l.of(p).Add(p)
			}
		}
	}
	expect := func(l *lab, namespace string, mibs float64) {
		l.t.Helper()
		if got := float64(l.totals.namespaces()[namespace]) / mib; got > mibs || got < mibs-0.2 {
			t.Errorf("%s has %.1f MiB, want %.1f", namespace, got, mibs)
		}
	}
	alone := newLab(t, nil)
	grow(alone, "a")
	expect(alone, "a", 32)
	// 16 MiB are free of 48. The next team has x, where x is twice what it leaves free, and the first one keeps what it has.
	grow(alone, "b")
	expect(alone, "a", 32)
	expect(alone, "b", 10.8)
	const twice = "which is twice what the objects of all teams leave free of 48 MiB, or 1 MiB: delete finished benchmarks (ttlSecondsAfterFinished does so), " +
		"use fewer labels, gates and selectors, or ask the lab for a higher maxAllObjectsMiB in LabPolicy lab"
	if why := alone.refused("c", 12*mib); !strings.Contains(why, "team namespace/c of namespace c have 0 bytes as JSON") || !strings.Contains(why, twice) {
		t.Errorf("a third team with 12 MiB: %q", why)
	}
	// What the first one gives back, others may have.
	for i := range 200 {
		p := sized("a", fmt.Sprint("g", i), 100_000)
		alone.of(p).Delete(p)
	}
	if why := alone.refused("c", 12*mib); why != "" {
		t.Error(why)
	}

	many := newLab(t, nil)
	var hostile []string
	for i := range 20 {
		hostile = append(hostile, fmt.Sprint("hostile", i))
	}
	grow(many, hostile...)
	all := 0
	for _, n := range many.totals.namespaces() {
		all += n
	}
	if all > v1alpha1.DefaultMaxAllObjectsMiB*mib || all < (v1alpha1.DefaultMaxAllObjectsMiB-4)*mib {
		t.Errorf("20 teams have %d bytes together", all)
	}
	grow(many, "honest")
	if n := many.totals.namespaces()["honest"]; n < mib-100_000 || n > 3*mib {
		t.Errorf("next to 20 teams that have what they can get, another one gets %d bytes", n)
	}
	late := []string{"late0", "late1", "late2", "late3", "late4", "late5"}
	grow(many, late...)
	for _, namespace := range late {
		expect(many, namespace, 1)
	}
	if why := many.refused("late0", 100_000); !strings.Contains(why, "may have 1048576, "+twice) {
		t.Errorf("a team with its guaranteed part: %q", why)
	}

	raised := newLab(t, &v1alpha1.LabPolicySpec{MaxAllObjectsMiB: 96, Others: v1alpha1.TeamShare{MaxObjectsMiB: 32}})
	grow(raised, "a", "b")
	expect(raised, "a", 32)
	expect(raised, "b", 32)
	if why := raised.refused("a", 100_000); !strings.Contains(why, "higher maxObjectsMiB in LabPolicy lab") {
		t.Errorf("a team at its own limit: %q", why)
	}
}

// TestCachedObjectsAreCountedOnce follows objects through the events of an informer.
func TestCachedObjectsAreCountedOnce(t *testing.T) {
	l := newLab(t, nil)
	p, q := sized("team", "p", 1000), sized("team", "q", 500)
	events := l.of(p)
	expect := func(want int, why string) {
		t.Helper()
		if got := l.totals.namespaces()["team"]; got != want {
			t.Errorf("%s: %d bytes, want %d", why, got, want)
		}
	}
	events.Add(p)
	events.Add(q)
	expect(1500, "two objects")
	events.Add(p)
	expect(1500, "an object that is listed again")
	events.Update(p, sized("team", "p", 2000))
	expect(2500, "an object that grew")
	s := &v1alpha1.NotificationSink{ObjectMeta: p.ObjectMeta}
	l.of(s).Add(s)
	expect(2500+cachedSize(s), "an object of another kind with the same name")
	l.of(s).Delete(s)
	l.totals.follow(0).OnDelete(toolscache.DeletedFinalStateUnknown{Key: "team/b", Obj: nil})
	events.Delete(p)
	expect(500, "one that is left")
	events.Delete(p)
	expect(500, "an object that is deleted again")
	events.Delete(q)
	if n := len(l.totals.namespaces()); n != 0 {
		t.Errorf("%d namespaces without objects are kept", n)
	}
}

// TestBytesWaitForTheCache asks before the cache has the objects: the answer needs it.
func TestBytesWaitForTheCache(t *testing.T) {
	l := newLab(t, nil)
	l.totals = newByteTotals(l.informers)
	informer := controllertest.NewFakeInformer()
	for kind := range l.informers.InformersByGVK {
		if kind.Kind == "Reservation" {
			l.informers.InformersByGVK[kind] = informer
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.tooManyBytes(ended, sized("team", "p", 0), 1); err == nil || !strings.Contains(err.Error(), "the cache") {
		t.Errorf("%v, want an error that names the cache", err)
	}
	informer.Synced()
	if problem, err := l.tooManyBytes(t.Context(), sized("team", "p", 0), 1); problem != nil || err != nil {
		t.Error(problem, err)
	}
}

// TestCostOfBytes compares the cost of a decision on a team with few and with many objects.
func TestCostOfBytes(t *testing.T) {
	cost := func(n int) float64 {
		l := newLab(t, nil)
		for i := range n {
			p := sized("team", fmt.Sprint("p", i), 1000)
			l.of(p).Add(p)
		}
		o := sized("team", "new", 1000)
		return testing.AllocsPerRun(10, func() {
			if problem, err := l.tooManyBytes(t.Context(), o, 1000); problem != nil || err != nil {
				t.Fatal(problem, err)
			}
		})
	}
	if few, many := cost(10), cost(2000); many > few+2 {
		t.Errorf("a decision allocates %v times with 2,000 objects, and %v times with 10", many, few)
	}
}

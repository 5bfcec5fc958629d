package controllers_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/lab/labpage"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// second is the namespace of another team.
const second = "team-access"

// TestSharing has two teams share a bed by a LabPolicy.
func TestSharing(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"the team that is behind comes first":         behindComesFirst,
		"a team that has as many beds as it may":      teamRunsEnough,
		"a team that has used up its hours":           teamSpent,
		"a priority class that does not exist":        unknownClass,
		"a class that preempts takes a bed":           preempts,
		"a start is estimated from what others took":  estimated,
		"the lineup and the page have the same order": ordersAlike,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// share makes a bed for both teams, and the policy.
func (w *world) share(spec v1alpha1.LabPolicySpec) {
	bed := modelled("sim")
	bed.Spec.Access[0].Names = []string{team, second}
	bed.Spec.Access[0].MaxPriority = 500
	other := profile()
	other.Namespace = second
	if err := w.c.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: second}}); client.IgnoreAlreadyExists(err) != nil {
		w.t.Fatal(err)
	}
	policy := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}, Spec: spec}
	create(w.t, w.c, configMap("model", "model.csv", table), bed, profile(), other, policy)
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed("sim").Status.Conditions, v1alpha1.ConditionReady)
	}).Should(BeTrue())
}

func ofSecond(b *v1alpha1.Benchmark) { b.Namespace = second }

func inClass(name string) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.PriorityClassName = name }
}

// notAccepted waits until a benchmark of any namespace is not accepted, with words in the message.
func (w *world) notAccepted(b *v1alpha1.Benchmark, words string) {
	w.t.Helper()
	w.Eventually(func() string {
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
		if c == nil {
			return ""
		}
		return c.Reason + ": " + c.Message
	}).Should(And(HavePrefix(v1alpha1.ReasonNotAccepted+": "), ContainSubstring(words)))
}

// lineup returns the places of those that wait, computed as kubectl nodrop queue does.
func (w *world) lineup() []allocation.Place {
	w.t.Helper()
	var beds v1alpha1.TestBedList
	var benchmarks v1alpha1.BenchmarkList
	w.Expect(w.c.List(w.t.Context(), &beds)).To(Succeed())
	w.Expect(w.c.List(w.t.Context(), &benchmarks)).To(Succeed())
	lab, err := allocation.ReadLineupInput(w.t.Context(), w.c, beds.Items, benchmarks.Items)
	w.Expect(err).NotTo(HaveOccurred())
	lab.Now = w.now()
	return allocation.Lineup(lab)
}

// now is the time of the operator's clock.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// place returns the place of a benchmark of any namespace; the zero one if it does not wait.
func (w *world) place(b client.Object) allocation.Place {
	w.t.Helper()
	for _, p := range w.lineup() {
		if client.ObjectKeyFromObject(p.Benchmark) == client.ObjectKeyFromObject(b) {
			return p
		}
	}
	return allocation.Place{}
}

// waitsBecause waits until a benchmark of any namespace waits for a reason, with words in the
// sentence. Its status has neither, as others that wait must not cause writes.
func (w *world) waitsBecause(b client.Object, reason, words string) {
	w.t.Helper()
	w.Eventually(func() string {
		p := w.place(b)
		return p.Reason + ": " + p.Why
	}).Should(And(HavePrefix(reason+": "), ContainSubstring(words)))
}

// named is a benchmark of the team, by its name.
func named(name string) *v1alpha1.Benchmark {
	return &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
}

func behindComesFirst(w *world) {
	w.share(v1alpha1.LabPolicySpec{Teams: []v1alpha1.Team{
		{Name: "routing", Namespaces: []string{team}, TeamShare: v1alpha1.TeamShare{Weight: 1}},
		{Name: "access", Namespaces: []string{second}, TeamShare: v1alpha1.TeamShare{Weight: 1}},
	}})
	create(w.t, w.c, benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	again, other := benchmark("again", "sim"), benchmark("other", "sim", ofSecond)
	create(w.t, w.c, again)
	w.waitsBecause(again, v1alpha1.ReasonQueued, "comes next")
	create(w.t, w.c, other)
	w.waitsBecause(other, v1alpha1.ReasonQueued, "comes next")
	w.waitsBecause(again, v1alpha1.ReasonQueued, "1 benchmark comes first")
	policy := &v1alpha1.LabPolicy{}
	w.Eventually(func() []v1alpha1.TeamStanding {
		if err := w.c.Get(w.t.Context(), client.ObjectKey{Name: v1alpha1.LabPolicyName}, policy); err != nil {
			return nil
		}
		return policy.Status.Teams
	}).Should(ConsistOf(
		And(HaveField("Name", "access"), HaveField("Running", int32(0)), HaveField("Queued", int32(1))),
		And(HaveField("Name", "routing"), HaveField("Running", int32(1)), HaveField("Queued", int32(1))),
	))
	w.runners.report(first, measured(row(64)))
	w.Eventually(func() string { return holderOf(w.bed("sim")) }).Should(Equal(second + "/other"))
}

func holderOf(bed *v1alpha1.TestBed) string {
	if bed.Status.Lease == nil {
		return ""
	}
	return bed.Status.Lease.Holder
}

func teamRunsEnough(w *world) {
	w.share(v1alpha1.LabPolicySpec{Teams: []v1alpha1.Team{
		{Name: "routing", Namespaces: []string{team, second}, TeamShare: v1alpha1.TeamShare{MaxRunning: 1}},
	}})
	bed := modelled("free")
	bed.Spec.Access[0].Names = []string{second}
	create(w.t, w.c, bed, benchmark("first", "sim"))
	first := w.reaches("first", v1alpha1.PhaseRunning)
	other := benchmark("other", "free", ofSecond)
	create(w.t, w.c, other)
	w.waitsBecause(other, v1alpha1.ReasonLimitReached,
		"waits for bed free; its team routing may have 1 beds at once (maxRunning of LabPolicy lab); comes next")
	w.runners.report(first, measured(row(64)))
	w.Eventually(func() string { return holderOf(w.bed("free")) }).Should(Equal(second + "/other"))
}

func teamSpent(w *world) {
	w.share(v1alpha1.LabPolicySpec{Others: v1alpha1.TeamShare{MaxBedHoursPerWeek: 3}})
	create(w.t, w.c, benchmark("long", "sim", objects.Deadline(20000)))
	long := w.reaches("long", v1alpha1.PhaseRunning)
	w.pass(4 * time.Hour)
	w.runners.report(long, measured(row(64)))
	w.reaches("long", v1alpha1.PhaseMeasured)
	next := benchmark("next", "sim")
	create(w.t, w.c, next)
	w.waitsBecause(next, v1alpha1.ReasonLimitReached, "may have them for 3 hours (maxBedHoursPerWeek of LabPolicy lab)")
	create(w.t, w.c, benchmark("other", "sim", ofSecond))
	w.Eventually(func() string { return holderOf(w.bed("sim")) }).Should(Equal(second + "/other"))
	w.Expect(w.c.Delete(w.t.Context(), benchmark("other", "sim", ofSecond))).To(Succeed())
	w.pass(8 * 24 * time.Hour)
	w.reaches("next", v1alpha1.PhaseRunning)
}

// ordersAlike compares the order of the command queue with that of the lab page. Priority and age alone give another one.
func ordersAlike(w *world) {
	w.share(v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "nightly", Value: 10}, {Name: "release", Value: 400}}})
	create(w.t, w.c, benchmark("first", "sim"))
	w.reaches("first", v1alpha1.PhaseRunning)
	nightly, plain, release := benchmark("nightly", "sim", inClass("nightly")), benchmark("plain", "sim"), benchmark("release", "sim", ofSecond, inClass("release"))
	plain.Spec.Priority = 200
	create(w.t, w.c, nightly)
	w.waitsBecause(nightly, v1alpha1.ReasonQueued, "comes next")
	create(w.t, w.c, plain, release)
	w.waitsBecause(release, v1alpha1.ReasonQueued, "comes next")
	w.waitsBecause(plain, v1alpha1.ReasonQueued, "1 benchmark comes first")
	w.waitsBecause(nightly, v1alpha1.ReasonQueued, "2 benchmarks come first")

	var lineup []string
	for _, p := range w.lineup() {
		lineup = append(lineup, p.Benchmark.Name)
	}
	w.Expect(lineup).To(Equal([]string{"release", "plain", "nightly"}))

	everybody := labpage.Access{Authenticator: authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "alice"}}, true, nil
	}), Authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", nil
	})}
	page := labpage.New(labpage.Options{
		Reader: w.c, Results: w.c, Access: everybody, Now: w.now, Waiting: allocation.WaitingFrom(w.c, allocation.LineupInput{}, w.now), Log: logr.Discard(),
	})
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/benchmarks?view=waiting", nil))
	text := answer.Body.String()
	slices.SortFunc(lineup, func(a, b string) int {
		return cmp.Compare(strings.Index(text, "/"+a+"\""), strings.Index(text, "/"+b+"\""))
	})
	w.Expect(lineup).To(Equal([]string{"release", "plain", "nightly"}), text)
}

func unknownClass(w *world) {
	w.share(v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "release", Value: 400}, {Name: "never", Value: 600}}})
	b := benchmark("b", "sim", inClass("relaese"))
	create(w.t, w.c, b)
	w.notAccepted(b,
		`spec.priorityClassName: Invalid value: "relaese": there is no priority class of this name (the lab has release (400), never (600))`)
	high := benchmark("high", "sim", inClass("never"))
	create(w.t, w.c, high)
	w.notAccepted(high,
		`spec.priorityClassName: Invalid value: "never": the grant of namespace team-routing on TestBed sim has a priority up to 500, and the class has 600`)
	ok := benchmark("ok", "sim", inClass("release"))
	create(w.t, w.c, ok)
	w.reaches("ok", v1alpha1.PhaseRunning)
}

func preempts(w *world) {
	w.share(v1alpha1.LabPolicySpec{PriorityClasses: []v1alpha1.PriorityClass{{Name: "urgent", Value: 400, Preempts: true}}})
	create(w.t, w.c, benchmark("kept", "sim"))
	kept := w.reaches("kept", v1alpha1.PhaseRunning)
	gives := benchmark("gives", "sim", func(b *v1alpha1.Benchmark) { b.Spec.Preemptible = true })
	urgent := benchmark("urgent", "sim", ofSecond, inClass("urgent"))
	create(w.t, w.c, gives, urgent)
	w.waitsBecause(urgent, v1alpha1.ReasonQueued, "comes next")
	w.waitsBecause(gives, v1alpha1.ReasonQueued, "1 benchmark comes first")
	w.Expect(w.bed("sim").Status.Lease.Preemption).To(BeNil(), "the holder does not allow it")
	w.Expect(w.c.Delete(w.t.Context(), urgent)).To(Succeed())
	w.waitsBecause(gives, v1alpha1.ReasonQueued, "comes next")
	w.runners.report(kept, measured(row(64)))
	w.reaches("gives", v1alpha1.PhaseRunning)
	again := benchmark("again", "sim", ofSecond, inClass("urgent"))
	create(w.t, w.c, again)
	w.Eventually(func() string {
		l := w.bed("sim").Status.Lease
		if l == nil || l.Holder != team+"/gives" || l.Preemption == nil {
			return ""
		}
		return l.Preemption.By
	}).Should(Equal(second + "/again"))
}

func estimated(w *world) {
	w.share(v1alpha1.LabPolicySpec{})
	create(w.t, w.c, benchmark("past", "sim"))
	w.runners.report(w.reaches("past", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("past", v1alpha1.PhaseMeasured)
	create(w.t, w.c, benchmark("now", "sim"))
	w.reaches("now", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("next", "sim"), benchmark("then", "sim", ofSecond))
	for _, b := range []client.Object{named("next"), benchmark("then", "sim", ofSecond)} {
		w.Eventually(func() time.Time { return w.place(b).Start }).ShouldNot(BeZero(), "%s has an estimate", b.GetName())
	}
}

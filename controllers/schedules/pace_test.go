package schedules

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/crashtest"
	"nodrop.dev/nodrop/controllers/kit"
)

// minutely is a schedule of every minute with as many benchmarks as it may have.
func minutely(namespace, name string) *v1alpha1.BenchmarkSchedule {
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec = v1alpha1.BenchmarkScheduleSpec{Schedule: "0 * * * *", TimeZone: "UTC", ConcurrencyPolicy: v1alpha1.ConcurrencyAllow, Matrix: &v1alpha1.BenchmarkMatrix{}}
	for i := range firingsAtOnce {
		s.Spec.Matrix.FrameSizes = append(s.Spec.Matrix.FrameSizes, v1alpha1.FrameSize(64+i))
	}
	return s
}

// TestPaceOfANamespace lets many schedules of one team fire at the same time: the operator makes their benchmarks
// one after the other, and asks for each of them once. The benchmarks of another team are made at once.
func TestPaceOfANamespace(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	m := crashtest.NewFakeAPI(t, 0, false)
	asked := 0
	c := interceptor.NewClient(m, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			asked++
			return c.Create(ctx, o, opts...)
		},
	})
	now := time.Date(2027, 1, 1, 1, 59, 0, 0, time.UTC)
	r := &Reconciler{Base: kit.Base{Client: c, Live: c, Recorder: events.NewFakeRecorder(1000), Options: kit.Options{
		Now: func() time.Time { return now }, Sweep: time.Hour, Recheck: time.Second,
	}}}
	const schedules = 4
	var all []*v1alpha1.BenchmarkSchedule
	for i := range schedules {
		all = append(all, minutely("team-many", fmt.Sprintf("s%d", i)))
	}
	all = append(all, minutely("team-other", "s"))
	for _, s := range all {
		g.Expect(m.Create(ctx, s)).To(Succeed())
	}
	// look reconciles each schedule and returns the number of benchmarks of both teams, and the earliest time of the next look.
	look := func() (many, other int, next time.Duration) {
		next = time.Hour
		for _, s := range all {
			result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)})
			g.Expect(err).NotTo(HaveOccurred())
			next = min(next, result.RequeueAfter)
		}
		for namespace, n := range map[string]*int{"team-many": &many, "team-other": &other} {
			var made v1alpha1.BenchmarkList
			g.Expect(m.List(ctx, &made, client.InNamespace(namespace))).To(Succeed())
			*n = len(made.Items)
		}
		return many, other, next
	}
	look()
	now = now.Add(time.Minute)
	many, other, next := look()
	g.Expect(many).To(Equal(firingsAtOnce))
	g.Expect(other).To(Equal(firingsAtOnce))
	g.Expect(next).To(BeNumerically("~", firingPause, time.Second))
	g.Expect(m.Get(ctx, client.ObjectKeyFromObject(all[1]), all[1])).To(Succeed())
	g.Expect(kit.ReasonOf(all[1].Status.Conditions, v1alpha1.ConditionReady)).To(Equal(v1alpha1.ReasonFiring))

	for many < schedules*firingsAtOnce {
		before := many
		now = now.Add(firingPause)
		many, _, _ = look()
		due := min(firingsPerSecond*firingPause.Seconds(), float64(schedules*firingsAtOnce-before))
		g.Expect(many - before).To(BeNumerically("~", due, 1))
	}
	g.Expect(asked).To(Equal(len(all)*firingsAtOnce), "no benchmark was asked for twice")
	for _, s := range all {
		g.Expect(m.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		g.Expect(s.Status.Firing).To(BeNil())
		g.Expect(kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionReady)).To(Equal(v1alpha1.ReasonScheduled))
	}
}

// TestPaceForgetsNamespaces keeps no more than the namespaces that have fired lately.
func TestPaceForgetsNamespaces(t *testing.T) {
	g, p, now := NewWithT(t), pace{}, time.Now()
	for i := range 100 {
		for range firingsAtOnce {
			g.Expect(p.allow(fmt.Sprint("team-", i), now)).To(BeTrue())
		}
		g.Expect(p.allow(fmt.Sprint("team-", i), now)).To(BeFalse())
		now = now.Add(time.Minute)
	}
	g.Expect(len(p.limiters)).To(BeNumerically("<=", 2))
}

// TestScheduleIsDeletedMeanwhile ends the reconcile of a schedule that is deleted before its firing is stored: nothing is
// made, and nothing has failed.
func TestScheduleIsDeletedMeanwhile(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	m := crashtest.NewFakeAPI(t, 0, false)
	c := interceptor.NewClient(m, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "benchmarkschedules"}, "s")
		},
	})
	s := minutely("team", "s")
	s.Status.Effective = &v1alpha1.EffectiveSchedule{Schedule: s.Spec.Schedule, TimeZone: "UTC", Since: metav1.NewTime(time.Now().Add(-2 * time.Hour))}
	g.Expect(m.Create(ctx, s)).To(Succeed())
	s.Status.Effective = &v1alpha1.EffectiveSchedule{Schedule: s.Spec.Schedule, TimeZone: "UTC", Since: metav1.NewTime(time.Now().Add(-2 * time.Hour))}
	g.Expect(m.Status().Update(ctx, s)).To(Succeed())
	clear(m.Created)
	r := &Reconciler{Base: kit.Base{Client: c, Live: c, Recorder: events.NewFakeRecorder(100), Options: kit.Options{Now: time.Now, Sweep: time.Hour, Recheck: time.Second}}}
	result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(ctrl.Result{}))
	g.Expect(m.Created).To(BeEmpty())
}

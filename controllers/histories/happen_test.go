package histories

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// happen makes one event happen. An event of an object that does not exist is ignored.
func (w *world) happen(ctx context.Context, e event) {
	much := time.Duration(e.much) * w.unit
	name, bed := nameOf(e.which), bedNames[e.which%len(bedNames)]
	w.noteEvent()
	switch e.kind {
	case "benchmark is created":
		b := benchmark(name, bedNames[e.much%len(bedNames)], int32(e.much%3))
		b.Spec.Preemptible = e.much%5 > 0
		b.Spec.PriorityClassName = classOf(e)
		if bed := b.Spec.TestBedName; (bed == managedBed || bed == nodeBed) && e.which%3 > 0 {
			b.Spec.Variants = []v1alpha1.VariantName{aclVariant}
		}
		if b.Spec.TestBedName == managedBed && e.which%2 == 0 {
			scaling(b)
		}
		if e.much%4 == 0 {
			r := &v1alpha1.Reservation{}
			b.Spec.ReservationName, b.Spec.ActiveDeadlineSeconds = reservationName(e.which), 3600
			if w.Get(ctx, reservationKey(e.which), r) != nil {
				r = booked(e.which, b.Spec.TestBedName, always, time.Now())
				_ = w.Create(ctx, r)
			}
			b.Spec.TestBedName = r.Spec.TestBedNames[0]
		} else if e.much%3 == 2 {
			b.Spec.TestBedName, b.Spec.TestBedSelector = "", &metav1.LabelSelector{MatchLabels: anyBed}
		}
		// A benchmark of several beds at once (a gang) belongs here: a further case of much.
		// Then checker.seeBed judges that it has all of its beds, or none.
		_ = w.Create(ctx, b)
	case "member of a gang is created":
		_ = w.Create(ctx, member(e.which, roles[e.much%len(roles)]))
	case "gang is created":
		for _, role := range roles {
			_ = w.Create(ctx, member(e.which, role))
		}
	case "member of a gang is aborted":
		w.changeBenchmark(ctx, memberName(e.which, roles[e.much%len(roles)]), func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	case "member of a gang is deleted":
		name := memberName(e.which, roles[e.much%len(roles)])
		w.check.allow(name, v1alpha1.PhaseAborted)
		_ = w.Delete(ctx, benchmark(name, "", 0))
	case "operator dies":
		l := w.operator().link
		l.mu.Lock()
		l.dieAt, l.after = l.writes+1+e.much/2, e.much%2 == 1
		l.mu.Unlock()
	case "operator stops":
		w.replace(10 * much)
	case "second operator":
		second := w.newOperator()
		second.link.slow(w.unit / 20 << (2 * (e.which % 3))) // What it has decided is written late.
		time.Sleep(much)
		second.stop()
	case "API server fails":
		w.setErrors(20)
		time.Sleep(much)
		w.setErrors(0)
	case "runner's pod is deleted":
		w.losePod(ctx, name, "runner", e, false)
	case "runner's pod fails":
		w.losePod(ctx, name, "runner", e, true)
	case "agent's pod is deleted":
		w.losePod(ctx, name, "agent", e, false)
	case "device's pod is deleted":
		w.losePod(ctx, name, "device", e, false)
	case "pod that configures is lost":
		w.loseConfiguring(ctx, e)
	case "pod that resets is lost":
		w.loseResetter(ctx, e)
	case "runner is lost in a reset":
		w.loseWith(ctx, e, isReset)
	case "runner is lost with a list":
		w.loseWith(ctx, e, isList)
	case "pod that starts a node is lost":
		w.loseDeploying(ctx, e)
	case "pod of a hook is lost":
		w.loseRunning(ctx, labobjects.RoleHook, e)
	case "hooks fail":
		w.failHooks(ctx, name)
	case "quarantine is released":
		w.changeBed(ctx, managedBed, releaseQuarantine)
	case "runner's process dies":
		for _, pod := range w.lab.podsOf(ctx, w.uidOf(ctx, name), "runner") {
			w.lab.runners.kill(pod.UID)
		}
	case "runner is silent":
		w.lab.runners.silence(3 * much)
	case "kubelet is slow":
		w.lab.slow(much / 2)
	case "device does not stop":
		if uid := w.uidOf(ctx, name); uid != "" {
			w.check.allowSick(string(uid))
			w.lab.setSick(uid, true)
		}
	case "node reboots":
		w.rebootNode(ctx, e)
	case "runner's disk is full":
		w.fillRunner(ctx, name)
	case "archive is full":
		w.fillStore(archiveDisk, 20*much, e)
	case "recorder is full":
		w.fillStore(recorderDisk, 20*much, e)
	case "etcd is full":
		w.fillDatabase(5*much, e.which%2 == 0) // Less than the shortest deadline.
	case "clock is set":
		w.setClock(e)
	case "benchmark is aborted":
		w.changeBenchmark(ctx, name, func(b *v1alpha1.Benchmark) { b.Spec.Abort = true })
	case "benchmark is deleted":
		w.check.allow(name, v1alpha1.PhaseAborted)
		_ = w.Delete(ctx, benchmark(name, "", 0))
	case "benchmark is forced out":
		w.check.force(name)
		w.changeBenchmark(ctx, name, func(b *v1alpha1.Benchmark) { b.Finalizers = nil })
		_ = w.Delete(ctx, benchmark(name, "", 0))
	case "team writes without pause":
		w.hostile.begin(keyOf(name))
	case "bed is asked for":
		if e.much%2 == 0 {
			w.awaitRow(ctx, bed)
		}
		w.askFor(ctx, bed)
	case "bed is edited":
		w.changeBed(ctx, bed, func(b *v1alpha1.TestBed) { b.Spec.Ports[0].Addresses[0] = editedAddress(e.much) })
	case "bed is cordoned":
		w.changeBed(ctx, bed, func(b *v1alpha1.TestBed) { cordon(b, true) })
	case "bed is uncordoned":
		w.changeBed(ctx, bed, func(b *v1alpha1.TestBed) { cordon(b, false) })
	case "profile is made again":
		_ = w.Delete(ctx, profileOf(namespaceOf(name)))
		time.Sleep(much / 4)
		w.makeProfile(ctx)
	case "bed is reserved":
		_ = w.Create(ctx, booked(e.which, bed, e.much, time.Now()))
	case "reservation is extended":
		w.changeReservation(ctx, e.which, func(r *v1alpha1.Reservation) {
			r.Spec.Until = metav1.NewTime(r.Spec.Until.Add(much))
		})
	case "reservation is released":
		_ = w.Delete(ctx, booked(e.which, bed, e.much, time.Now()))
	case "policy is changed":
		w.changePolicy(ctx, e.much)
	default:
		panic("nothing is known of " + e.kind)
	}
}

func editedAddress(n int) string { return []string{"198.18.1.2/24", "198.18.1.3/24"}[n%2] }

func (w *world) setErrors(percent int) {
	l := w.operator().link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = percent
}

// losePod takes a pod of a benchmark away. What the benchmark may end as depends on it.
func (w *world) losePod(ctx context.Context, name, role string, e event, fail bool) {
	for _, pod := range w.lab.podsOf(ctx, w.uidOf(ctx, name), role) {
		switch role {
		case "agent":
			w.check.allow(name, v1alpha1.PhaseError)
		case "runner":
			w.losses[name]++
			if w.losses[name] > 2 {
				w.check.allow(name, v1alpha1.PhaseError)
			}
		}
		if !fail {
			_ = w.Delete(ctx, &pod)
			continue
		}
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Message = "evicted"
		_ = w.Status().Update(ctx, &pod)
	}
}

func (w *world) uidOf(ctx context.Context, name string) types.UID {
	b := &v1alpha1.Benchmark{}
	if err := w.Get(ctx, keyOf(name), b); err != nil {
		return ""
	}
	return b.UID
}

func (w *world) makeProfile(ctx context.Context) {
	for _, namespace := range teams {
		_ = w.Create(ctx, profileOf(namespace)) // Usually it is there.
	}
}

// changeBenchmark changes a benchmark as a user does, and retries on failures. It is a patch,
// since an update of a Go client writes durations in another form, which the API server takes
// for a change.
func (w *world) changeBenchmark(ctx context.Context, name string, change func(*v1alpha1.Benchmark)) {
	for range 50 {
		b := &v1alpha1.Benchmark{}
		if err := w.Get(ctx, keyOf(name), b); err != nil {
			return
		}
		before := b.DeepCopy()
		change(b)
		if b.Spec.Abort {
			w.check.allow(name, v1alpha1.PhaseAborted)
		}
		if err := w.Patch(ctx, b, client.MergeFrom(before)); err == nil {
			return
		}
	}
}

func (w *world) changeBed(ctx context.Context, name string, change func(*v1alpha1.TestBed)) {
	for range 50 {
		bed := &v1alpha1.TestBed{}
		if err := w.Get(ctx, client.ObjectKey{Name: name}, bed); err != nil {
			return
		}
		before := bed.DeepCopy()
		change(bed)
		if equality.Semantic.DeepEqual(before, bed) {
			return
		}
		if err := w.Update(ctx, bed); err == nil {
			return
		}
	}
}

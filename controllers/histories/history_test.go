package histories

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// incarnation is one operator that runs.
type incarnation struct {
	link *link
	stop func()
}

// world is the environment in which a history takes place.
type world struct {
	client.Client
	unit  time.Duration
	rng   *rand.Rand
	check *checker
	lab   *fakeLab
	// api is the API server in memory; nil with a real one.
	api *fakeAPI
	// hostile are the teams that write without pause.
	hostile hostile
	// baseline is the memory of an operator without benchmarks; nil compares none.
	baseline map[string]int
	// run starts an operator; it returns when its context ends.
	run func(ctx context.Context, l *link)

	mu      sync.Mutex
	current *incarnation
	all     sync.WaitGroup
	losses  map[string]int
	// deaths counts the operators that died at a write.
	deaths int
}

// newOperator starts an operator.
func (w *world) newOperator() *incarnation {
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	skew := time.Duration(w.rng.IntN(7)-3) * time.Hour
	l := &link{skew: skew, rng: rand.New(rand.NewPCG(w.rng.Uint64(), 2)), latency: w.unit / 20, check: w.check, requests: w.check.requests}
	w.mu.Unlock()
	ended := make(chan struct{})
	w.check.lead(1)
	w.all.Go(func() {
		w.run(ctx, l)
		w.check.lead(-1)
		close(ended)
	})
	l.died = cancel
	return &incarnation{link: l, stop: func() { cancel(); <-ended }}
}

// replace stops the operator for a while, and starts another one.
func (w *world) replace(gone time.Duration) {
	w.mu.Lock()
	old := w.current
	w.mu.Unlock()
	old.stop()
	time.Sleep(gone)
	next := w.newOperator()
	w.mu.Lock()
	w.current = next
	w.mu.Unlock()
}

func (w *world) operator() *incarnation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

func nameOf(i int) string { return fmt.Sprintf("b%d", i) }

// bedNames of the lab: the second and the third share their interfaces, the third starts a node that is configured, and the last has a device that is
// configured.
var bedNames = []string{"sim", "frr1", "frr2", managedBed}

// play makes everything happen, then waits until all is settled. It returns what was
// violated.
func (w *world) play(ctx context.Context, script []event) []string {
	w.current = w.newOperator()
	labCtx, stopLab := context.WithCancel(ctx)
	w.all.Go(func() { w.lab.work(labCtx) })
	for _, e := range script {
		time.Sleep(time.Duration(e.wait) * w.unit)
		w.happen(ctx, e)
		w.revive()
	}
	w.becalm(ctx)
	var left string
	for range 1500 {
		if left = w.unsettled(ctx); left == "" || len(w.check.violations()) > 0 {
			break
		}
		w.becalm(ctx)
		time.Sleep(w.unit)
	}
	wrong := w.check.violations()
	if left != "" && len(wrong) == 0 {
		wrong = append(wrong, "never settled: "+left)
	}
	if w.check.requests != nil && len(wrong) == 0 {
		wrong = append(wrong, w.check.requests.excessive()...)
	}
	if w.check.stores != nil && len(wrong) == 0 {
		wrong = append(wrong, w.leave(ctx)...)
	}
	w.operator().stop()
	if w.baseline != nil && len(wrong) == 0 {
		wrong = append(wrong, grown(footprint(w.operator().link.runnables), w.baseline)...)
	}
	stopLab()
	w.all.Wait()
	return wrong
}

// revive starts another operator when the last one has died.
func (w *world) revive() {
	l := w.operator().link
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		w.deaths++
		w.replace(time.Duration(w.rng.IntN(4)) * w.unit)
	}
}

// becalm ends all injected faults.
func (w *world) becalm(ctx context.Context) {
	l := w.operator().link
	l.mu.Lock()
	l.errors, l.dieAt = 0, 0
	l.mu.Unlock()
	w.revive()
	w.lab.heal()
	if w.check.stores != nil {
		w.check.stores.heal()
	}
	w.makeProfile(ctx)
	w.changePolicy(ctx, 0)
	w.release(ctx)
	w.endParts(ctx)
	for _, name := range bedNames {
		w.changeBed(ctx, name, func(bed *v1alpha1.TestBed) {
			cordon(bed, false)
			releaseQuarantine(bed)
		})
	}
}

// releaseQuarantine releases a bed that is quarantined.
func releaseQuarantine(bed *v1alpha1.TestBed) {
	if meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionQuarantined) {
		metav1.SetMetaDataAnnotation(&bed.ObjectMeta, v1alpha1.AnnotationReleaseQuarantine, "yes")
	}
}

// unsettled describes what is still in progress, or was left behind; empty if nothing is.
func (w *world) unsettled(ctx context.Context) string {
	var list v1alpha1.BenchmarkList
	if err := w.List(ctx, &list); err != nil {
		return err.Error()
	}
	for i := range list.Items {
		b := &list.Items[i]
		if !b.Status.Phase.Finished() || len(b.Finalizers) > 0 && !w.check.kept(b) {
			return fmt.Sprintf("benchmark %s is %s: %s; %v", b.Name, b.Status.Phase, b.Status.Message, b.Status.Conditions)
		}
	}
	var beds v1alpha1.TestBedList
	if err := w.List(ctx, &beds); err != nil {
		return err.Error()
	}
	for i := range beds.Items {
		bed := &beds.Items[i]
		if bed.Status.Lease != nil {
			return fmt.Sprintf("bed %s is leased to %s; %v", bed.Name, bed.Status.Lease.Holder, bed.Status.Conditions)
		}
		if !meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Sprintf("bed %s is not ready; %v", bed.Name, bed.Status.Conditions)
		}
	}
	networks := &unstructured.UnstructuredList{}
	networks.SetGroupVersionKind(labobjects.NetworkGVK.GroupVersion().WithKind(labobjects.NetworkGVK.Kind + "List"))
	var left []string
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.SecretList{}, networks} {
		if err := w.List(ctx, list, client.InNamespace(labNamespace), client.HasLabels{labobjects.LabelUID}); err != nil {
			return err.Error()
		}
		items, _ := meta.ExtractList(list)
		for _, item := range items {
			left = append(left, item.(client.Object).GetName())
		}
	}
	if len(left) > 0 {
		return "left in the lab: " + strings.Join(left, ", ")
	}
	return w.check.incomplete()
}

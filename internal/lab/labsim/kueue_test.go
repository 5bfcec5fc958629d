package labsim

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/quotas"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestMeasureKueue has the real Kueue, with its fair sharing, and our model of it decide on the
// same trace, in simulated time: Kueue decides by what is admitted at the moment, and by no
// clock. All beds are equal and none is reserved, since a quota knows no beds. It is run by make
// kueue-sim, which sets NODROP_KUEUE_SIM to "BEDS TEAMS BENCHMARKS"; without it there is nothing
// to measure.
func TestMeasureKueue(t *testing.T) {
	size := os.Getenv("NODROP_KUEUE_SIM")
	if size == "" {
		t.Skip("NODROP_KUEUE_SIM is not set: make kueue-sim")
	}
	c := Config{Load: 1.3, Run: 20 * time.Minute, Window: 6 * time.Hour, Seed: 1, Aging: queue.Aging{Interval: 6 * time.Hour, Points: 100, Max: 1000}}
	if _, err := fmt.Sscan(size, &c.Beds, &c.Teams, &c.Benchmarks); err != nil {
		t.Fatalf("NODROP_KUEUE_SIM is %q: %v", size, err)
	}
	for _, p := range []Policy{Fair, FIFO, Kueue} {
		trace := equalBeds(c)
		l := newSimulation(c, trace, newDecider(p, c, trace.weights))
		l.run()
		t.Logf("%s: %+v", p, l.report(p))
	}
	trace := equalBeds(c)
	d := startKueue(t, c, trace)
	l := newSimulation(c, trace, d)
	d.lab = l
	l.run()
	t.Logf("real Kueue: %+v", l.report("real Kueue"))
}

// equalBeds is a trace in which every benchmark can have every bed at any time.
func equalBeds(c Config) *trace {
	t := newTrace(c)
	names := slices.Sorted(maps.Keys(t.beds))
	for _, name := range names {
		t.beds[name] = queue.Bed{Name: name, Open: true}
	}
	for _, j := range t.jobs {
		j.Beds = names
	}
	return t
}

// realKueue decides as a Kueue does that runs.
type realKueue struct {
	t        *testing.T
	client   client.WithWatch
	admitted <-chan queue.Key
	lab      *simulation
	// holding are the benchmarks that have beds.
	holding map[queue.Key]bool
}

// startKueue runs Kueue with a cohort that has all beds, and a ClusterQueue for each team, which
// borrows from it by its weight.
func startKueue(t *testing.T, c Config, trace *trace) *realKueue {
	t.Helper()
	kueue := testserver.NewKueue(t)
	kueue.Policy = "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\nclientConnection: {qps: 1000, burst: 2000}"
	config, _ := testserver.StartAPIServer(t, func(env *envtest.Environment) { kueue.Install(t, env) })
	kueue.Run(t)
	config.QPS = -1
	api, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &realKueue{t: t, client: api, holding: map[queue.Key]bool{}}
	k.create(fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: beds}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: lab}
spec:
  resourceGroups:
  - coveredResources: [nodrop.dev/bed]
    flavors:
    - name: beds
      resources: [{name: nodrop.dev/bed, nominalQuota: %d}]
`, c.Beds))
	for _, team := range trace.teams {
		if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}); err != nil {
			t.Fatal(err)
		}
		k.create(fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  cohortName: lab
  namespaceSelector: {}
  fairSharing: {weight: %[2]v}
  resourceGroups:
  - coveredResources: [nodrop.dev/bed]
    flavors:
    - name: beds
      resources: [{name: nodrop.dev/bed, nominalQuota: 0}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: beds, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, team, trace.weights[team]))
	}
	k.admitted = k.watch()
	return k
}

// create creates the objects of a manifest.
func (k *realKueue) create(manifest string) {
	k.t.Helper()
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), o); err != nil {
			k.t.Fatal(err)
		}
		if err := k.client.Create(k.t.Context(), o); err != nil {
			k.t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// watch reports each benchmark once it is admitted.
func (k *realKueue) watch() <-chan queue.Key {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(quotas.NewWorkload().GroupVersionKind())
	w, err := k.client.Watch(k.t.Context(), list)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(w.Stop)
	admitted := make(chan queue.Key)
	go func() {
		seen := map[queue.Key]bool{}
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == apiwatch.Deleted {
				continue
			}
			key := queue.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
			if !seen[key] && isAdmitted(o) {
				seen[key] = true
				admitted <- key
			}
		}
	}()
	return admitted
}

func isAdmitted(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Admitted" && condition["status"] == "True"
	})
}

func (k *realKueue) arrive(e queue.Entry) {
	k.t.Helper()
	o := workload(e.Key)
	o.Object["spec"] = map[string]any{
		"queueName": "beds", "priority": int64(e.Priority),
		"podSets": []any{map[string]any{"name": "bed", "count": int64(1), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers": []any{map[string]any{
				"name": "bed", "image": "none",
				"resources": map[string]any{"requests": map[string]any{v1alpha1.ResourceBed: "1"}},
			}},
		}}}},
	}
	if err := k.client.Create(k.t.Context(), o); err != nil {
		k.t.Fatalf("creating workload %s: %v", e.Name, err)
	}
}

// decide finishes the benchmarks that have ended, and waits until Kueue has admitted as many as
// there are beds for: it always does, since every benchmark can have every bed.
func (k *realKueue) decide(q *queue.Queue, s queue.Snapshot, _ []queue.Run) []queue.Decision {
	k.t.Helper()
	running := map[queue.Key]bool{}
	for _, j := range k.lab.running {
		running[j.Key] = true
	}
	for key := range k.holding {
		if !running[key] {
			k.finish(key)
			delete(k.holding, key)
		}
	}
	var free []string
	for name, b := range s.Beds {
		if !b.Leased {
			free = append(free, name)
		}
	}
	slices.Sort(free)
	var decisions []queue.Decision
	for _, bed := range free[:min(len(free), len(k.lab.waiting))] {
		select {
		case key := <-k.admitted:
			k.holding[key] = true
			decisions = append(decisions, queue.Decision{Entry: k.lab.jobs[key].Entry, Bed: bed})
		case <-time.After(time.Minute):
			k.t.Fatalf("%d benchmarks have beds and %d wait, and Kueue admits none", len(k.holding), len(k.lab.waiting))
		}
	}
	return decisions
}

func (*realKueue) leased(*queue.Queue, queue.Snapshot, []queue.Run) {}

// finish marks the workload of a benchmark as finished, as the operator does.
func (k *realKueue) finish(key queue.Key) {
	k.t.Helper()
	o := workload(key)
	o.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Finished", "status": "True", "reason": "Succeeded", "message": "it has ended", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}}
	if err := k.client.Status().Apply(k.t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("labsim")); err != nil {
		k.t.Fatalf("finishing workload %s: %v", key, err)
	}
}

func workload(key queue.Key) *unstructured.Unstructured {
	o := quotas.NewWorkload()
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	return o
}

package hostileteam

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/manifests/manifest"
)

// limits are the objects that a team without a LabPolicy may have, by kind.
var limits = map[string]int{
	"Benchmark": v1alpha1.DefaultMaxBenchmarks, "TrafficProfile": v1alpha1.DefaultMaxTrafficProfiles, "BenchmarkSchedule": v1alpha1.DefaultMaxSchedules,
	"Reservation": v1alpha1.DefaultMaxReservations, "NotificationSink": v1alpha1.DefaultMaxNotificationSinks,
}

// maxBytes are the bytes that all objects of a team without a LabPolicy may have, as JSON without annotations.
const maxBytes = v1alpha1.DefaultMaxObjectsMiB << 20

// shape contains the sizes of an object.
type shape struct {
	// text is its size in bytes as JSON, cached that size without annotations, and memory the bytes of the decoded object.
	text, cached, memory int
}

// TestMemoryOfATeam prints how much of the operator's memory the objects of a team need that need most of it, and how much all
// that it may have. The cache of the operator has no annotations. Two teams at their own limits leave room for the operator, which tries to
// stay below 512 MiB, and so do all that take what they can get, however many.
func TestMemoryOfATeam(t *testing.T) {
	a := &attack{Team: Team{Namespace: "team-hostile", Bed: "bed", Receiver: "https://hooks.example.com"}}
	shapes := map[string][]shape{}
	byNumber := 0
	for _, k := range kinds {
		n := limits[k.name]
		largest := 0
		for name, o := range densest(a, k) {
			s := measure(t, o)
			if s.text > admission.MaxObject {
				t.Errorf("a %s has %d bytes, and admission allows %d", k.name, s.text, admission.MaxObject)
			}
			t.Logf("%-18s%-20s%8d bytes as JSON%8d without annotations%8d in memory, %5d of them%5d MB", k.name, name, s.text, s.cached, s.memory, n, s.memory*n/1_000_000)
			shapes[k.name] = append(shapes[k.name], s)
			largest = max(largest, s.memory)
		}
		byNumber += largest * n
	}
	t.Logf("all objects of one team: %d MB by their number alone", byNumber/1_000_000)
	for _, most := range []int{maxBytes / 4, maxBytes / 2, maxBytes} {
		bytes, memory := worst(shapes, most)
		t.Logf("all objects of one team with %d MiB as JSON: %d bytes, %d MB", most>>20, bytes, memory/1_000_000)
	}
	bytes, memory := worst(shapes, maxBytes)
	if bytes > maxBytes || bytes < maxBytes*9/10 {
		t.Errorf("the objects have %d bytes, and may have %d", bytes, maxBytes)
	}
	const limit, mib = 400 << 20, 1 << 20
	if two := 2 * memory; two > limit {
		t.Errorf("two teams need %d bytes of the operator's memory, more than %d", two, limit)
	}
	for _, n := range []int{1, 2, 3, 5, 10, 20, 40} {
		each := 2 * v1alpha1.DefaultMaxAllObjectsMiB * mib / (1 + 2*n) // Each has twice what is left: x = 2 (48 MiB - n x).
		_, memory := worst(shapes, each)
		t.Logf("%d such teams: %.1f MiB as JSON each, %d MB of memory together", n, float64(each)/mib, n*memory/1_000_000)
		if n*memory > limit {
			t.Errorf("%d teams need %d bytes of the operator's memory, more than %d", n, n*memory, limit)
		}
	}
}

// densest returns objects of a kind that need much memory: the largest, and others that need much for their size as JSON.
func densest(a *attack, k kind) map[string]client.Object {
	all := map[string]client.Object{"largest": k.build(a, "hostile-00000", k.largest)}
	tests := a.benchmark("hostile-00000", 0)
	for i := range 31 {
		tests.Spec.Tests = append(tests.Spec.Tests, v1alpha1.Test{Name: fmt.Sprint(i), Throughput: &v1alpha1.ThroughputTest{}})
	}
	gates := tests.DeepCopy()
	decrease := v1alpha1.Tolerance("5%")
	for i := range 32 {
		gates.Spec.Gates = append(gates.Spec.Gates, v1alpha1.Gate{Name: fmt.Sprint(i), Test: "t", Metric: "Throughput", Relative: &v1alpha1.RelativeBound{MaxDecrease: &decrease}})
	}
	switch k.name {
	case "Benchmark":
		all["with one test"], all["with 32 tests"], all["with 32 gates"] = a.benchmark("hostile-00000", 0), tests, gates
	case "TrafficProfile":
		all["small"] = a.profile("hostile-00000")
		routes := a.profile("hostile-00000")
		routes.Spec.Routing = &v1alpha1.ProfileRouting{}
		for i := range 30 {
			set := v1alpha1.RouteSet{Name: fmt.Sprint(i), First: "198.18.0.0/24"}
			for j := range 600 {
				set.Sessions = append(set.Sessions, fmt.Sprint(j))
			}
			for range 64 {
				set.ASPath = append(set.ASPath, 1)
			}
			routes.Spec.Routing.Routes = append(routes.Spec.Routing.Routes, set)
		}
		all["with routes"] = routes
	case "BenchmarkSchedule":
		s := &v1alpha1.BenchmarkSchedule{ObjectMeta: a.metadata("hostile-00000")}
		s.Spec.Schedule, s.Spec.BenchmarkTemplate.Spec = "* * * * *", a.benchmark("", largest).Spec
		all["of large benchmarks"] = s
	}
	return all
}

// measure decodes an object many times.
func measure(t *testing.T, o client.Object) shape {
	const copies = 100
	if err := manifest.Default(o); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	o.SetAnnotations(nil)
	cached, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]any, 0, copies)
	before := heap()
	for range copies {
		decoded := reflect.New(reflect.TypeOf(o).Elem()).Interface()
		if err := json.Unmarshal(cached, decoded); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, decoded)
	}
	each := int(heap()-before) / copies
	runtime.KeepAlive(kept)
	return shape{len(text), len(cached), each}
}

// step replaces n objects of a kind by larger ones that need more memory, at a cost of bytes each.
type step struct{ n, cached, memory int }

// worst returns the bytes as JSON and in memory of the objects that need most memory, of all that a team may have with most bytes: each
// step takes what needs most memory for its bytes.
func worst(shapes map[string][]shape, most int) (cached, memory int) {
	var steps []step
	for kind, ofKind := range shapes {
		at := shape{}
		for {
			best := at
			for _, s := range ofKind {
				if s.memory > at.memory && (best == at || (s.memory-at.memory)*(best.cached-at.cached) > (best.memory-at.memory)*(s.cached-at.cached)) {
					best = s
				}
			}
			if best == at {
				break
			}
			steps = append(steps, step{limits[kind], best.cached - at.cached, best.memory - at.memory})
			at = best
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return b.memory*a.cached - a.memory*b.cached })
	for _, s := range steps {
		n := min(s.n, (most-cached)/s.cached)
		cached, memory = cached+n*s.cached, memory+n*s.memory
	}
	return cached, memory
}

// heap returns the bytes of live objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

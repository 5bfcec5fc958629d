package hostileteam

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/admission"
)

// limits are the objects that a team without a LabPolicy may have, by kind.
var limits = map[string]int{
	"Benchmark": v1alpha1.DefaultMaxBenchmarks, "TrafficProfile": v1alpha1.DefaultMaxTrafficProfiles, "BenchmarkSchedule": v1alpha1.DefaultMaxSchedules,
	"Reservation": v1alpha1.DefaultMaxReservations, "NotificationSink": v1alpha1.DefaultMaxNotificationSinks,
}

// maxBytes are the bytes that all objects of a team without a LabPolicy may have, as JSON without annotations.
const maxBytes = v1alpha1.DefaultMaxObjectsMiB << 20

// shape is what an object needs.
type shape struct {
	name string
	// text is its size in bytes as JSON, cached that size without annotations, and memory the bytes of the decoded object.
	text, cached, memory int
}

// TestMemoryOfATeam prints how much of the operator's memory the objects of a team need that need most of it, and how much all
// that it may have. The cache of the operator has no annotations. Two teams at their limits leave room for the operator,
// which tries to stay below 512 MiB.
func TestMemoryOfATeam(t *testing.T) {
	a := &attack{Team: Team{Namespace: "team-hostile", Bed: "bed", Receiver: "https://hooks.example.com"}}
	byNumber, others := 0, 0
	var benchmarks []shape
	for _, k := range kinds {
		n := limits[k.name]
		if n == 0 {
			continue // The operator does not read ConfigMaps of teams.
		}
		s := measure(t, k.name, k.build(a, "hostile-00000", k.largest))
		if s.text > admission.MaxObject {
			t.Errorf("a %s has %d bytes, and admission allows %d", k.name, s.text, admission.MaxObject)
		}
		t.Logf("%-20s%8d bytes as JSON%8d without annotations%8d in memory, %5d of them %5d MB", k.name, s.text, s.cached, s.memory, n, s.memory*n/1_000_000)
		byNumber += s.memory * n
		if k.name == "Benchmark" {
			benchmarks = append(benchmarks, s)
		} else {
			others += s.memory * n
		}
	}
	for name, change := range map[string]func(*v1alpha1.BenchmarkSpec){
		"one test": func(s *v1alpha1.BenchmarkSpec) { s.Tests = s.Tests[:1] },
		"32 tests": func(*v1alpha1.BenchmarkSpec) {},
		"32 tests and gates": func(s *v1alpha1.BenchmarkSpec) {
			decrease := v1alpha1.Tolerance("5%")
			for i := range 32 {
				s.Gates = append(s.Gates, v1alpha1.Gate{Name: fmt.Sprint(i), Test: "t", Metric: "Throughput", Relative: &v1alpha1.RelativeBound{MaxDecrease: &decrease}})
			}
		},
	} {
		b := a.benchmark("hostile-00000", 0)
		for i := range 31 {
			b.Spec.Tests = append(b.Spec.Tests, v1alpha1.Test{Name: fmt.Sprint(i), Throughput: &v1alpha1.ThroughputTest{}})
		}
		change(&b.Spec)
		s := measure(t, "Benchmark of "+name, b)
		t.Logf("%-35s%8d bytes as JSON%8d in memory", s.name, s.text, s.memory)
		benchmarks = append(benchmarks, s)
	}
	text, memory := worst(benchmarks, limits["Benchmark"])
	t.Logf("all objects of one team by their number: %d MB; with %d MiB as JSON: benchmarks of %d MB need %d MB, other kinds %d MB",
		byNumber/1_000_000, v1alpha1.DefaultMaxObjectsMiB, text/1_000_000, memory/1_000_000, others/1_000_000)
	if text > maxBytes {
		t.Errorf("the benchmarks have %d bytes, and may have %d", text, maxBytes)
	}
	const limit = 400 << 20
	if two := 2 * (memory + others); two > limit {
		t.Errorf("two teams need %d bytes of the operator's memory, more than %d", two, limit)
	}
}

// measure decodes an object many times.
func measure(t *testing.T, name string, o client.Object) shape {
	const copies = 100
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
	return shape{name, len(text), len(cached), each}
}

// worst returns bytes as JSON and in memory of the n objects of up to two shapes that need most memory with maxBytes. With two limits, on
// number and bytes, no third shape needs more.
func worst(shapes []shape, n int) (text, memory int) {
	for _, large := range shapes {
		for _, small := range append(shapes, shape{}) {
			if large.cached <= small.cached || n*small.cached > maxBytes {
				continue
			}
			x := min(n, (maxBytes-n*small.cached)/(large.cached-small.cached))
			if m := x*large.memory + (n-x)*small.memory; m > memory {
				text, memory = x*large.cached+(n-x)*small.cached, m
			}
		}
	}
	return text, memory
}

// heap returns the bytes of live objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

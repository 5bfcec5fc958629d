package hostileteam

import (
	"encoding/json"
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

// TestMemoryOfATeam prints how much of the operator's memory the largest objects of a team need, and
// how much all that it may have. The cache of the operator has no annotations.
func TestMemoryOfATeam(t *testing.T) {
	const copies = 100
	a := &attack{Team: Team{Namespace: "team-hostile", Bed: "bed", Receiver: "https://hooks.example.com"}}
	total := 0
	for _, k := range kinds {
		if limits[k.name] == 0 {
			continue // The operator does not read ConfigMaps of teams.
		}
		o := k.build(a, "hostile-00000", k.largest)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > admission.MaxObject {
			t.Errorf("a %s has %d bytes, and admission allows %d", k.name, len(text), admission.MaxObject)
		}
		kept := make([]any, 0, copies)
		before := heap()
		for range copies {
			decoded := reflect.New(reflect.TypeOf(o).Elem()).Interface()
			if err := json.Unmarshal(text, decoded); err != nil {
				t.Fatal(err)
			}
			decoded.(client.Object).SetAnnotations(nil)
			kept = append(kept, decoded)
		}
		each := int(heap()-before) / copies
		runtime.KeepAlive(kept)
		total += each * limits[k.name]
		t.Logf("%-20s%8d bytes as JSON%8d in memory, %5d of them %5d MB", k.name, len(text), each, limits[k.name], each*limits[k.name]/1_000_000)
		if each > 2*admission.MaxObject {
			t.Errorf("a %s needs %d bytes of memory, more than twice the %d that admission allows", k.name, each, admission.MaxObject)
		}
	}
	t.Logf("all objects of one team: %d MB", total/1_000_000)
}

// heap returns the bytes of live objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

package histories

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// walked are the packages whose types are part of the memory of an operator. Objects of the API, fakes, and
// what every program has are not.
var walked = []string{"nodrop.dev/nodrop/controllers", "nodrop.dev/nodrop/internal/lab", "sigs.k8s.io/controller-runtime/pkg", "k8s.io/client-go/util/workqueue"}

// footprint returns the number of entries of all maps, slices and channels that are reachable from a
// value, by their path. The operator must have ended.
func footprint(root any) map[string]int {
	f := &walk{entries: map[string]int{}, seen: map[visit]bool{}}
	f.value(reflect.ValueOf(root), "")
	return f.entries
}

type visit struct {
	at uintptr
	of reflect.Type
}

type walk struct {
	entries map[string]int
	seen    map[visit]bool
	// of is the name of the controller of which the walk is part.
	of string
}

func (f *walk) value(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			f.value(v.Elem(), path)
		}
	case reflect.Pointer:
		at := visit{v.Pointer(), v.Type()}
		if !v.IsNil() && !f.seen[at] {
			f.seen[at] = true
			f.value(v.Elem(), path)
		}
	case reflect.Struct:
		if !isWalked(v.Type()) {
			return
		}
		if name := v.FieldByName("Name"); strings.HasPrefix(typeName(v.Type()), "controller.") && name.Kind() == reflect.String {
			defer func(of string) { f.of = of }(f.of)
			f.of = " of " + name.String()
		}
		for i := range v.NumField() {
			f.value(v.Field(i), typeName(v.Type())+"."+v.Type().Field(i).Name)
		}
	case reflect.Map:
		at := visit{v.Pointer(), v.Type()}
		if v.IsNil() || f.seen[at] {
			return
		}
		f.seen[at] = true
		f.entries[path+f.of] += v.Len()
		for it := v.MapRange(); it.Next(); {
			f.value(it.Value(), path+"[]")
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		f.entries[path+f.of] += v.Len()
		for i := range v.Len() {
			f.value(v.Index(i), path+"[]")
		}
	case reflect.Chan:
		f.entries[path+f.of] += v.Len()
	}
}

func isWalked(t reflect.Type) bool {
	if t.PkgPath() == "" {
		return true
	}
	if strings.HasSuffix(t.PkgPath(), "controllers/histories") {
		return false
	}
	for _, p := range walked {
		if strings.HasPrefix(t.PkgPath(), p) {
			return true
		}
	}
	return false
}

// typeName is the name of a type without the parameters of a generic one.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), "[")
	return name
}

// remembered has the greatest number of entries of the parts of the memory that outlast a benchmark, by the
// beginning of their path: the lease of each bed, the standings of each team, for a week what past runs took, and what
// was under way when the operator ended.
var remembered = map[string]int{
	"kit.Timers.of":       len(bedNames),
	"allocation.changes.": 10,
	"allocation.inbox.":   10,
	"workqueue.TypedItemExponentialFailureRateLimiter.failures of testbed": len(bedNames),
	"allocation.shares.hours": len(teams),
	"share.":                  1000,
	"allocation.ended.":       1000,
	"past.":                   1000,
}

// grown describes what an operator keeps beyond a baseline; empty if nothing is.
func grown(now, baseline map[string]int) (more []string) {
	for _, path := range sortedKeys(now) {
		limit := baseline[path]
		for beginning, n := range remembered {
			if strings.HasPrefix(path, beginning) {
				limit = max(limit, n)
			}
		}
		if now[path] > limit {
			more = append(more, fmt.Sprintf("%s has %d entries, want %d at most", path, now[path], limit))
		}
	}
	return more
}

// empty deletes all benchmarks, and waits until they are gone.
func (w *world) empty(ctx context.Context) (left string) {
	for range 1500 {
		var list v1alpha1.BenchmarkList
		if err := w.List(ctx, &list); err != nil {
			return err.Error()
		}
		if len(list.Items) == 0 {
			return ""
		}
		left = ""
		for i := range list.Items {
			left += " " + list.Items[i].Name
			if list.Items[i].DeletionTimestamp.IsZero() {
				_ = w.Delete(ctx, &list.Items[i])
			}
		}
		time.Sleep(w.unit)
	}
	return "benchmarks do not go:" + left
}

// leave ends a history as its teams do: no benchmark is left, unless the archive is full for good.
func (w *world) leave(ctx context.Context) (wrong []string) {
	if archive, _ := w.check.stores.isFull(); archive {
		w.baseline = nil
		return nil
	}
	if left := w.empty(ctx); left != "" {
		return []string{left}
	}
	time.Sleep(75 * w.unit) // Longer than any pause before a retry.
	return w.check.violations()
}

var emptyOnce struct {
	sync.Mutex
	entries map[string]int
}

// emptyOperator returns the memory of an operator in a lab in which nothing has happened.
func emptyOperator(t *testing.T) map[string]int {
	t.Helper()
	emptyOnce.Lock()
	defer emptyOnce.Unlock()
	if emptyOnce.entries == nil {
		inBubble(t, 1, func(w *world, _ *fakeAPI) {
			w.check.stores = newFakeStores(w.check)
			_ = w.play(context.Background(), []event{{wait: 30, kind: "bed is uncordoned"}})
			emptyOnce.entries = footprint(w.operator().link.runnables)
		})
	}
	return emptyOnce.entries
}

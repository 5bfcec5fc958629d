package benchmarks

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// remembered contains a value for each benchmark in progress. A benchmark that has the name of one
// that was deleted does not get its value.
type remembered[T any] struct {
	mu    sync.Mutex
	known map[types.NamespacedName]valueOf[T]
}

// valueOf is the value of the benchmark that has this UID.
type valueOf[T any] struct {
	uid   types.UID
	value T
}

// of returns the value of a benchmark; the zero value without one.
func (r *remembered[T]) of(b *v1alpha1.Benchmark) (none T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.known[keyOf(b)]; ok && v.uid == b.UID {
		return v.value
	}
	return none
}

// remember stores the value of a benchmark.
func (r *remembered[T]) remember(b *v1alpha1.Benchmark, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]valueOf[T]{}
	}
	r.known[keyOf(b)] = valueOf[T]{b.UID, value}
}

// forget drops the value of the benchmark with this key.
func (r *remembered[T]) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

package kit

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// InProgress contains the benchmarks that are being reconciled. Who cleans up after a benchmark that
// is gone waits until its last reconcile has ended, which may still create a pod.
type InProgress struct {
	mu  sync.Mutex
	all map[types.NamespacedName]bool
}

// NewInProgress returns an empty set.
func NewInProgress() *InProgress { return &InProgress{all: map[types.NamespacedName]bool{}} }

// Enter adds a benchmark, until the function that it returns is called.
func (p *InProgress) Enter(key types.NamespacedName) (leave func()) {
	p.set(key, true)
	return func() { p.set(key, false) }
}

func (p *InProgress) set(key types.NamespacedName, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is {
		p.all[key] = true
	} else {
		delete(p.all, key)
	}
}

// Has reports whether a benchmark is being reconciled.
func (p *InProgress) Has(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}

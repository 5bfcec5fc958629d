package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team/labpolicy"
)

// teamKinds returns an object of each kind that teams write and the cache has. Results and snapshots, which the operator
// writes, are not in the cache.
func teamKinds() []client.Object {
	return []client.Object{&v1alpha1.Benchmark{}, &v1alpha1.BenchmarkSchedule{}, &v1alpha1.TrafficProfile{}, &v1alpha1.Reservation{}, &v1alpha1.NotificationSink{}}
}

// The share of a team in the bytes of the lab: it may have freeTimes what all teams leave free, and guaranteedBytes in any case.
const (
	freeTimes       = 2
	guaranteedBytes = 1 << 20
)

// tooManyBytes returns an error if the objects of a team would exceed its limit of bytes, or its share in the bytes of the lab, when the
// given object grows by so many; else nil. As with the number of objects, the cache may be a little behind: of several that are made at once a few more can
// pass. The status of an object counts, and a write of it is not judged.
func (c *objectCounts) tooManyBytes(ctx context.Context, o client.Object, growth int) (*field.Error, error) {
	if o.GetNamespace() == c.labNamespace {
		return nil, nil
	}
	if err := c.totals.ready(ctx); err != nil {
		return nil, err
	}
	policy, err := labpolicy.Read(ctx, c.cache)
	if err != nil {
		return nil, err
	}
	own := c.team(ctx, policy, o.GetNamespace())
	total, all := 0, 0
	for namespace, n := range c.totals.namespaces() {
		all += n
		if c.isOf(ctx, policy, own, o.GetNamespace(), namespace) {
			total += n
		}
	}
	limit, ofLab := int(own.MaxObjectsMiB)<<20, v1alpha1.DefaultMaxAllObjectsMiB
	if policy != nil {
		ofLab = int(cmp.Or(policy.Spec.MaxAllObjectsMiB, v1alpha1.DefaultMaxAllObjectsMiB))
	}
	share := max(freeTimes*(ofLab<<20-all-growth), guaranteedBytes)
	needed := total + growth
	const refused = "the objects of team %s of namespace %s have %d bytes as JSON, with status and without annotations; with another %d they would have %d, and may have %d%s: " +
		"delete finished benchmarks (ttlSecondsAfterFinished does so), use fewer labels, gates and selectors, or ask the lab for a higher %s in LabPolicy %s"
	why, remedy := "", "maxObjectsMiB"
	switch {
	case limit > 0 && needed > limit:
	case needed > share:
		limit, remedy = share, "maxAllObjectsMiB"
		why = fmt.Sprintf(", which is twice what the objects of all teams leave free of %d MiB, or 1 MiB", ofLab)
	default:
		return nil, nil
	}
	return field.Forbidden(field.NewPath("metadata", "namespace"),
		fmt.Sprintf(refused, own.Name, o.GetNamespace(), total, growth, needed, limit, why, remedy, v1alpha1.LabPolicyName)), nil
}

// cachedSize returns the size in bytes of an object as JSON as the cache has it: with status, without annotations and managed fields.
// The object must not be shared.
func cachedSize(o client.Object) int {
	annotations, managed := o.GetAnnotations(), o.GetManagedFields()
	o.SetAnnotations(nil)
	o.SetManagedFields(nil)
	defer func() {
		o.SetAnnotations(annotations)
		o.SetManagedFields(managed)
	}()
	return encodedSize(o)
}

// encodedSize returns the size in bytes of an object as JSON, and 0 for one that cannot be encoded.
func encodedSize(o client.Object) int {
	var n byteCount
	if json.NewEncoder(&n).Encode(o) != nil {
		return 0
	}
	return int(n) - len("\n")
}

// byteCount counts what is written to it.
type byteCount int

func (n *byteCount) Write(text []byte) (int, error) {
	*n += byteCount(len(text))
	return len(text), nil
}

// cachedObject identifies an object in the cache.
type cachedObject struct {
	kind int // index in teamKinds
	toolscache.ObjectName
}

// byteTotals keeps the sizes of the cached objects that teams write, and their total for each namespace. Each event of the
// cache encodes one object, so that a decision need not look at the objects.
type byteTotals struct {
	informers ctrlcache.Informers

	starting  sync.Mutex
	followers []toolscache.ResourceEventHandlerRegistration // by index in teamKinds

	mu     sync.Mutex
	sizes  map[cachedObject]int
	totals map[string]int
}

func newByteTotals(informers ctrlcache.Informers) *byteTotals {
	return &byteTotals{informers: informers, sizes: map[cachedObject]int{}, totals: map[string]int{}}
}

// ready follows the cache, from the first call on, and waits until the totals contain what the cache had when it was
// followed, or the context ends.
func (t *byteTotals) ready(ctx context.Context) error {
	followers, err := t.start(ctx)
	if err != nil {
		return err
	}
	for _, follower := range followers {
		if !follower.HasSynced() && !toolscache.WaitForCacheSync(ctx.Done(), follower.HasSynced) {
			return fmt.Errorf("counting the bytes of objects: the cache was not filled in time: %w", context.Cause(ctx))
		}
	}
	return nil
}

func (t *byteTotals) start(ctx context.Context) ([]toolscache.ResourceEventHandlerRegistration, error) {
	t.starting.Lock()
	defer t.starting.Unlock()
	kinds := teamKinds()
	for kind := len(t.followers); kind < len(kinds); kind++ {
		informer, err := t.informers.GetInformer(ctx, kinds[kind], ctrlcache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("counting the bytes of objects: %w", err)
		}
		follower, err := informer.AddEventHandler(t.follow(kind))
		if err != nil {
			return nil, fmt.Errorf("counting the bytes of objects: %w", err)
		}
		t.followers = append(t.followers, follower)
	}
	return t.followers, nil
}

// follow returns a handler of the events of a kind.
func (t *byteTotals) follow(kind int) toolscache.ResourceEventHandler {
	set := func(in any) {
		if o, ok := in.(client.Object); ok {
			t.set(cachedObject{kind, toolscache.MetaObjectToName(o)}, encodedSize(o))
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, after any) { set(after) },
		DeleteFunc: func(in any) {
			if name, err := toolscache.DeletionHandlingObjectToName(in); err == nil {
				t.set(cachedObject{kind, name}, 0)
			}
		},
	}
}

// set notes the size of an object, 0 for one that does not exist any more.
func (t *byteTotals) set(o cachedObject, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals[o.Namespace] += size - t.sizes[o]
	t.sizes[o] = size
	if size == 0 {
		delete(t.sizes, o)
	}
	if t.totals[o.Namespace] == 0 {
		delete(t.totals, o.Namespace)
	}
}

// namespaces returns the bytes of each namespace that has any.
func (t *byteTotals) namespaces() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.totals)
}

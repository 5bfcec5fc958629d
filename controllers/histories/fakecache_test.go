package histories

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeCache follows fakeAPI with a delay, as the cache of an operator does.
type fakeCache struct {
	api *fakeAPI
	// kinds are the kinds that are watched; others are read from the API.
	kinds map[string]bool
	// lag bounds the delay, at random.
	lag time.Duration
	rng *rand.Rand

	mu       sync.Mutex
	objects  map[string]map[types.NamespacedName]client.Object
	handlers map[string][]toolscache.ResourceEventHandler
	indexers map[string]client.IndexerFunc
	received []change
	more     chan struct{}
	// applying is held while a change reaches all handlers.
	applying sync.Mutex
}

var _ cache.Cache = (*fakeCache)(nil)

func newFakeCache(api *fakeAPI, lag time.Duration, rng *rand.Rand) *fakeCache {
	kinds := map[string]bool{}
	for _, kind := range []string{"Benchmark", "BenchmarkSchedule", "TestBed", "TrafficProfile", "Namespace", "Pod", "BenchmarkResult", "BenchmarkSnapshot", "Reservation", "LabPolicy"} {
		kinds[kind] = true
	}
	c := &fakeCache{
		api: api, kinds: kinds, lag: lag, rng: rng, objects: map[string]map[types.NamespacedName]client.Object{},
		handlers: map[string][]toolscache.ResourceEventHandler{}, indexers: map[string]client.IndexerFunc{}, more: make(chan struct{}, 1),
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	for kind, objects := range api.objects {
		c.objects[kind] = map[types.NamespacedName]client.Object{}
		for key, obj := range objects {
			c.objects[kind][key] = obj
		}
	}
	api.watchers[c] = true
	return c
}

func (c *fakeCache) watches(obj client.Object) bool { return c.kinds[c.api.gvk(obj).Kind] }

// receive records a change; it is applied later.
func (c *fakeCache) receive(ch change) {
	c.mu.Lock()
	c.received = append(c.received, ch)
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// Start applies changes until the context ends.
func (c *fakeCache) Start(ctx context.Context) error {
	defer func() {
		c.api.mu.Lock()
		delete(c.api.watchers, c)
		c.api.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.more:
		}
		if c.lag > 0 {
			time.Sleep(time.Duration(c.rng.Int64N(int64(c.lag))))
		}
		c.mu.Lock()
		received := c.received
		c.received = nil
		c.mu.Unlock()
		for _, ch := range received {
			c.apply(ch)
		}
	}
}

func (c *fakeCache) apply(ch change) {
	c.applying.Lock()
	defer c.applying.Unlock()
	key := client.ObjectKeyFromObject(ch.after)
	c.mu.Lock()
	if c.objects[ch.kind] == nil {
		c.objects[ch.kind] = map[types.NamespacedName]client.Object{}
	}
	if ch.what == watch.Deleted {
		delete(c.objects[ch.kind], key)
	} else {
		c.objects[ch.kind][key] = ch.after
	}
	handlers := c.handlers[ch.kind]
	c.mu.Unlock()
	for _, h := range handlers {
		switch ch.what {
		case watch.Added:
			h.OnAdd(ch.after, false)
		case watch.Deleted:
			h.OnDelete(ch.after)
		default:
			h.OnUpdate(ch.before, ch.after)
		}
	}
}

func (c *fakeCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := c.api.gvk(obj).Kind
	found := c.objects[kind][key]
	if found == nil {
		return apierrors.NewNotFound(resource(kind), key.String())
	}
	copyInto(found, obj)
	return nil
}

func (c *fakeCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind := listKind(c.api, list)
	c.mu.Lock()
	defer c.mu.Unlock()
	var objects []client.Object
	for _, obj := range c.objects[kind] {
		objects = append(objects, obj)
	}
	return fill(list, objects, func(field string) client.IndexerFunc { return c.indexers[kind+"/"+field] }, opts)
}

func (c *fakeCache) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexers[c.api.gvk(obj).Kind+"/"+field] = extract
	return nil
}

func (c *fakeCache) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &fakeInformer{cache: c, kind: c.api.gvk(obj).Kind}, nil
}

func (c *fakeCache) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return &fakeInformer{cache: c, kind: gvk.Kind}, nil
}

func (c *fakeCache) RemoveInformer(context.Context, client.Object) error { return nil }
func (c *fakeCache) WaitForCacheSync(context.Context) bool               { return true }

// fakeInformer hands the changes of one kind to handlers.
type fakeInformer struct {
	cache *fakeCache
	kind  string
}

func (i *fakeInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.cache.applying.Lock()
	defer i.cache.applying.Unlock()
	i.cache.mu.Lock()
	i.cache.handlers[i.kind] = append(i.cache.handlers[i.kind], h)
	var there []client.Object
	for _, obj := range i.cache.objects[i.kind] {
		there = append(there, obj)
	}
	i.cache.mu.Unlock()
	for _, obj := range there {
		h.OnAdd(obj, true)
	}
	return i, nil
}

func (i *fakeInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *fakeInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *fakeInformer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	return nil
}
func (i *fakeInformer) AddIndexers(toolscache.Indexers) error    { return nil }
func (i *fakeInformer) HasSynced() bool                          { return true }
func (i *fakeInformer) HasSyncedChecker() toolscache.DoneChecker { return done{} }
func (i *fakeInformer) IsStopped() bool                          { return false }

type done struct{}

func (done) Name() string { return "fake" }
func (done) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func listKind(api *fakeAPI, list client.ObjectList) string {
	return strings.TrimSuffix(api.gvk(list).Kind, "List")
}

// fieldOf returns a field by which the API server selects; empty if there is none. Events of a pod do
// not exist.
func fieldOf(obj client.Object, field string) string {
	if s, is := obj.(*corev1.Secret); is && field == "type" {
		return string(s.Type)
	}
	if field == "metadata.name" {
		return obj.GetName()
	}
	return ""
}

// fill selects objects into a list.
func fill(list client.ObjectList, objects []client.Object, indexer func(field string) client.IndexerFunc, opts []client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	var items []runtime.Object
	for _, obj := range objects {
		if o.Namespace != "" && obj.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(obj)) {
			continue
		}
		selected := true
		if o.FieldSelector != nil {
			for _, r := range o.FieldSelector.Requirements() {
				if indexer == nil {
					selected = selected && fieldOf(obj, r.Field) == r.Value
					continue
				}
				extract := indexer(r.Field)
				if extract == nil {
					return errors.New("there is no index " + r.Field)
				}
				found := false
				for _, v := range extract(obj) {
					found = found || v == r.Value
				}
				selected = selected && found
			}
		}
		if !selected {
			continue
		}
		if _, metadata := list.(*metav1.PartialObjectMetadataList); metadata {
			items = append(items, meta.AsPartialObjectMetadata(obj).DeepCopy())
			continue
		}
		items = append(items, obj.DeepCopyObject())
	}
	return meta.SetList(list, items)
}

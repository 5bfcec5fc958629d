package histories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// fakeAPI keeps objects in memory as the API server does: versions, generations,
// finalizers and the status separate from the rest. Objects in it are never changed, only
// replaced.
type fakeAPI struct {
	scheme *runtime.Scheme
	mu     sync.Mutex
	// version counts writes.
	version int
	objects map[string]map[types.NamespacedName]client.Object
	// watchers get every change, in the order of the writes.
	watchers map[*fakeCache]bool
	// seen is called with every change, under the lock.
	seen func(change)
	// meddle is called before every write of an operator to an object that exists, without the
	// lock. An error is the answer to the write.
	meddle func(client.Object) error
	// creating is called before an operator creates a pod.
	creating func(client.Object)
	// full reports whether what needs room in etcd is refused.
	full bool
	// stepped is by how much the clock of the API server was set.
	stepped time.Duration
}

// change is one write.
type change struct {
	kind string
	what watch.EventType
	// before is nil for a new object; after is the last version of one that is gone.
	before, after client.Object
}

func newFakeAPI(scheme *runtime.Scheme) *fakeAPI {
	return &fakeAPI{
		scheme: scheme, objects: map[string]map[types.NamespacedName]client.Object{},
		watchers: map[*fakeCache]bool{}, seen: func(change) {}, meddle: func(client.Object) error { return nil }, creating: func(client.Object) {},
	}
}

// meddleWith calls meddle before every write from now on.
func (f *fakeAPI) meddleWith(meddle func(client.Object) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meddle = meddle
}

// meddled returns the answer of meddle to a write; nil lets it pass.
func (f *fakeAPI) meddled(obj client.Object) error {
	f.mu.Lock()
	meddle := f.meddle
	f.mu.Unlock()
	return meddle(obj)
}

func (f *fakeAPI) gvk(obj runtime.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(obj, f.scheme)
	if err != nil {
		panic(err)
	}
	return gvk
}

func resource(kind string) schema.GroupResource { return schema.GroupResource{Resource: kind} }

func (f *fakeAPI) find(kind string, key types.NamespacedName) (client.Object, error) {
	obj := f.objects[kind][key]
	if obj == nil {
		return nil, apierrors.NewNotFound(resource(kind), key.String())
	}
	return obj, nil
}

// copyInto copies one object over another of the same type, or the metadata of it.
func copyInto(from, to client.Object) {
	if partial, is := to.(*metav1.PartialObjectMetadata); is {
		kind := partial.TypeMeta
		*partial = *partialOf(from)
		partial.TypeMeta = kind
		return
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// partialOf returns the metadata of an object.
func partialOf(obj client.Object) *metav1.PartialObjectMetadata {
	if partial, is := obj.(*metav1.PartialObjectMetadata); is {
		return partial.DeepCopy()
	}
	return meta.AsPartialObjectMetadata(obj.DeepCopyObject().(client.Object))
}

func (f *fakeAPI) get(key types.NamespacedName, into client.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	obj, err := f.find(f.gvk(into).Kind, key)
	if err != nil {
		return err
	}
	copyInto(obj, into)
	return nil
}

func (f *fakeAPI) create(obj client.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, key := f.gvk(obj).Kind, client.ObjectKeyFromObject(obj)
	if f.objects[kind][key] != nil {
		return apierrors.NewAlreadyExists(resource(kind), key.String())
	}
	if f.full {
		return errDatabaseFull
	}
	stored := obj.DeepCopyObject().(client.Object)
	setStatus(stored, nil)
	stored.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", f.version*2654435761%(1<<32), f.version)))
	stored.SetGeneration(1)
	stored.SetCreationTimestamp(f.now())
	f.put(kind, key, nil, stored)
	copyInto(stored, obj)
	return nil
}

// update replaces an object; with status only its status, otherwise all but that.
func (f *fakeAPI) update(obj client.Object, status bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, key := f.gvk(obj).Kind, client.ObjectKeyFromObject(obj)
	before, err := f.find(kind, key)
	if err != nil {
		return err
	}
	return f.replace(kind, key, before, obj.DeepCopyObject().(client.Object), obj, status)
}

func (f *fakeAPI) patch(obj client.Object, p client.Patch, status bool) error {
	data, err := p.Data(obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, key := f.gvk(obj).Kind, client.ObjectKeyFromObject(obj)
	before, err := f.find(kind, key)
	if err != nil {
		return err
	}
	text, err := encoded(before)
	if err != nil {
		return err
	}
	if text, err = patched(text, p.Type(), data); err != nil {
		return err
	}
	after := reflect.New(reflect.TypeOf(before).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(text, after); err != nil {
		return err
	}
	if p.Type() == types.ApplyPatchType { // Finalizers are a set.
		after.SetFinalizers(union(before.GetFinalizers(), after.GetFinalizers()))
	}
	return f.replace(kind, key, before, after, obj, status)
}

// union returns the elements of two sets.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// encoded returns an object as the API server keeps it: without a status until one was written.
func encoded(obj client.Object) ([]byte, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if rest, empty := bytes.CutSuffix(text, []byte(`,"status":{}}`)); empty {
		return append(rest, '}'), nil
	}
	return text, nil
}

func patched(text []byte, kind types.PatchType, patch []byte) ([]byte, error) {
	switch kind {
	case types.MergePatchType, types.ApplyPatchType:
		return jsonpatch.MergePatch(text, patch)
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if text, err = operations.Apply(text); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return text, nil
	}
	return nil, apierrors.NewBadRequest("the fake does not know patches of type " + string(kind))
}

// replace stores another version under the rules of the API server, and copies what is
// stored into obj. The caller holds the lock.
func (f *fakeAPI) replace(kind string, key types.NamespacedName, before, after, obj client.Object, status bool) error {
	if v := after.GetResourceVersion(); v != "" && v != before.GetResourceVersion() {
		return apierrors.NewConflict(resource(kind), key.Name, fmt.Errorf("it was changed since version %s", v))
	}
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return apierrors.NewConflict(resource(kind), key.Name, fmt.Errorf("it is another object"))
	}
	if status {
		changed := before.DeepCopyObject().(client.Object)
		setStatus(changed, after)
		after = changed
	} else {
		setStatus(after, before)
	}
	after.SetUID(before.GetUID())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetGeneration(before.GetGeneration())
	if specChanged(before, after) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if !equality.Semantic.DeepEqual(before, after) {
		if f.full {
			return errDatabaseFull
		}
		f.put(kind, key, before, after)
	}
	copyInto(after, obj)
	return nil
}

// setStatus copies the status of another object, nil for none, if objects of the type have one.
func setStatus(obj, of client.Object) {
	field := reflect.ValueOf(obj).Elem().FieldByName("Status")
	switch {
	case !field.IsValid():
	case of == nil:
		field.SetZero()
	default:
		field.Set(reflect.ValueOf(of.DeepCopyObject()).Elem().FieldByName("Status"))
	}
}

// specChanged reports whether a version has another generation than the one before.
func specChanged(before, after client.Object) bool {
	is := reflect.ValueOf(after).Elem().FieldByName("Spec")
	return is.IsValid() && !equality.Semantic.DeepEqual(reflect.ValueOf(before).Elem().FieldByName("Spec").Interface(), is.Interface())
}

func (f *fakeAPI) delete(obj client.Object, uid *types.UID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, key := f.gvk(obj).Kind, client.ObjectKeyFromObject(obj)
	before, err := f.find(kind, key)
	if err != nil {
		return err
	}
	if uid != nil && *uid != before.GetUID() {
		return apierrors.NewConflict(resource(kind), key.Name, fmt.Errorf("it is another object"))
	}
	after := before.DeepCopyObject().(client.Object)
	if after.GetDeletionTimestamp().IsZero() {
		if f.full && len(after.GetFinalizers()) > 0 {
			return errDatabaseFull
		}
		now := f.now()
		after.SetDeletionTimestamp(&now)
	} else if len(after.GetFinalizers()) > 0 {
		return nil
	}
	f.put(kind, key, before, after)
	return nil
}

// put stores a version and reports it; an object that is being deleted goes with its
// last finalizer.
func (f *fakeAPI) put(kind string, key types.NamespacedName, before, after client.Object) {
	f.version++
	after.SetResourceVersion(strconv.Itoa(f.version))
	c := change{kind: kind, what: watch.Modified, before: before, after: after}
	if before == nil {
		c.what = watch.Added
	}
	if f.objects[kind] == nil {
		f.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	f.objects[kind][key] = after
	if !after.GetDeletionTimestamp().IsZero() && len(after.GetFinalizers()) == 0 {
		c.what = watch.Deleted
		delete(f.objects[kind], key)
	}
	f.seen(c)
	for w := range f.watchers {
		w.receive(c)
	}
}

// now is the clock of the API server. The caller holds the lock.
func (f *fakeAPI) now() metav1.Time {
	return metav1.NewTime(time.Now().Add(f.stepped).Truncate(time.Second))
}

// step sets the clock of the API server.
func (f *fakeAPI) step(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepped += d
}

// setFull fills etcd, or makes room.
func (f *fakeAPI) setFull(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

// all returns the objects of a kind.
func (f *fakeAPI) all(kind string) []client.Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	var objects []client.Object
	for _, obj := range f.objects[kind] {
		objects = append(objects, obj)
	}
	return objects
}

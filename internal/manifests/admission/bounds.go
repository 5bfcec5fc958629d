package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team"
	"nodrop.dev/nodrop/internal/manifests/team/labpolicy"
)

// MaxObject is the maximum size in bytes of an object that a team writes, as JSON without status and
// managed fields.
const MaxObject = 128 << 10

// MaxMetadata is the maximum size in bytes of the labels, owners and finalizers of an object of a
// team, as JSON. The operator keeps them in its memory, unlike annotations.
const MaxMetadata = 8 << 10

// bounded refuses objects of teams that are too large, further objects of a kind of which the
// team has as many as it may, and more bytes than its objects may have together. It then asks another validator.
type bounded[T client.Object] struct {
	admission.Validator[T]
	kind   string
	counts *objectCounts
}

func (v bounded[T]) ValidateCreate(ctx context.Context, o T) (admission.Warnings, error) {
	problem := tooMuchMetadata(o)
	if problem == nil {
		problem = tooLarge(ctx, o)
	}
	if problem == nil {
		var err error
		if problem, err = v.counts.full(ctx, v.kind, o); err != nil {
			return nil, err
		}
	}
	if problem == nil {
		var err error
		if problem, err = v.counts.tooManyBytes(ctx, o, cachedSize(o)); err != nil {
			return nil, err
		}
	}
	if problem != nil {
		return nil, v.refuse(o, problem)
	}
	return v.Validator.ValidateCreate(ctx, o)
}

func (v bounded[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	// An object that was there before the limit can be changed, if it does not grow. One that is
	// being deleted can grow, too, as long as it has a finalizer.
	was, is := withoutArchive(before), withoutArchive(after)
	if problem := tooMuchMetadata(is); problem != nil && metadataSize(is) > metadataSize(was) {
		return nil, v.refuse(after, problem)
	}
	if problem := tooLarge(ctx, is); problem != nil && sizeOf(is) > sizeOf(was) {
		return nil, v.refuse(after, problem)
	}
	if growth := cachedSize(is) - cachedSize(was); growth > 0 {
		problem, err := v.counts.tooManyBytes(ctx, is, growth)
		if err != nil {
			return nil, err
		}
		if problem != nil {
			return nil, v.refuse(after, problem)
		}
	}
	return v.Validator.ValidateUpdate(ctx, before, after)
}

func (v bounded[T]) refuse(o T, problem *field.Error) error {
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v.kind).GroupKind(), o.GetName(), field.ErrorList{problem})
}

// withoutArchive returns an object without the finalizer of the archive. The operator adds it to a benchmark
// that has a bed, whatever the team has used of its limits.
func withoutArchive(o client.Object) client.Object {
	at := slices.Index(o.GetFinalizers(), v1alpha1.FinalizerArchive)
	if at < 0 {
		return o
	}
	c, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return o
	}
	c.SetFinalizers(slices.Delete(c.GetFinalizers(), at, at+1))
	return c
}

// tooLarge returns an error if an object is larger than a team may write; else nil.
func tooLarge(ctx context.Context, o client.Object) *field.Error {
	if request, err := admission.RequestFromContext(ctx); err == nil && len(request.Object.Raw) > 0 && len(request.Object.Raw) <= MaxObject {
		return nil // With everything it is smaller.
	}
	size := sizeOf(o)
	if size <= MaxObject {
		return nil
	}
	annotations := 0
	for name, value := range o.GetAnnotations() {
		annotations += len(name) + len(value)
	}
	return field.Invalid(field.NewPath("metadata"), o.GetName(), fmt.Sprintf(
		"the object has %d bytes as JSON, %d of them in annotations, and may have 0 to %d: leave out annotations, or divide it into several objects; kubectl apply --server-side writes no annotation with a copy", size, annotations, MaxObject))
}

// sizeOf returns the size in bytes of what a team writes of an object.
func sizeOf(o client.Object) int {
	text, err := json.Marshal(o)
	if err != nil {
		return 0
	}
	var members map[string]json.RawMessage
	var metadata map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || json.Unmarshal(members["metadata"], &metadata) != nil {
		return len(text)
	}
	return len(text) - len(members["status"]) - len(metadata["managedFields"])
}

// tooMuchMetadata returns an error if labels, owners and finalizers of an object are larger than a
// team may write; else nil.
func tooMuchMetadata(o client.Object) *field.Error {
	size := metadataSize(o)
	if size <= MaxMetadata {
		return nil
	}
	return field.Invalid(field.NewPath("metadata"), o.GetName(), fmt.Sprintf(
		"labels, owners and finalizers have %d bytes as JSON, and may have 0 to %d: leave some out, or use annotations", size, MaxMetadata))
}

// metadataSize returns the size in bytes of labels, owners and finalizers.
func metadataSize(o client.Object) int {
	text, err := json.Marshal([]any{o.GetLabels(), o.GetOwnerReferences(), o.GetFinalizers()})
	if err != nil {
		return 0
	}
	return len(text)
}

// nothing is a validator of a kind that only has bounds.
type nothing[T client.Object] struct{}

func (nothing[T]) ValidateCreate(context.Context, T) (admission.Warnings, error)    { return nil, nil }
func (nothing[T]) ValidateUpdate(context.Context, T, T) (admission.Warnings, error) { return nil, nil }
func (nothing[T]) ValidateDelete(context.Context, T) (admission.Warnings, error)    { return nil, nil }

// objectCounts counts the objects of teams in the cache, and their bytes. The cache may be a little behind: of several
// objects that are made at once a few more can pass.
type objectCounts struct {
	cache     client.Reader
	informers ctrlcache.Informers
	// labNamespace is the lab's own, which has no limit.
	labNamespace string
	totals       *byteTotals
}

func newObjectCounts(cache client.Reader, informers ctrlcache.Informers, labNamespace string) *objectCounts {
	return &objectCounts{cache, informers, labNamespace, newByteTotals(informers)}
}

// limit is the limit of a kind, with its field in the LabPolicy.
type limit struct {
	most  int32
	field string
	// remedy describes how to need fewer.
	remedy string
}

// limitOf returns the limit of a kind; 0 for one whose number is not limited here.
func limitOf(kind string, s *v1alpha1.TeamShare) limit {
	switch kind {
	case "Benchmark":
		return limit{s.MaxBenchmarks, "maxBenchmarks", "delete finished ones (ttlSecondsAfterFinished does so)"}
	case "BenchmarkSchedule":
		return limit{s.MaxSchedules, "maxSchedules", "delete some, or give one schedule a matrix"}
	case "TrafficProfile":
		return limit{s.MaxTrafficProfiles, "maxTrafficProfiles", "delete some"}
	case "NotificationSink":
		return limit{s.MaxNotificationSinks, "maxNotificationSinks", "delete some, or give one sink several events"}
	}
	return limit{}
}

// full returns an error if the team of a new object has as many of its kind as it may; else nil.
func (c *objectCounts) full(ctx context.Context, kind string, o client.Object) (*field.Error, error) {
	if o.GetNamespace() == c.labNamespace {
		return nil, nil
	}
	informer, err := c.informers.GetInformer(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("counting objects of kind %s: %w", kind, err)
	}
	there, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, nil
	}
	policy, err := labpolicy.Read(ctx, c.cache)
	if err != nil {
		return nil, err
	}
	own := c.team(ctx, policy, o.GetNamespace())
	l := limitOf(kind, &own.TeamShare)
	index := there.GetIndexer()
	if l.most == 0 || len(index.ListKeys()) < int(l.most) {
		return nil, nil
	}
	n := 0
	for _, namespace := range index.ListIndexFuncValues(toolscache.NamespaceIndex) {
		if !c.isOf(ctx, policy, own, o.GetNamespace(), namespace) {
			continue
		}
		keys, err := index.IndexKeys(toolscache.NamespaceIndex, namespace)
		if err != nil {
			return nil, fmt.Errorf("counting objects of kind %s: %w", kind, err)
		}
		n += len(keys)
	}
	if n < int(l.most) {
		return nil, nil
	}
	return field.Forbidden(field.NewPath("metadata", "namespace"), fmt.Sprintf(
		"team %s of namespace %s has %d objects of kind %s, and may have %d: %s, or ask the lab for a higher %s in LabPolicy %s",
		own.Name, o.GetNamespace(), n, kind, l.most, l.remedy, l.field, v1alpha1.LabPolicyName)), nil
}

// isOf reports whether a namespace belongs to a team, which is the team of home.
func (c *objectCounts) isOf(ctx context.Context, policy *v1alpha1.LabPolicy, own team.Team, home, namespace string) bool {
	return namespace == home || own.Name != team.NameAlone(home) && c.team(ctx, policy, namespace).Name == own.Name
}

// team returns the team of a namespace, by its labels in the cache.
func (c *objectCounts) team(ctx context.Context, policy *v1alpha1.LabPolicy, name string) team.Team {
	ns := &corev1.Namespace{}
	if policy == nil || c.cache.Get(ctx, client.ObjectKey{Name: name}, ns) != nil {
		ns.Name = name
	}
	return team.Of(policy, ns)
}

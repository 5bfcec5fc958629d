package admission

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/manifests/team"
	"nodrop.dev/nodrop/internal/manifests/team/labpolicy"
)

// Benchmarks judges benchmarks at their creation.
type Benchmarks struct {
	// Cache accepts most benchmarks without a request to the API server. What it may
	// accept wrongly, since it is behind, the allocator judges again before it leases.
	Cache client.Reader
	// Live reads from the API server. Only it refuses: profile, bed and benchmark are
	// often applied within one second.
	Live client.Reader
	// LabNamespace is the lab's own, whose reservations are maintenance windows.
	LabNamespace string
	// DefaultPolicy is the default policy of the lab, for beds without one; it may be nil.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// Kueue reports whether benchmarks with the name of a queue are admitted by Kueue, and
	// KueueRequired selects the namespaces whose benchmarks need one; nil is none.
	Kueue         bool
	KueueRequired labels.Selector
	// Now is the clock that acceptances of baselines are judged by; nil is that of the
	// machine.
	Now func() time.Time

	beds sharedBeds
}

var _ admission.Validator[*v1alpha1.Benchmark] = (*Benchmarks)(nil)

// ValidateCreate refuses a benchmark that can run on no bed.
func (v *Benchmarks) ValidateCreate(ctx context.Context, b *v1alpha1.Benchmark) (admission.Warnings, error) {
	problems, err := v.reservationProblems(ctx, b)
	if err != nil {
		return nil, err
	}
	unqueued, err := v.queueProblems(ctx, b)
	if err != nil {
		return nil, err
	}
	problems = append(problems, unqueued...)
	accepted, err := v.acceptanceProblems(ctx, b)
	if err != nil {
		return nil, err
	}
	problems = append(problems, accepted...)
	problems = append(problems, v.gangProblems(ctx, b)...)
	if full := v.full(ctx, b); full != nil {
		problems = append(problems, full)
	}
	if len(problems) == 0 && v.acceptable(ctx, b, v.models(ctx)) {
		return nil, nil
	}
	more, err := v.problems(ctx, b)
	if err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Benchmark").GroupKind(), b.Name, problems)
	}
	return nil, nil
}

// acceptable judges a benchmark by the cache, with no more than what it names. Whatever
// is missing there makes it false.
func (v *Benchmarks) acceptable(ctx context.Context, b *v1alpha1.Benchmark, models preflight.Models) bool {
	in := preflight.Input{Benchmark: b, Namespace: &corev1.Namespace{}, Profiles: make([]v1alpha1.TrafficProfile, 1), DefaultPolicy: v.DefaultPolicy, Models: models}
	var err error
	if in.LabPolicy, err = labpolicy.Read(ctx, v.Cache); err != nil {
		return false
	}
	if v.Cache.Get(ctx, client.ObjectKey{Name: b.Namespace}, in.Namespace) != nil ||
		v.Cache.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.TrafficProfileName}, &in.Profiles[0]) != nil {
		return false
	}
	if b.Spec.TestBedName != "" {
		in.Beds = make([]v1alpha1.TestBed, 1)
		if v.Cache.Get(ctx, client.ObjectKey{Name: b.Spec.TestBedName}, &in.Beds[0]) != nil {
			return false
		}
	} else {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.TestBedSelector)
		if err != nil {
			return false
		}
		if b.Spec.TestBedRequirements != nil {
			selector = labels.Everything()
		}
		var beds v1alpha1.TestBedList
		if v.Cache.List(ctx, &beds, client.MatchingLabelsSelector{Selector: selector}) != nil {
			return false
		}
		in.Beds = beds.Items
	}
	return len(preflight.Benchmark(in).Problems) == 0
}

// problems judges a benchmark by all that the API server has, so that they name what
// could be meant.
func (v *Benchmarks) problems(ctx context.Context, b *v1alpha1.Benchmark) (field.ErrorList, error) {
	in, err := v.everything(ctx, b.Namespace, v.models(ctx))
	if err != nil {
		return nil, err
	}
	if err := v.readProfile(ctx, &in, b.Spec.TrafficProfileName); err != nil {
		return nil, err
	}
	in.Benchmark = b
	return preflight.Benchmark(in).Problems, nil
}

// models reads the models of simulated devices from the lab's namespace, each once. The
// operator may read ConfigMaps, and not watch them: the cache has none.
func (v *Benchmarks) models(ctx context.Context) preflight.Models {
	read := map[string]*corev1.ConfigMap{}
	return func(ref v1alpha1.ConfigMapKeyReference) (string, bool) {
		if _, asked := read[ref.Name]; !asked {
			config := &corev1.ConfigMap{}
			if v.Live.Get(ctx, client.ObjectKey{Namespace: v.LabNamespace, Name: ref.Name}, config) != nil {
				config = nil
			}
			read[ref.Name] = config
		}
		return preflight.ModelsIn(read)(ref)
	}
}

// everything returns the objects in the API server by which a benchmark of a namespace is
// judged, and the traffic profiles that the cache knows, since the profiles of a team can be too large to be read for each refusal.
func (v *Benchmarks) everything(ctx context.Context, namespace string, models preflight.Models) (preflight.Input, error) {
	in := preflight.Input{Namespace: &corev1.Namespace{}, DefaultPolicy: v.DefaultPolicy, Models: models}
	var err error
	if in.LabPolicy, err = labpolicy.Read(ctx, v.Live); err != nil {
		return in, err
	}
	if err := v.Live.Get(ctx, client.ObjectKey{Name: namespace}, in.Namespace); err != nil {
		return in, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	var profiles v1alpha1.TrafficProfileList
	if err := v.Cache.List(ctx, &profiles, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("listing the traffic profiles of namespace %s: %w", namespace, err)
	}
	if in.Beds, err = v.beds.list(ctx, v.Live); err != nil {
		return in, err
	}
	in.Profiles = profiles.Items
	return in, nil
}

// readProfile reads the profile that a benchmark names from the API server, in place of the cached one.
func (v *Benchmarks) readProfile(ctx context.Context, in *preflight.Input, name string) error {
	in.Profiles = slices.DeleteFunc(in.Profiles, func(p v1alpha1.TrafficProfile) bool { return p.Name == name })
	profile := v1alpha1.TrafficProfile{}
	err := v.Live.Get(ctx, client.ObjectKey{Namespace: in.Namespace.Name, Name: name}, &profile)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading traffic profile %s: %w", name, err)
	}
	if err == nil {
		in.Profiles = append(in.Profiles, profile)
	}
	return nil
}

// full returns an error if the team has as many waiting benchmarks as it may, by the cache:
// of many that are created at once a few more can pass. What cannot be read refuses nothing.
func (v *Benchmarks) full(ctx context.Context, b *v1alpha1.Benchmark) *field.Error {
	p, err := labpolicy.Read(ctx, v.Cache)
	if err != nil || p == nil {
		return nil
	}
	ns := &corev1.Namespace{}
	if v.Cache.Get(ctx, client.ObjectKey{Name: b.Namespace}, ns) != nil {
		return nil
	}
	t := team.Of(p, ns)
	var all corev1.NamespaceList
	if t.MaxQueued == 0 || v.Cache.List(ctx, &all) != nil {
		return nil
	}
	waiting := 0
	for i := range all.Items {
		var there v1alpha1.BenchmarkList
		if team.Of(p, &all.Items[i]).Name != t.Name || v.Cache.List(ctx, &there, client.InNamespace(all.Items[i].Name), client.UnsafeDisableDeepCopy) != nil {
			continue
		}
		for j := range there.Items {
			if s := &there.Items[j].Status; s.TestBedName == "" && s.Outcome == "" && !s.Phase.Finished() {
				waiting++
			}
		}
	}
	return team.Full(t, b, waiting)
}

// reservationProblems judges a benchmark by the reservation that it names.
func (v *Benchmarks) reservationProblems(ctx context.Context, b *v1alpha1.Benchmark) (field.ErrorList, error) {
	name := b.Spec.ReservationName
	if name == "" {
		return nil, nil
	}
	r := &v1alpha1.Reservation{}
	err := v.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, r)
	if apierrors.IsNotFound(err) {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "reservationName"), name, fmt.Sprintf(
			"namespace %s has no Reservation of this name: apply it first, or leave reservationName out", b.Namespace))}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading reservation %s: %w", name, err)
	}
	if b.Namespace == v.LabNamespace {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "reservationName"),
			"a reservation in the lab's namespace is a maintenance window, in which no benchmark runs: reserve the bed in the namespace of a team")}, nil
	}
	return reservation.Benchmark(b, r), nil
}

// ValidateUpdate keeps the spec and the name of the queue as they are.
func (v *Benchmarks) ValidateUpdate(_ context.Context, before, after *v1alpha1.Benchmark) (admission.Warnings, error) {
	problems := specChanges(&before.Spec, &after.Spec)
	if problem := v.queueChange(before, after); problem != nil {
		problems = append(problems, problem)
	}
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Benchmark").GroupKind(), after.Name, problems)
	}
	return nil, nil
}

// ValidateDelete lets everything pass.
func (v *Benchmarks) ValidateDelete(context.Context, *v1alpha1.Benchmark) (admission.Warnings, error) {
	return nil, nil
}

// gangProblems compares a member of a gang with the others that are not finished, by the
// cache: of members that are created at once some can pass. What cannot be read refuses
// nothing.
func (v *Benchmarks) gangProblems(ctx context.Context, b *v1alpha1.Benchmark) field.ErrorList {
	gang, path := b.Spec.Gang, field.NewPath("spec", "gang")
	var all v1alpha1.BenchmarkList
	if gang == nil || v.Cache.List(ctx, &all, client.InNamespace(b.Namespace), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var problems field.ErrorList
	members := 1
	for i := range all.Items {
		other := &all.Items[i]
		theirs := other.Spec.Gang
		if theirs == nil || theirs.Name != gang.Name || other.Name == b.Name || other.Status.Phase.Finished() {
			continue
		}
		members++
		if theirs.Role == gang.Role {
			problems = append(problems, field.Invalid(path.Child("role"), gang.Role, fmt.Sprintf(
				"benchmark %s of gang %s has this role and is not finished: choose another role, wait until that one has ended, or choose another name of the gang", other.Name, gang.Name)))
		}
		if theirs.Members != gang.Members {
			problems = append(problems, field.Invalid(path.Child("members"), gang.Members, fmt.Sprintf(
				"benchmark %s of gang %s says %d: give the same number in all members", other.Name, gang.Name, theirs.Members)))
		}
		if b.Spec.TestBedName != "" && other.Spec.TestBedName == b.Spec.TestBedName {
			problems = append(problems, field.Invalid(field.NewPath("spec", "testBedName"), b.Spec.TestBedName, fmt.Sprintf(
				"benchmark %s of gang %s names this bed too, and a bed has one benchmark at a time: name another bed", other.Name, gang.Name)))
		}
	}
	if len(problems) == 0 && members > int(gang.Members) {
		problems = append(problems, field.Invalid(path.Child("name"), gang.Name, fmt.Sprintf(
			"gang %s has its %d members already: choose another name, or wait until they have ended", gang.Name, gang.Members)))
	}
	return problems
}

// queuePath is the path of the label that names a queue of Kueue.
var queuePath = field.NewPath("metadata", "labels").Key(v1alpha1.LabelQueueName)

// queueProblems refuses a benchmark that names no queue of Kueue in a namespace where all have to.
func (v *Benchmarks) queueProblems(ctx context.Context, b *v1alpha1.Benchmark) (field.ErrorList, error) {
	if !v.Kueue || v.KueueRequired == nil || b.Labels[v1alpha1.LabelQueueName] != "" {
		return nil, nil
	}
	// The cache may still contain a removed label, so that the API server is asked.
	ns := &corev1.Namespace{}
	if err := v.Live.Get(ctx, client.ObjectKey{Name: b.Namespace}, ns); err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", b.Namespace, err)
	}
	if !v.KueueRequired.Matches(labels.Set(ns.Labels)) {
		return nil, nil
	}
	return field.ErrorList{field.Required(queuePath, fmt.Sprintf(
		"benchmarks of namespace %s are admitted by Kueue: name a LocalQueue of the namespace (kubectl get localqueues -n %s)", b.Namespace, b.Namespace))}, nil
}

// queueChange returns an error for another name of the queue while Kueue counts the benchmark; else nil.
func (v *Benchmarks) queueChange(before, after *v1alpha1.Benchmark) *field.Error {
	was, is := before.Labels[v1alpha1.LabelQueueName], after.Labels[v1alpha1.LabelQueueName]
	if !v.Kueue || was == is || after.Status.Phase.Finished() || !after.DeletionTimestamp.IsZero() {
		return nil
	}
	return field.Forbidden(queuePath, fmt.Sprintf(
		"the queue of a benchmark cannot be changed from %q to %q before it has ended: abort it, and apply it again under another name", was, is))
}

package admission

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// Schedules judges schedules, and the benchmarks that they would make, as if these were
// created now.
type Schedules struct {
	Benchmarks *Benchmarks
	// Now is the clock that warnings begin at.
	Now func() time.Time
}

var _ admission.Validator[*v1alpha1.BenchmarkSchedule] = (*Schedules)(nil)

// ValidateCreate refuses times that cannot be read, and benchmarks that can run on no bed.
func (v *Schedules) ValidateCreate(ctx context.Context, s *v1alpha1.BenchmarkSchedule) (admission.Warnings, error) {
	problems, err := v.template(ctx, s)
	if err != nil {
		return nil, err
	}
	accepted, err := v.acceptances(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	problems = append(problems, accepted...)
	if err := refuse(s, slices.Concat(schedule.ValidateName(s.Name), schedule.ValidateTiming(&s.Spec), problems)); err != nil {
		return nil, err
	}
	return schedule.Warnings(&s.Spec, v.Now()), nil
}

// ValidateUpdate judges what changes. A schedule whose bed is gone can be suspended.
func (v *Schedules) ValidateUpdate(ctx context.Context, before, after *v1alpha1.BenchmarkSchedule) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	was, is := &before.Spec, &after.Spec
	var problems field.ErrorList
	var warnings admission.Warnings
	if was.Schedule != is.Schedule || was.TimeZone != is.TimeZone || !equality.Semantic.DeepEqual(was.Jitter, is.Jitter) {
		problems, warnings = schedule.ValidateTiming(is), schedule.Warnings(is, v.Now())
	}
	if !equality.Semantic.DeepEqual(was.Matrix, is.Matrix) || !equality.Semantic.DeepEqual(was.BenchmarkTemplate, is.BenchmarkTemplate) {
		more, err := v.template(ctx, after)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	accepted, err := v.acceptances(ctx, after, was.BenchmarkTemplate.Spec.Gates)
	if err != nil {
		return nil, err
	}
	problems = append(problems, accepted...)
	if err := refuse(after, problems); err != nil {
		return nil, err
	}
	return warnings, nil
}

// ValidateDelete lets everything pass.
func (v *Schedules) ValidateDelete(context.Context, *v1alpha1.BenchmarkSchedule) (admission.Warnings, error) {
	return nil, nil
}

// acceptances judges those that a schedule did not have before.
func (v *Schedules) acceptances(ctx context.Context, s *v1alpha1.BenchmarkSchedule, known []v1alpha1.Gate) (field.ErrorList, error) {
	return newAcceptances(ctx, s.Spec.BenchmarkTemplate.Spec.Gates, known, v.Now(), field.NewPath("spec", "benchmarkTemplate", "spec", "gates"))
}

// template judges the benchmarks of a firing, one for each cell of the matrix. As with
// benchmarks, the cache may accept and only the API server refuses.
func (v *Schedules) template(ctx context.Context, s *v1alpha1.BenchmarkSchedule) (field.ErrorList, error) {
	problems := schedule.ValidateTemplate(&s.Spec)
	var in *preflight.Input
	read := map[string]bool{}
	cells, models := schedule.Cells(&s.Spec), v.Benchmarks.models(ctx)
	for _, cell := range cells {
		b := cell.Benchmark(s, "", len(cells))
		if v.Benchmarks.acceptable(ctx, b, models) {
			continue
		}
		if in == nil {
			everything, err := v.Benchmarks.everything(ctx, s.Namespace, models)
			if err != nil {
				return nil, err
			}
			in = &everything
		}
		if name := b.Spec.TrafficProfileName; !read[name] {
			if err := v.Benchmarks.readProfile(ctx, in, name); err != nil {
				return nil, err
			}
			read[name] = true
		}
		in.Benchmark = b
		for _, problem := range preflight.Benchmark(*in).Problems {
			problem = cell.Blame(problem)
			if !slices.ContainsFunc(problems, func(known *field.Error) bool { return known.Error() == problem.Error() }) {
				problems = append(problems, problem)
			}
		}
	}
	return problems, nil
}

// refuse is the answer of the API server to problems; nil without any.
func refuse(s *v1alpha1.BenchmarkSchedule, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("BenchmarkSchedule").GroupKind(), s.Name, problems)
}

package admission

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// acceptanceWindow is the maximum difference between the time of an acceptance and the time
// of the request: the time to write and apply a manifest, and the difference of two clocks.
const acceptanceWindow = 10 * time.Minute

// newAcceptances reports acceptances that the user of the request did not give now. Those of
// known gates were judged before: of the schedule as it was, or of the schedule that a
// benchmark was made from. Path is that of the gates.
func newAcceptances(ctx context.Context, gates, known []v1alpha1.Gate, now time.Time, path *field.Path) (field.ErrorList, error) {
	var errs field.ErrorList
	for i := range gates {
		a := gates[i].Acceptance()
		if a == nil || isKnown(a, known) {
			continue
		}
		request, err := admission.RequestFromContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading who accepts a baseline: %w", err)
		}
		at := path.Index(i).Child("relative", "baseline", "trend", "accepted")
		if user := request.UserInfo.Username; a.User != user {
			errs = append(errs, field.Invalid(at.Child("user"), a.User, fmt.Sprintf(
				"a level is accepted by the user who applies it, which is %q: write that name, or let %s apply it", user, a.User)))
		}
		if d := now.Sub(a.Time.Time); d > acceptanceWindow || d < -acceptanceWindow {
			errs = append(errs, field.Invalid(at.Child("time"), a.Time.UTC().Format(time.RFC3339), fmt.Sprintf(
				"a level is accepted when it is applied, which is %s: write a time within %s of that; an acceptance that a finished run had stays in force without being repeated",
				now.UTC().Format(time.RFC3339), acceptanceWindow)))
		}
	}
	return errs, nil
}

func isKnown(a *v1alpha1.BaselineAcceptance, gates []v1alpha1.Gate) bool {
	return slices.ContainsFunc(gates, func(g v1alpha1.Gate) bool { return a.Same(g.Acceptance()) })
}

// acceptanceProblems judges the acceptances of a benchmark.
func (v *Benchmarks) acceptanceProblems(ctx context.Context, b *v1alpha1.Benchmark) (field.ErrorList, error) {
	var known []v1alpha1.Gate
	if name := b.Labels[v1alpha1.LabelSchedule]; name != "" && hasAcceptance(b.Spec.Gates) {
		s := &v1alpha1.BenchmarkSchedule{}
		err := v.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, s)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading schedule %s, which has an acceptance: %w", name, err)
		}
		known = s.Spec.BenchmarkTemplate.Spec.Gates
	}
	return newAcceptances(ctx, b.Spec.Gates, known, v.now(), field.NewPath("spec", "gates"))
}

func hasAcceptance(gates []v1alpha1.Gate) bool {
	return slices.ContainsFunc(gates, func(g v1alpha1.Gate) bool { return g.Acceptance() != nil })
}

// now is the time by the clock of the webhooks.
func (v *Benchmarks) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

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

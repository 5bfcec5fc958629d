package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// deciding are the fields of a status on which every decision about a benchmark depends. Each
// write tests that they are as they were read.
var deciding = []string{"attempt", "outcome", "phase", "testBedName", "preemption"}

// informing are fields of a status that follow from others. They are written over whatever is
// stored.
var informing = []string{"message", "progress", "observedGeneration"}

// errOtherWriter means that a benchmark is not as it was when a decision was made.
var errOtherWriter = errors.New("its status was written since it was read")

// PatchStatus stores what changed in the status of a benchmark since it was read, and makes
// after the stored benchmark.
//
// The patch tests the UID, the fields on which decisions depend, and those that it changes. It
// does not test the version of the object, which the team that owns the benchmark can change as
// often as it likes by writing metadata. An answer of which the API server finds a test failed
// is a conflict, as after a patch with a version.
func PatchStatus(ctx context.Context, writer client.StatusClient, live client.Reader, before, after *v1alpha1.Benchmark) error {
	was, is := statusFields(before), statusFields(after)
	if maps.EqualFunc(was, is, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return nil
	}
	stored := Named(&v1alpha1.Benchmark{}, after)
	err := writer.Status().Patch(ctx, stored, jsonPatch(statusOperations(before, after, was, is)))
	if isTestFailed(err) {
		err = patchLiveStatus(ctx, writer, live, stored, before, after)
	}
	if err != nil {
		return fmt.Errorf("storing the status of benchmark %s/%s: %w", after.Namespace, after.Name, err)
	}
	*after = *stored
	return nil
}

// patchLiveStatus stores a status of which a test failed although what is stored is as it was
// read, since it is written in another form, such as a 0 that others omit. It is a conflict if
// the status differs.
func patchLiveStatus(ctx context.Context, writer client.StatusClient, live client.Reader, stored, before, after *v1alpha1.Benchmark) error {
	now := &v1alpha1.Benchmark{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(after), now); err != nil {
		return err
	}
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("benchmarks").GroupResource(), after.Name, errOtherWriter)
	if now.UID != before.UID || admission(now) != admission(before) {
		return conflict
	}
	was, has, is := statusFields(before), statusFields(now), statusFields(after)
	changed := map[string]any{}
	for name := range fieldNames(was, is) {
		same := bytes.Equal(was[name], has[name])
		if slices.Contains(deciding, name) && !same {
			return conflict
		}
		if bytes.Equal(was[name], is[name]) {
			continue
		}
		if !same && !slices.Contains(informing, name) {
			return conflict
		}
		changed[name] = valueOrNil(is[name])
	}
	return writer.Status().Patch(ctx, stored, MergePatch(map[string]any{
		"metadata": map[string]any{"resourceVersion": now.ResourceVersion},
		"status":   changed,
	}))
}

// admission returns whether Kueue admits a benchmark, and the reason.
func admission(b *v1alpha1.Benchmark) [2]string {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionQuotaReserved)
	if c == nil {
		return [2]string{}
	}
	return [2]string{string(c.Status), c.Reason}
}

// statusFields returns the fields of a status in the form of the API.
func statusFields(b *v1alpha1.Benchmark) map[string]json.RawMessage {
	text, err := json.Marshal(b.Status)
	if err != nil {
		panic(err) // Every status can be marshalled.
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		panic(err)
	}
	return fields
}

// fieldNames returns the names of the fields that are in one of two statuses, or decide.
func fieldNames(was, is map[string]json.RawMessage) map[string]bool {
	names := map[string]bool{}
	for _, name := range slices.Concat(deciding, slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is))) {
		names[name] = true
	}
	return names
}

// operation is one of a JSON patch (RFC 6902). The value of an operation that has none is null.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// jsonPatch is a JSON patch (RFC 6902).
func jsonPatch(operations []operation) client.Patch { return patchOf(types.JSONPatchType, operations) }

// isTestFailed reports whether the API server could not apply a JSON patch, or would have stored
// a condition twice: the object is not as the patch expects it. An object that its schema does
// not allow has other causes.
func isTestFailed(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	return !slices.ContainsFunc(causes(err), func(c metav1.StatusCause) bool { return c.Type != metav1.CauseTypeFieldValueDuplicate })
}

func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// valueOrNil returns a field of a status, nil if it is absent.
func valueOrNil(field json.RawMessage) any {
	if field == nil {
		return nil
	}
	return field
}

// decidingTests returns the tests of the UID and of the fields on which decisions depend.
func decidingTests(b *v1alpha1.Benchmark, status map[string]json.RawMessage) []operation {
	tests := uidTest(b)
	if len(status) == 0 {
		return append(tests, operation{"test", "/status", nil})
	}
	for _, name := range deciding {
		tests = append(tests, operation{"test", "/status/" + name, valueOrNil(status[name])})
	}
	for i, c := range b.Status.Conditions {
		if c.Type == v1alpha1.ConditionQuotaReserved { // Whether Kueue admits the benchmark.
			tests = append(tests, conditionTests(i, c)...)
		}
	}
	return tests
}

// conditionTests returns the tests of a condition at a place in the list.
func conditionTests(i int, c metav1.Condition) []operation {
	at := conditionPath(i)
	return []operation{{"test", at + "/type", c.Type}, {"test", at + "/status", c.Status}, {"test", at + "/reason", c.Reason}}
}

func conditionPath(i int) string { return fmt.Sprintf("/status/conditions/%d", i) }

// statusOperations returns the tests and changes of a patch. Tests come first.
func statusOperations(before, after *v1alpha1.Benchmark, was, is map[string]json.RawMessage) []operation {
	tests := decidingTests(before, was)
	if len(was) == 0 { // The object has no field status.
		return append(tests, operation{"add", "/status", is})
	}
	var changes []operation
	for _, name := range slices.Sorted(maps.Keys(fieldNames(was, is))) {
		if bytes.Equal(was[name], is[name]) {
			continue
		}
		if name == "conditions" && was[name] != nil && is[name] != nil {
			t, c := conditionOperations(before.Status.Conditions, after.Status.Conditions)
			tests, changes = append(tests, t...), append(changes, c...)
			continue
		}
		path := "/status/" + name
		if !slices.Contains(deciding, name) && !slices.Contains(informing, name) {
			tests = append(tests, operation{"test", path, valueOrNil(was[name])})
		}
		// Whether the field is there or not, it can be added, and then be removed.
		changes = append(changes, operation{"add", path, valueOrNil(is[name])})
		if is[name] == nil {
			changes = append(changes, operation{"remove", path, nil})
		}
	}
	return append(tests, changes...)
}

// conditionOperations returns the tests and changes that turn conditions into others. A
// condition that stays as it is is not tested.
func conditionOperations(before, after []metav1.Condition) (tests, changes []operation) {
	next := map[string]metav1.Condition{}
	for _, c := range after {
		next[c.Type] = c
	}
	var removed []operation
	for i, c := range before {
		now, stays := next[c.Type]
		delete(next, c.Type)
		switch {
		case !stays:
			removed = append(removed, operation{"remove", conditionPath(i), nil})
		case !equality.Semantic.DeepEqual(c, now):
			changes = append(changes, operation{"replace", conditionPath(i), now})
		default:
			continue
		}
		tests = append(tests, conditionTests(i, c)...)
	}
	slices.Reverse(removed) // The last first, so that the places of the others stay.
	changes = append(changes, removed...)
	for _, c := range after {
		if _, added := next[c.Type]; added {
			changes = append(changes, operation{"add", "/status/conditions/-", c})
		}
	}
	return tests, changes
}

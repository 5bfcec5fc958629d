package allocation

import (
	"crypto/sha256"
	"encoding/json"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/preflight"
)

// digest identifies a part of an object.
type digest [sha256.Size]byte

func digestOf(part any) digest {
	text, err := json.Marshal(part)
	if err != nil {
		panic(err) // The types have nothing that cannot be marshalled.
	}
	return sha256.Sum256(text)
}

// testsOf identifies the spec of a benchmark without what only selects a bed or orders the queue.
func testsOf(spec *v1alpha1.BenchmarkSpec) digest {
	tests := *spec
	tests.TestBedName, tests.TestBedSelector, tests.TestBedRequirements, tests.ReservationName, tests.TrafficProfileName = "", nil, nil, "", ""
	tests.Priority, tests.PriorityClassName, tests.Preemptible, tests.Suspend, tests.Abort = 0, "", false, false, false
	return digestOf(&tests)
}

// kinds identify beds that are alike: all that decides which benchmarks can have the bed, and all that decides which tests fit it.
type kinds struct {
	bed, tests digest
}

func kindsOf(bed *v1alpha1.TestBed) (k kinds) {
	spec := bed.Spec
	spec.Unschedulable = false
	k.bed = digestOf([]any{&spec, bed.Labels})
	spec.Access = nil
	k.tests = digestOf(&spec)
	return k
}

// question is all that decides whether tests fit a bed: the spec of a benchmark without what only selects a bed or orders the
// queue, the spec of its profile, and the spec of the bed without its access.
type question struct {
	tests, profile, bed digest
}

// answers remembers which tests fit which beds, for all classes and beds that are alike.
type answers map[question]bool

// maxAnswers is the number of answers that are remembered.
const maxAnswers = 100_000

// fit reports whether a class can run on a bed, which is the only one of the input.
func (a *answers) fit(c *class, bed kinds, in preflight.Input) bool {
	if !preflight.Admits(in) {
		return false
	}
	q := question{tests: c.tests, profile: c.profileSpec, bed: bed.tests}
	fits, known := (*a)[q]
	if !known {
		if *a == nil || len(*a) >= maxAnswers {
			*a = answers{}
		}
		fits = len(preflight.Benchmark(in).Problems) == 0
		(*a)[q] = fits
	}
	return fits
}

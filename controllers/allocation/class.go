package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// class is a set of benchmarks with the same judgment: of one namespace, with equal
// specs and the same profile. It is judged once with each bed, and again only with a
// bed that changes.
type class struct {
	key classKey
	// sample is a benchmark of the class; profile is its traffic profile, or nil if it does
	// not exist.
	sample  *v1alpha1.Benchmark
	profile *v1alpha1.TrafficProfile
	// wish contains the demands of the sample; nil if its selector is malformed.
	wish *preflight.Wish
	// tests and profileSpec identify what of the sample and of the profile decides whether the tests fit a bed.
	tests, profileSpec digest
	// fits are the beds that the benchmarks can run on, with the limits that they
	// have there.
	fits map[string][]preflight.Limit
	// beds are the names of fits, sorted, and limits all of the limits.
	beds   []string
	limits []queue.Limit
	// pools are the pools of the beds, sorted.
	pools []string
	// afterLease is the longest time of the hooks after a lease of the beds. A time that became shorter counts until
	// another bed is judged.
	afterLease time.Duration
	// planned is about how long the tests take by their plan; 0 where no bed fits.
	planned time.Duration
	// work identifies the measurements of the benchmarks.
	work work
	// problem is the reason why no bed fits; empty if it was not requested yet.
	problem string
	members map[queue.Key]*waiter
}

// newClass parses what the benchmarks of a class ask for.
func newClass(key classKey, sample *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile) *class {
	c := &class{key: key, sample: sample, profile: profile, members: map[queue.Key]*waiter{}, tests: testsOf(&sample.Spec)}
	if profile != nil {
		c.profileSpec = digestOf(&profile.Spec)
		c.work = workOf(sample, &c.profileSpec)
	} else {
		c.work = workOf(sample, nil)
	}
	if len(selection.Problems(field.NewPath("spec", "testBedSelector"), sample.Spec.TestBedSelector)) == 0 {
		c.wish = preflight.NewWish(sample)
	}
	return c
}

// again returns a class with the same judgment and no members.
func (c *class) again(sample *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile) *class {
	same := *c
	same.sample, same.profile, same.members = sample, profile, map[queue.Key]*waiter{}
	if c.wish != nil {
		same.wish = preflight.NewWish(sample)
	}
	return &same
}

// classKey is all that a judgment depends on, except beds and the labels of the
// namespace.
type classKey struct {
	namespace string
	spec      digest
	profile   string
}

// specOf identifies a spec; abort is not part of what is judged.
func specOf(spec *v1alpha1.BenchmarkSpec) digest {
	judged := *spec
	judged.Abort = false
	return digestOf(&judged)
}

func versionOf(p *v1alpha1.TrafficProfile) string {
	return string(p.UID) + "/" + p.ResourceVersion
}

// planned is about how long the tests of a benchmark take on a bed by their plan; 0 on a simulated bed,
// whose time is not that of the queue.
func planned(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) time.Duration {
	if profile == nil || isSimulated(bed) {
		return 0
	}
	p, err := plan.Build(b, profile, bed)
	if err != nil {
		return 0
	}
	return p.Duration()
}

func isSimulated(bed *v1alpha1.TestBed) bool { return bed.Spec.Engine.Kind == v1alpha1.EngineSim }

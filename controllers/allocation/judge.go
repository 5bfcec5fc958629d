package allocation

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/queue"
	"nodrop.dev/nodrop/internal/preflight"
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
	// fits are the beds that the benchmarks can run on, with the limits that they
	// have there.
	fits map[string][]preflight.Limit
	// beds are the names of fits, sorted, and limits all of the limits.
	beds   []string
	limits []queue.Limit
	// pools are the pools of the beds, sorted.
	pools []string
	// planned is about how long the tests take by their plan; 0 where no bed fits.
	planned time.Duration
	work    work
	// problem is the reason why no bed fits; empty if it was not requested yet.
	problem string
	members map[queue.Key]*waiter
}

// classKey is all that a judgment depends on, except beds and the labels of the
// namespace.
type classKey struct {
	namespace string
	spec      [sha256.Size]byte
	profile   string
}

func (a *Allocator) joinClass(w *waiter) {
	key := classKey{namespace: w.b.Namespace, spec: digestOf(&w.b.Spec)}
	profile := a.profiles[queue.Key{Namespace: w.b.Namespace, Name: w.b.Spec.TrafficProfileName}]
	if profile != nil {
		key.profile = versionOf(profile)
	}
	c := a.classes[key]
	if c == nil {
		c = &class{key: key, sample: w.b, profile: profile, members: map[queue.Key]*waiter{}, work: workOf(w.b)}
		a.classes[key] = c
		a.judge(c)
	}
	c.members[queueKey(w.b)] = w
	w.class = c
}

func (a *Allocator) leaveClass(w *waiter) {
	c := w.class
	if c == nil {
		return
	}
	w.expected = a.expected(w)
	w.class = nil
	delete(c.members, queueKey(w.b))
	if len(c.members) == 0 {
		delete(a.classes, c.key)
	}
}

// digestOf identifies a spec; abort is not part of what is judged.
func digestOf(spec *v1alpha1.BenchmarkSpec) [sha256.Size]byte {
	judged := *spec
	judged.Abort = false
	text, err := json.Marshal(judged)
	if err != nil {
		panic(err) // The type has nothing that cannot be marshalled.
	}
	return sha256.Sum256(text)
}

func versionOf(p *v1alpha1.TrafficProfile) string {
	return string(p.UID) + "/" + p.ResourceVersion
}

// judge judges a class with all beds.
func (a *Allocator) judge(c *class) {
	c.fits = map[string][]preflight.Limit{}
	for name, view := range a.beds {
		if limits, fits := a.fits(c, view.bed); fits {
			c.fits[name] = limits
		}
	}
	a.judged(c)
}

// judgeBed judges all classes with one bed; nil when it is gone.
func (a *Allocator) judgeBed(name string, bed *v1alpha1.TestBed) {
	for _, c := range a.classes {
		c.problem = ""
		before, did := c.fits[name]
		delete(c.fits, name)
		does := false
		if bed != nil {
			var limits []preflight.Limit
			if limits, does = a.fits(c, bed); does {
				c.fits[name] = limits
			}
		}
		if did != does || !slices.Equal(before, c.fits[name]) {
			a.judged(c)
		}
	}
}

// judged places the members of a class after its judgment changed.
func (a *Allocator) judged(c *class) {
	c.problem = ""
	accepted := len(c.beds) > 0
	c.beds = slices.Sorted(maps.Keys(c.fits))
	c.limits, c.pools, c.planned = nil, nil, 0
	for i, bed := range c.beds {
		if i == 0 {
			c.planned = planned(c, a.beds[bed].bed)
		}
		c.pools = append(c.pools, a.poolOf(a.beds[bed].bed))
		for _, l := range c.fits[bed] {
			c.limits = append(c.limits, queue.Limit{Bed: bed, Key: l.Key, Max: l.Max})
		}
	}
	slices.Sort(c.pools)
	c.pools = slices.Compact(c.pools)
	for key, w := range c.members {
		a.place(w)
		if accepted != (len(c.beds) > 0) {
			a.shown.news = append(a.shown.news, key)
		}
	}
}

// fits judges a class with one bed.
func (a *Allocator) fits(c *class, bed *v1alpha1.TestBed) ([]preflight.Limit, bool) {
	ns := a.namespaces[c.key.namespace]
	if ns == nil || c.profile == nil || !preflight.Wants(c.sample, bed) || !preflight.Allows(bed, ns) {
		return nil, false
	}
	answer := preflight.Benchmark(preflight.Input{
		Benchmark: c.sample, Namespace: ns,
		Profiles: []v1alpha1.TrafficProfile{*c.profile}, Beds: []v1alpha1.TestBed{*bed},
		DefaultPolicy: a.DefaultPolicy, LabPolicy: a.policy,
	})
	if len(answer.Problems) > 0 {
		return nil, false
	}
	return a.limits(bed, ns, c.sample), true
}

// problemOf returns the reason why no bed fits a class.
func (a *Allocator) problemOf(c *class) string {
	if c.problem != "" {
		return c.problem
	}
	in := preflight.Input{Benchmark: c.sample, Namespace: a.namespaces[c.key.namespace], DefaultPolicy: a.DefaultPolicy, LabPolicy: a.policy}
	if in.Namespace == nil {
		return "namespace " + c.key.namespace + " is not known yet"
	}
	for key, p := range a.profiles {
		if key.Namespace == c.key.namespace {
			in.Profiles = append(in.Profiles, *p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.beds)) {
		in.Beds = append(in.Beds, *a.beds[name].bed)
	}
	c.problem = "no bed fits"
	if problems := preflight.Benchmark(in).Problems; len(problems) > 0 {
		c.problem = problems.ToAggregate().Error()
	}
	return c.problem
}

// applyNamespace judges again what depends on the labels of a namespace.
func (a *Allocator) applyNamespace(name string, ns *corev1.Namespace) {
	before := a.namespaces[name]
	if ns == nil || before == nil || !equality.Semantic.DeepEqual(before.Labels, ns.Labels) {
		a.calendar.stale = true
	}
	if ns == nil {
		delete(a.namespaces, name)
	} else {
		a.namespaces[name] = ns
		if before != nil && equality.Semantic.DeepEqual(before.Labels, ns.Labels) {
			return
		}
	}
	for _, c := range a.classes {
		if c.key.namespace == name {
			a.judge(c)
		}
	}
}

// applyProfile judges again those that name a profile that appeared, was replaced or
// is gone. All others of its namespace may get another problem.
func (a *Allocator) applyProfile(key queue.Key, p *v1alpha1.TrafficProfile) {
	if p == nil {
		delete(a.profiles, key)
	} else {
		a.profiles[key] = p
	}
	var members []*waiter
	for _, c := range a.classes {
		if c.key.namespace != key.Namespace {
			continue
		}
		c.problem = ""
		if c.sample.Spec.TrafficProfileName == key.Name {
			members = slices.AppendSeq(members, maps.Values(c.members))
		}
	}
	for _, w := range members {
		a.leaveClass(w)
		a.joinClass(w)
		a.place(w)
	}
}

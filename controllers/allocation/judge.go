package allocation

import (
	"maps"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/manifests/preflight"
)

// judge knows which beds each waiting benchmark can run on, and why none fits. It judges
// benchmarks by classes, and places the members of a class whose judgment changed.
type judge struct {
	profiles      map[queue.Key]*v1alpha1.TrafficProfile
	classes       map[classKey]*class
	defaultPolicy *v1alpha1.TrafficPolicy

	inventory *inventory
	teams     *teams
	ended     *ended
	line      *line
	agenda    *agenda

	// answers remembers which tests fit which beds.
	answers answers
	// digests remembers the specs of benchmarks, and before contains classes of an earlier judge of the same lab; nil without them.
	digests digests
	before  map[classKey]*class
}

// join judges a benchmark with its class, which it creates if it does not exist.
func (j *judge) join(w *waiter) {
	key := classKey{namespace: w.b.Namespace, spec: j.digests.of(w.b)}
	profile := j.profiles[queue.Key{Namespace: w.b.Namespace, Name: w.b.Spec.TrafficProfileName}]
	if profile != nil {
		key.profile = versionOf(profile)
	}
	c := j.classes[key]
	if before := j.before[key]; c == nil && before != nil {
		c = before.again(w.b, profile)
		j.classes[key] = c
	}
	if c == nil {
		c = newClass(key, w.b, profile)
		j.classes[key] = c
		j.judgeClass(c)
	}
	c.members[queueKey(w.b)] = w
	w.class = c
}

// placeWork places the benchmarks of a work again, for which it is now known how long they take.
func (j *judge) placeWork(of work) {
	for _, c := range j.classes {
		if c.work.own != of.own && (of.like == "" || c.work.like != of.like) {
			continue
		}
		for _, w := range c.members {
			j.line.place(w)
		}
	}
}

// leave removes a benchmark from its class.
func (j *judge) leave(w *waiter) {
	c := w.class
	if c == nil {
		return
	}
	w.expected = j.ended.expected(w)
	w.class = nil
	delete(c.members, queueKey(w.b))
	if len(c.members) == 0 {
		delete(j.classes, c.key)
	}
	if len(j.classes) == 0 {
		j.answers = nil
	}
}

// judgeClass judges a class with all beds, and beds of one kind once.
func (j *judge) judgeClass(c *class) {
	c.fits = map[string][]preflight.Limit{}
	if name := c.sample.Spec.TestBedName; name != "" {
		if bed := j.inventory.bed(name); bed != nil {
			if limits, fits := j.fits(c, bed); fits {
				c.fits[name] = limits
			}
		}
		j.judged(c)
		return
	}
	type judgment struct {
		limits []preflight.Limit
		fits   bool
	}
	judged := map[digest]judgment{}
	for name, seen := range j.inventory.beds {
		kind := seen.kindsOf().bed
		is, known := judged[kind]
		if !known {
			is.limits, is.fits = j.fits(c, seen.bed)
			judged[kind] = is
		}
		if is.fits {
			c.fits[name] = is.limits
		}
	}
	j.judged(c)
}

// judgeBed judges all classes with one bed; nil when it is gone.
func (j *judge) judgeBed(name string, bed *v1alpha1.TestBed) {
	for _, c := range j.classes {
		c.problem = ""
		before, did := c.fits[name]
		delete(c.fits, name)
		does := false
		if bed != nil {
			var limits []preflight.Limit
			if limits, does = j.fits(c, bed); does {
				c.fits[name] = limits
			}
		}
		if did != does || !slices.Equal(before, c.fits[name]) || does && bed.Spec.Hooks.TimeAfterLease() > c.afterLease {
			j.judged(c)
		}
	}
}

// judged places the members of a class after its judgment changed.
func (j *judge) judged(c *class) {
	c.problem = ""
	accepted := len(c.beds) > 0
	c.beds = slices.Sorted(maps.Keys(c.fits))
	c.limits, c.planned, c.afterLease = nil, 0, 0
	pools := map[string]bool{}
	for i, name := range c.beds {
		bed := j.inventory.beds[name].bed
		if i == 0 {
			c.planned = planned(c.sample, c.profile, bed)
		}
		c.afterLease = max(c.afterLease, bed.Spec.Hooks.TimeAfterLease())
		pools[j.teams.poolOf(bed)] = true
		for _, l := range c.fits[name] {
			c.limits = append(c.limits, queue.Limit{Bed: name, Key: l.Key, Max: l.Max})
		}
	}
	c.pools = slices.Sorted(maps.Keys(pools))
	for key, w := range c.members {
		j.line.place(w)
		if accepted != (len(c.beds) > 0) {
			j.agenda.add(key, j.teams.entryOf(w.b).Preempts)
		}
	}
}

// fits judges a class with one bed. The result depends on the name of the bed only where the benchmark names it.
func (j *judge) fits(c *class, bed *v1alpha1.TestBed) ([]preflight.Limit, bool) {
	ns := j.teams.namespaces[c.key.namespace]
	if ns == nil || c.profile == nil || c.wish == nil || !c.wish.Wants(bed) || !preflight.Allows(bed, ns) {
		return nil, false
	}
	in := preflight.Input{
		Benchmark: c.sample, Namespace: ns,
		Profiles: []v1alpha1.TrafficProfile{*c.profile}, Beds: []v1alpha1.TestBed{*bed},
		DefaultPolicy: j.defaultPolicy, LabPolicy: j.teams.policy, Wish: c.wish,
	}
	if !j.answers.fit(c, j.inventory.kindsOf(bed), in) {
		return nil, false
	}
	return j.teams.limits(bed, c.sample), true
}

// problemOf returns the reason why no bed fits a class.
func (j *judge) problemOf(c *class) string {
	if c.problem != "" {
		return c.problem
	}
	in := preflight.Input{Benchmark: c.sample, Namespace: j.teams.namespaces[c.key.namespace], DefaultPolicy: j.defaultPolicy, LabPolicy: j.teams.policy}
	if in.Namespace == nil {
		return "namespace " + c.key.namespace + " is not known yet"
	}
	for key, p := range j.profiles {
		if key.Namespace == c.key.namespace {
			in.Profiles = append(in.Profiles, *p)
		}
	}
	in.Beds, in.NoBedFits = j.inventory.sorted(), len(c.beds) == 0
	c.problem = "no bed fits"
	if problems := preflight.Benchmark(in).Problems; len(problems) > 0 {
		c.problem = problems.ToAggregate().Error()
	}
	return c.problem
}

// judgeNamespace judges the classes of a namespace again.
func (j *judge) judgeNamespace(name string) {
	for _, c := range j.classes {
		if c.key.namespace == name {
			j.judgeClass(c)
		}
	}
}

// judgeAll judges all classes again.
func (j *judge) judgeAll() {
	for _, c := range j.classes {
		j.judgeClass(c)
	}
}

// applyProfile judges again those that name a profile that appeared, was replaced or
// is gone. All others of its namespace may get another problem.
func (j *judge) applyProfile(key queue.Key, p *v1alpha1.TrafficProfile) {
	if p == nil {
		delete(j.profiles, key)
	} else {
		j.profiles[key] = p
	}
	var members []*waiter
	for _, c := range j.classes {
		if c.key.namespace != key.Namespace {
			continue
		}
		c.problem = ""
		if c.sample.Spec.TrafficProfileName == key.Name {
			members = slices.AppendSeq(members, maps.Values(c.members))
		}
	}
	for _, w := range members {
		j.leave(w)
		j.join(w)
		j.line.place(w)
	}
}

package allocation

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// digests remembers the specs of benchmarks by their generations, which change with each change of a spec.
type digests map[types.UID]generation

// generation is one of the generations of a spec.
type generation struct {
	number int64
	spec   digest
}

// of returns what identifies the spec of a benchmark.
func (d digests) of(b *v1alpha1.Benchmark) digest {
	if d == nil || b.UID == "" || b.Generation == 0 {
		return specOf(&b.Spec)
	}
	known, is := d[b.UID]
	if !is || known.number != b.Generation {
		known = generation{b.Generation, specOf(&b.Spec)}
		d[b.UID] = known
	}
	return known.spec
}

// judgments keeps what was judged for one lineup for the next one: most beds, profiles, namespaces and policies are the same then. It
// contains no place and no expected start.
type judgments struct {
	mu      sync.Mutex
	lab     digest
	classes map[classKey]*class
	answers answers
	digests digests
	works   works
}

// lend lends a judge what was judged before, if the lab is the same. The judge is the only one that uses it until keep.
func (k *judgments) lend(j *judge, in *LineupInput) {
	j.answers, j.digests = k.answers, k.digests
	j.ended.works, j.ended.worksBefore = works{}, k.works
	if j.digests == nil {
		j.digests = digests{}
	}
	lab := labOf(in)
	if lab == k.lab {
		j.before = k.classes
	}
	k.lab = lab
}

// keep takes back what was lent, with what was judged since. It forgets the classes and the specs of benchmarks that wait no more, and the works of those that are gone.
func (k *judgments) keep(j *judge) {
	k.classes = make(map[classKey]*class, len(j.classes))
	k.works = j.ended.works
	known := 0
	for key, c := range j.classes {
		kept := *c
		// Members belong to the lineup. Only a judge that learns of changes needs to know what fits which bed.
		kept.members, kept.fits = nil, nil
		k.classes[key] = &kept
		for _, w := range c.members {
			if _, is := j.digests[w.b.UID]; is {
				known++
			}
		}
	}
	k.answers, k.digests = j.answers, j.digests
	if known == len(j.digests) {
		return
	}
	k.digests = make(digests, known)
	for _, c := range j.classes {
		for _, w := range c.members {
			if d, is := j.digests[w.b.UID]; is {
				k.digests[w.b.UID] = d
			}
		}
	}
}

// labOf identifies all that judgments depend on except benchmarks and profiles, which are part of the key of a class, and all that the
// reason depends on why no bed fits.
func labOf(in *LineupInput) digest {
	type object struct {
		Name, Version string
		UID           types.UID
		Generation    int64
		Labels        map[string]string
		Spec          any `json:",omitempty"`
	}
	var lab struct {
		Beds, Namespaces, Profiles []object
		Policy                     *object
		Default                    *v1alpha1.TrafficPolicy
	}
	for i := range in.Beds {
		bed := &in.Beds[i]
		o := object{Name: bed.Name, UID: bed.UID, Generation: bed.Generation, Labels: bed.Labels}
		if bed.Generation == 0 {
			o.Spec = &bed.Spec
		}
		lab.Beds = append(lab.Beds, o)
	}
	for i := range in.Namespaces {
		ns := &in.Namespaces[i]
		lab.Namespaces = append(lab.Namespaces, object{Name: ns.Name, UID: ns.UID, Labels: ns.Labels})
	}
	for i := range in.Profiles {
		p := &in.Profiles[i]
		o := object{Name: p.Namespace + "/" + p.Name, UID: p.UID, Version: p.ResourceVersion}
		if p.UID == "" || p.ResourceVersion == "" {
			o.Spec = &p.Spec
		}
		lab.Profiles = append(lab.Profiles, o)
	}
	if in.Policy != nil {
		lab.Policy = &object{UID: in.Policy.UID, Generation: in.Policy.Generation, Spec: &in.Policy.Spec}
	}
	lab.Default = in.DefaultPolicy
	for _, all := range [][]object{lab.Beds, lab.Namespaces, lab.Profiles} {
		slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.Name, b.Name) })
	}
	return digestOf(&lab)
}

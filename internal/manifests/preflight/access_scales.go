package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// chosenScale is a list of a bed that a test chooses.
type chosenScale struct {
	test    int
	name    string
	maximum int64
}

// chosenScales returns the lists that the tests of a benchmark choose on a bed. A name or a maximum that a test leaves out is the one of the bed.
// A list that the bed does not describe is a problem of its own.
func chosenScales(bed *v1alpha1.TestBed, r Request) []chosenScale {
	described := bed.Spec.Device.Scales()
	var all []chosenScale
	for i := range r.Tests {
		t := r.Tests[i].ConfigurationScale
		if t == nil {
			continue
		}
		at := slices.IndexFunc(described, func(d v1alpha1.DeviceScale) bool { return d.Name == t.Name || t.Name == "" && len(described) == 1 })
		if at < 0 {
			continue
		}
		c := chosenScale{test: i, name: described[at].Name, maximum: int64(t.Maximum)}
		if c.maximum == 0 {
			c.maximum = described[at].Range.Maximum
		}
		all = append(all, c)
	}
	return all
}

// beyondScales are the lists, and their numbers of entries, that a grant does not allow.
func beyondScales(bed *v1alpha1.TestBed, g *v1alpha1.AccessGrant, r Request) []bound {
	names := make([]string, len(g.Scales))
	for i := range g.Scales {
		names[i] = g.Scales[i].Name
	}
	var out []bound
	for _, c := range chosenScales(bed, r) {
		path := field.NewPath("spec", "tests").Index(c.test).Child("configurationScale")
		at := slices.Index(names, c.name)
		if at < 0 {
			allowed := strings.Join(names, ", ")
			out = append(out, bound{path: path.Child("name"), value: c.name, had: "only the lists " + allowed, lower: "choose only " + allowed})
			continue
		}
		if most := g.Scales[at].Maximum; most > 0 && c.maximum > most {
			out = append(out, bound{
				path: path.Child("maximum"), value: c.maximum,
				had: fmt.Sprintf("the list %s with at most %d entries", c.name, most), lower: fmt.Sprintf("give a maximum of at most %d", most),
			})
		}
	}
	return out
}

// neededScales are the lists that a benchmark needs in a grant, as YAML in one line; empty for none.
func neededScales(bed *v1alpha1.TestBed, r Request) string {
	most := map[string]int64{}
	var names []string
	for _, c := range chosenScales(bed, r) {
		if most[c.name] == 0 {
			names = append(names, c.name)
		}
		most[c.name] = max(most[c.name], c.maximum)
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("{name: %s, maximum: %d}", name, most[name])
	}
	return strings.Join(all, ", ")
}

package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Cell is one combination of a matrix.
type Cell struct {
	// Name follows from what the matrix has for the cell, so that it stays when others come
	// and go; empty without a matrix.
	Name string
	// Spec is the spec of the template with the values of the cell.
	Spec v1alpha1.BenchmarkSpec

	// at are the indices of the values in the lists of the matrix, in the order of axes; -1
	// where it has no such list.
	at []int
	// tests and gates are the indices in the template of those of the cell; nil where the
	// cell has all.
	tests, gates []int
}

// axis is a list of the matrix.
type axis struct {
	// list is its name, and what that of one value.
	list, what string
	// field of the benchmark that gets the value; empty where the value only chooses.
	field string
	size  func(m *v1alpha1.BenchmarkMatrix) int
	// text of a value.
	text func(m *v1alpha1.BenchmarkMatrix, i int) string
	set  func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int)
	// name of a value within the name of a cell; nil for the text.
	name func(text string) string
}

// axes of a matrix. New ones are added at the end: the order is that of the parts of names.
var axes = []axis{
	{
		list: "testBedNames", what: "bed", field: "spec.testBedName",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.TestBedNames) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return m.TestBedNames[i] },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			spec.TestBedName, spec.TestBedSelector, spec.TestBedRequirements = m.TestBedNames[i], nil, nil
		},
	},
	{
		list: "trafficProfileNames", what: "profile", field: "spec.trafficProfileName",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.TrafficProfileNames) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return m.TrafficProfileNames[i] },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			spec.TrafficProfileName = m.TrafficProfileNames[i]
		},
	},
	{
		list: "variants", what: "variant", field: "spec.variants[0]",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.Variants) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return string(m.Variants[i]) },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			spec.Variants = []v1alpha1.VariantName{m.Variants[i]}
		},
	},
	{
		list: "deviceImages", what: "image", field: "spec.deviceImage",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.DeviceImages) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return string(m.DeviceImages[i]) },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			spec.DeviceImage = m.DeviceImages[i]
		},
		name: imageName,
	},
	{
		list: "frameSizes", what: "frame size", field: "spec.frameSizes[0]",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.FrameSizes) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return strconv.Itoa(int(m.FrameSizes[i])) },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			spec.FrameSizes = []v1alpha1.FrameSize{m.FrameSizes[i]}
		},
	},
	{
		list: "testNames", what: "test",
		size: func(m *v1alpha1.BenchmarkMatrix) int { return len(m.TestNames) },
		text: func(m *v1alpha1.BenchmarkMatrix, i int) string { return m.TestNames[i] },
		set: func(spec *v1alpha1.BenchmarkSpec, m *v1alpha1.BenchmarkMatrix, i int) {
			tests, gates := ofTest(spec, m.TestNames[i])
			if len(tests) > 0 { // A name that the template does not have is refused.
				spec.Tests, spec.Gates = chosen(spec.Tests, tests), chosen(spec.Gates, gates)
			}
		},
	},
}

// ofTest are the indices of a test and of the gates on it.
func ofTest(spec *v1alpha1.BenchmarkSpec, name string) (tests, gates []int) {
	for i, t := range spec.Tests {
		if t.Name == name {
			tests = append(tests, i)
		}
	}
	for i, g := range spec.Gates {
		if g.Test == name {
			gates = append(gates, i)
		}
	}
	return tests, gates
}

// chosen are the items of a list at some indices.
func chosen[T any](all []T, indices []int) []T {
	var some []T
	for _, i := range indices {
		some = append(some, all[i])
	}
	return some
}

// Cells are the combinations of the matrix of a schedule; one without a name where it has no
// matrix. The last list turns fastest.
func Cells(spec *v1alpha1.BenchmarkScheduleSpec) []Cell {
	m := spec.Matrix
	if m == nil {
		return []Cell{{Spec: *spec.BenchmarkTemplate.Spec.DeepCopy()}}
	}
	places := [][]int{nil}
	for _, a := range axes {
		var longer [][]int
		for _, at := range places {
			for _, i := range indices(a.size(m)) {
				longer = append(longer, append(slices.Clone(at), i))
			}
		}
		places = longer
	}
	cells := make([]Cell, len(places))
	for n, at := range places {
		c := Cell{Spec: *spec.BenchmarkTemplate.Spec.DeepCopy(), at: at}
		var values, names []string
		for k, i := range at {
			if i < 0 {
				continue
			}
			a := axes[k]
			if a.list == "testNames" {
				c.tests, c.gates = ofTest(&c.Spec, m.TestNames[i])
			}
			a.set(&c.Spec, m, i)
			text := a.text(m, i)
			values, names = append(values, text), append(names, text)
			if a.name != nil {
				names[len(names)-1] = a.name(text)
			}
		}
		c.Name = cellName(names, values)
		cells[n] = c
	}
	return cells
}

// indices returns the indices of a list with n elements; -1 alone if it is empty.
func indices(n int) []int {
	if n == 0 {
		return []int{-1}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// maxCell is the longest name of a cell: it is the value of a label.
const maxCell = 63

// cellName joins the names of the values of a cell. A name that would be too long is cut,
// and made distinct by a digest.
func cellName(names, values []string) string {
	name := strings.Join(names, "-")
	if len(name) <= maxCell {
		return name
	}
	sum := sha256.Sum256([]byte(strings.Join(values, "/")))
	digest := hex.EncodeToString(sum[:])[:10]
	return strings.TrimRight(name[:maxCell-len(digest)-1], "-.") + "-" + digest
}

// shownDigest is the number of digits of an image digest in a name.
const shownDigest = 12

// imageName returns the part of an image reference that is used in the name of a cell: the
// last part of its repository, and its tag, or else the first digits of its digest.
func imageName(reference string) string {
	name := reference[strings.LastIndex(reference, "/")+1:]
	if before, digest, found := strings.Cut(name, "@"); found {
		name = before
		if !strings.Contains(before, ":") {
			_, digits, _ := strings.Cut(digest, ":")
			name += "-" + digits[:min(len(digits), shownDigest)]
		}
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(":_", r) {
			return '-'
		}
		return r
	}, strings.ToLower(name))
	return strings.Trim(name, "-.")
}

// FiringName names a firing of the schedule by its time in UTC. Times that a zone has twice
// have two names.
func FiringName(firing time.Time) string { return firing.UTC().Format("20060102-1504") }

// HandName names a firing by hand.
func HandName(at time.Time) string { return at.UTC().Format("20060102-150405") }

// FiringTime is the time in the name of a firing; ok is false for other texts.
func FiringTime(name string) (at time.Time, ok bool) {
	for _, layout := range []string{"20060102-1504", "20060102-150405"} {
		if at, err := time.Parse(layout, name); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Benchmarks returns the benchmarks of a firing. Their names follow from schedule, firing and
// cell. A benchmark that already exists under the name was made by the same firing.
func Benchmarks(s *v1alpha1.BenchmarkSchedule, firing string) []*v1alpha1.Benchmark {
	cells := Cells(&s.Spec)
	var all []*v1alpha1.Benchmark
	for _, c := range cells {
		all = append(all, c.Benchmark(s, firing, len(cells)))
	}
	return all
}

// history is the name under which results of a cell are compared: that of the schedule, or
// the one that the template gives, and the name of the cell.
func (c Cell) history(s *v1alpha1.BenchmarkSchedule) string {
	name := c.Spec.History(s.Name)
	if c.Name != "" {
		name += "-" + c.Name
	}
	return name
}

// Benchmark returns the benchmark of a cell in a firing. size is the number of benchmarks of
// the firing.
func (c Cell) Benchmark(s *v1alpha1.BenchmarkSchedule, firing string, size int) *v1alpha1.Benchmark {
	name := s.Name + "-" + firing
	labels := map[string]string{}
	maps.Copy(labels, s.Spec.BenchmarkTemplate.Metadata.Labels)
	labels[v1alpha1.LabelSchedule], labels[v1alpha1.LabelFiring] = s.Name, firing
	if c.Name != "" {
		name += "-" + c.Name
		labels[v1alpha1.LabelCell] = c.Name
	}
	annotations := map[string]string{}
	maps.Copy(annotations, s.Spec.BenchmarkTemplate.Metadata.Annotations)
	annotations[v1alpha1.AnnotationFiringSize] = strconv.Itoa(size)
	b := &v1alpha1.Benchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels, Annotations: annotations},
		Spec:       *c.Spec.DeepCopy(),
	}
	b.Spec.HistoryName = c.history(s)
	return b
}

package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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
	// Spec is that of the template with the values of the cell.
	Spec v1alpha1.BenchmarkSpec

	// bed, profile and variant are the indices of the values in the lists of the matrix; -1
	// where it has no such list.
	bed, profile, variant int
}

// Cells are the combinations of the matrix of a schedule; one without a name where it has no
// matrix. The last list turns fastest.
func Cells(spec *v1alpha1.BenchmarkScheduleSpec) []Cell {
	m := spec.Matrix
	if m == nil {
		return []Cell{{Spec: *spec.BenchmarkTemplate.Spec.DeepCopy(), bed: -1, profile: -1, variant: -1}}
	}
	var cells []Cell
	for _, bed := range indices(len(m.TestBedNames)) {
		for _, profile := range indices(len(m.TrafficProfileNames)) {
			for _, variant := range indices(len(m.Variants)) {
				c := Cell{Spec: *spec.BenchmarkTemplate.Spec.DeepCopy(), bed: bed, profile: profile, variant: variant}
				var values []string
				if bed >= 0 {
					c.Spec.TestBedName, c.Spec.TestBedSelector, c.Spec.TestBedRequirements = m.TestBedNames[bed], nil, nil
					values = append(values, m.TestBedNames[bed])
				}
				if profile >= 0 {
					c.Spec.TrafficProfileName = m.TrafficProfileNames[profile]
					values = append(values, m.TrafficProfileNames[profile])
				}
				if variant >= 0 {
					c.Spec.Variants = []v1alpha1.VariantName{m.Variants[variant]}
					values = append(values, string(m.Variants[variant]))
				}
				c.Name = cellName(values)
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// indices are those of a list; -1 alone for an empty one.
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

// cellName joins the values of a cell. A name that would be too long is cut, and made
// distinct by a digest.
func cellName(values []string) string {
	name := strings.Join(values, "-")
	if len(name) <= maxCell {
		return name
	}
	sum := sha256.Sum256([]byte(strings.Join(values, "/")))
	digest := hex.EncodeToString(sum[:])[:10]
	return strings.TrimRight(name[:maxCell-len(digest)-1], "-.") + "-" + digest
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

// Benchmarks are those of a firing. Their names follow from schedule, firing and cell: one
// that is there already was made by the same firing.
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

// Benchmark is that of a cell in a firing of so many.
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

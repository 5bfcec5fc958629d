package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func withMatrix(m v1alpha1.BenchmarkMatrix) func(*v1alpha1.BenchmarkSchedule) {
	return func(s *v1alpha1.BenchmarkSchedule) { s.Spec.Matrix = &m }
}

func TestBenchmarksOfAFiring(t *testing.T) {
	s := nightly(withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{"new", "old"}, Variants: []v1alpha1.VariantName{"fec", "plain"}}), func(s *v1alpha1.BenchmarkSchedule) {
		s.Spec.BenchmarkTemplate.Metadata.Labels = map[string]string{"release": "candidate"}
		s.Spec.BenchmarkTemplate.Metadata.Annotations = map[string]string{"example.com/change": "1"}
		s.Spec.BenchmarkTemplate.Spec.TestBedName = ""
		s.Spec.BenchmarkTemplate.Spec.TestBedSelector = &metav1.LabelSelector{}
	})
	var names []string
	for _, b := range Benchmarks(s, "20261123-0200") {
		names = append(names, b.Name)
		if b.Spec.TestBedSelector != nil || b.Spec.TestBedName == "" || len(b.Spec.Variants) != 1 || b.Spec.TrafficProfileName != "pairs" {
			t.Errorf("%s has the spec %+v", b.Name, b.Spec)
		}
		if b.Labels["release"] != "candidate" || b.Labels[v1alpha1.LabelSchedule] != "nightly" || b.Labels[v1alpha1.LabelFiring] != "20261123-0200" ||
			b.Labels[v1alpha1.LabelCell] != b.Spec.TestBedName+"-"+string(b.Spec.Variants[0]) || b.Annotations[v1alpha1.AnnotationFiringSize] != "4" || b.Annotations["example.com/change"] != "1" {
			t.Errorf("%s has labels %v and annotations %v", b.Name, b.Labels, b.Annotations)
		}
		if want := "nightly-" + b.Labels[v1alpha1.LabelCell]; b.Spec.HistoryName != want {
			t.Errorf("%s is in the history %s, want %s", b.Name, b.Spec.HistoryName, want)
		}
		if b.Namespace != "team" || len(b.OwnerReferences) != 0 {
			t.Errorf("%s is in %s and belongs to %v", b.Name, b.Namespace, b.OwnerReferences)
		}
	}
	want := []string{"nightly-20261123-0200-new-fec", "nightly-20261123-0200-new-plain", "nightly-20261123-0200-old-fec", "nightly-20261123-0200-old-plain"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if s.Spec.BenchmarkTemplate.Spec.TestBedSelector == nil {
		t.Error("the template was changed")
	}
	if alone := Benchmarks(nightly(), "20261123-0200"); len(alone) != 1 || alone[0].Name != "nightly-20261123-0200" || alone[0].Labels[v1alpha1.LabelCell] != "" || alone[0].Spec.HistoryName != "nightly" {
		t.Errorf("without a matrix there is %+v", alone)
	}
}

// TestCellsOfImagesAndFrameSizes gives each benchmark one image and one frame size, in place of
// those of the template.
func TestCellsOfImagesAndFrameSizes(t *testing.T) {
	s := nightly(withMatrix(v1alpha1.BenchmarkMatrix{
		Variants: []v1alpha1.VariantName{"fec"}, FrameSizes: []v1alpha1.FrameSize{64, 1518},
		DeviceImages: []v1alpha1.DeviceImage{"registry.example:5000/lab/router:1.2_RC", "router@sha256:0123456789abcdef0123"},
	}), func(s *v1alpha1.BenchmarkSchedule) {
		s.Spec.BenchmarkTemplate.Spec.FrameSizes = []v1alpha1.FrameSize{128, 256}
		s.Spec.BenchmarkTemplate.Spec.DeviceImage = "router:1"
	})
	var got []string
	for _, c := range Cells(&s.Spec) {
		got = append(got, fmt.Sprint(c.Name, " ", c.Spec.DeviceImage, " ", c.Spec.FrameSizes, " ", c.Spec.Variants))
	}
	want := []string{
		"fec-router-1.2-rc-64 registry.example:5000/lab/router:1.2_RC [64] [fec]",
		"fec-router-1.2-rc-1518 registry.example:5000/lab/router:1.2_RC [1518] [fec]",
		"fec-router-0123456789ab-64 router@sha256:0123456789abcdef0123 [64] [fec]",
		"fec-router-0123456789ab-1518 router@sha256:0123456789abcdef0123 [1518] [fec]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if b := Benchmarks(s, "20261123-0200")[1]; b.Name != "nightly-20261123-0200-fec-router-1.2-rc-1518" || b.Spec.HistoryName != "nightly-fec-router-1.2-rc-1518" {
		t.Errorf("%s with the history %s", b.Name, b.Spec.HistoryName)
	}
}

// TestCellsOfTests gives each benchmark one test and its gates, and leads problems back to the
// template.
func TestCellsOfTests(t *testing.T) {
	s := nightly(withMatrix(v1alpha1.BenchmarkMatrix{TestNames: []string{"c", "b"}}), func(s *v1alpha1.BenchmarkSchedule) {
		spec := &s.Spec.BenchmarkTemplate.Spec
		spec.Tests = []v1alpha1.Test{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		spec.Gates = []v1alpha1.Gate{{Name: "a1", Test: "a"}, {Name: "c1", Test: "c"}, {Name: "b1", Test: "b"}, {Name: "c2", Test: "c"}}
	})
	cells := Cells(&s.Spec)
	var got []string
	for _, c := range cells {
		text := c.Name
		for _, test := range c.Spec.Tests {
			text += " " + test.Name
		}
		for _, g := range c.Spec.Gates {
			text += " " + g.Name
		}
		got = append(got, text)
	}
	if want := []string{"c c c1 c2", "b b b1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for in, want := range map[string]string{
		"spec.tests[0].soak":      "spec.benchmarkTemplate.spec.tests[2].soak",
		"spec.gates[1].metric":    "spec.benchmarkTemplate.spec.gates[3].metric",
		"spec.tests":              "spec.benchmarkTemplate.spec.tests",
		"spec.trafficProfileName": "spec.benchmarkTemplate.spec.trafficProfileName",
	} {
		if is := cells[0].Blame(&field.Error{Field: in}).Field; is != want {
			t.Errorf("%s became %s, want %s", in, is, want)
		}
	}
	if len(s.Spec.BenchmarkTemplate.Spec.Tests) != 3 || len(ValidateTemplate(&s.Spec)) > 0 {
		t.Error("the template was changed, or is refused")
	}
	s.Spec.Matrix.TestNames = []string{"c", "d"}
	if problems := ValidateTemplate(&s.Spec); len(problems) != 1 ||
		!strings.Contains(problems[0].Error(), `spec.matrix.testNames[1]: Invalid value: "d": the template has no test of this name, only a, b, c`) {
		t.Error(problems)
	}
}

// TestNamesOfImages makes a name of every reference that the schema allows.
func TestNamesOfImages(t *testing.T) {
	for image, want := range map[string]string{
		"router":                          "router",
		"ghcr.io/team/router:10.2.1":      "router-10.2.1",
		"router:1.2@sha256:0123456789abc": "router-1.2",
		"registry.example/a/B_c:V1":       "b-c-v1",
		"router@sha256:0123456789abcdef":  "router-0123456789ab",
		"a/b:-.x":                         "b--.x",
	} {
		got := imageName(image)
		if got != want || len(utilvalidation.IsValidLabelValue(got)) > 0 {
			t.Errorf("%s became %q, want %q", image, got, want)
		}
	}
}

// TestLongCells keeps names of cells within the value of a label, and distinct.
func TestLongCells(t *testing.T) {
	long := strings.Repeat("a", 252)
	cells := Cells(&nightly(withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{long + "b", long + "c"}})).Spec)
	for _, c := range cells {
		if problems := utilvalidation.IsValidLabelValue(c.Name); len(problems) > 0 {
			t.Errorf("%q: %v", c.Name, problems)
		}
	}
	if cells[0].Name == cells[1].Name {
		t.Error("both cells have one name")
	}
	if again := Cells(&nightly(withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{long + "c"}})).Spec); again[0].Name != cells[1].Name {
		t.Error("the name of a cell depends on others")
	}
}

func TestValidateTemplate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BenchmarkSchedule)
		want   []string
	}{
		"sound": {func(s *v1alpha1.BenchmarkSchedule) {}, nil},
		"a label of NoDrop": {func(s *v1alpha1.BenchmarkSchedule) {
			s.Spec.BenchmarkTemplate.Metadata.Labels = map[string]string{v1alpha1.LabelSchedule: "other"}
		}, []string{"spec.benchmarkTemplate.metadata.labels[nodrop.dev/schedule]", `"other"`, "NoDrop sets these itself"}},
		"an annotation of NoDrop": {func(s *v1alpha1.BenchmarkSchedule) {
			s.Spec.BenchmarkTemplate.Metadata.Annotations = map[string]string{v1alpha1.AnnotationFiringSize: "9"}
		}, []string{"spec.benchmarkTemplate.metadata.annotations[nodrop.dev/firing-size]"}},
		"a label that is none": {func(s *v1alpha1.BenchmarkSchedule) {
			s.Spec.BenchmarkTemplate.Metadata.Labels = map[string]string{"release": "not a value"}
		}, []string{"spec.benchmarkTemplate.metadata.labels", "not a value"}},
		"two cells of one name": {withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{"a", "a-b"}, TrafficProfileNames: []string{"b-c", "c"}}),
			[]string{"spec.matrix", "bed a with profile b-c and bed a-b with profile c would have the same name"}},
		"two images of one name": {withMatrix(v1alpha1.BenchmarkMatrix{DeviceImages: []v1alpha1.DeviceImage{"a/router:1", "b/router:1"}}),
			[]string{"spec.matrix", "image a/router:1 and image b/router:1 would have the same name"}},
		"a role of two benchmarks": {func(s *v1alpha1.BenchmarkSchedule) {
			withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{"a", "b"}})(s)
			s.Spec.BenchmarkTemplate.Spec.Gang = &v1alpha1.Gang{Name: "pair", Role: "east", Members: 2}
		}, []string{"spec.benchmarkTemplate.spec.gang.role", "the matrix makes 2 benchmarks at once"}},
	} {
		t.Run(name, func(t *testing.T) {
			problems := ValidateTemplate(&nightly(tc.change).Spec)
			if len(tc.want) == 0 && len(problems) > 0 {
				t.Fatal(problems)
			}
			for _, want := range tc.want {
				if len(problems) == 0 || !strings.Contains(problems.ToAggregate().Error(), want) {
					t.Errorf("%v lacks %q", problems, want)
				}
			}
		})
	}
}

// TestBlame leads problems of a benchmark back to the field of the schedule.
func TestBlame(t *testing.T) {
	cell := Cells(&nightly(withMatrix(v1alpha1.BenchmarkMatrix{TestBedNames: []string{"a", "b"}})).Spec)[1]
	for in, want := range map[string]string{
		"spec.testBedName":                   "spec.matrix.testBedNames[1]",
		"spec.trafficProfileName":            "spec.benchmarkTemplate.spec.trafficProfileName",
		"spec.tests[0].throughput.maxLoad":   "spec.benchmarkTemplate.spec.tests[0].throughput.maxLoad",
		"TrafficProfile/p.spec.frameSizes[]": "TrafficProfile/p.spec.frameSizes[]",
	} {
		if got := cell.Blame(&field.Error{Field: in}).Field; got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	cell = Cells(&nightly(withMatrix(v1alpha1.BenchmarkMatrix{DeviceImages: []v1alpha1.DeviceImage{"a:1", "a:2"}, FrameSizes: []v1alpha1.FrameSize{64, 128}})).Spec)[3]
	for in, want := range map[string]string{
		"spec.testBedName":   "spec.benchmarkTemplate.spec.testBedName",
		"spec.deviceImage":   "spec.matrix.deviceImages[1]",
		"spec.frameSizes[0]": "spec.matrix.frameSizes[1]",
	} {
		if got := cell.Blame(&field.Error{Field: in}).Field; got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

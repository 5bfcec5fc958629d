package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
)

// The elements of JUnit's XML, as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Hostname   string          `xml:"hostname,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		elapsed    int64
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string       `xml:"name,attr"`
		Classname string       `xml:"classname,attr"`
		Time      string       `xml:"time,attr"`
		Skipped   *junitReason `xml:"skipped"`
		Error     *junitReason `xml:"error"`
		Failure   *junitReason `xml:"failure"`
		Out       string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
)

// junit has a suite per test and a case per row, and the same per gate. A row fails when the device
// forwarded nothing. It is skipped when it was not measured, or when its numbers
// cannot be believed. A lab that failed is an error in a suite of its own, and so is a
// verdict that no row shows, such as that a test has no conclusive row, so that neither is
// taken for success.
func (d *Document) junit() ([]byte, error) {
	all := junitSuites{Name: d.Benchmark.Namespace + "/" + d.Benchmark.Name}
	var elapsed int64
	empty := d.emptySuite()
	for _, test := range suitesOf(d.Spec.Tests, d.Rows) {
		s := empty.named(test.name)
		for _, row := range test.rows {
			s.add(rowCase(classname(d.Benchmark, test.name), row), row.ElapsedMilliseconds)
		}
		for _, missing := range test.missing(&d.Spec, d.Profile) {
			s.add(junitCase{Name: missing, Classname: classname(d.Benchmark, test.name), Skipped: &junitReason{"NotMeasured", d.whyMissing()}}, 0)
		}
		all.add(s)
		elapsed += s.elapsed
	}
	for _, s := range d.judged().suites(d.Benchmark, empty) {
		all.add(s)
	}
	verdict := junitCase{Name: "completed", Classname: all.Name}
	switch {
	case d.Phase == v1alpha1.PhaseError || d.Phase == v1alpha1.PhaseInvalid || d.Phase == v1alpha1.PhaseInconclusive:
		verdict.Error = &junitReason{string(d.Phase), d.whyMissing()}
	case d.Phase == v1alpha1.PhaseFailed && all.Failures == 0:
		verdict.Failure = &junitReason{string(d.Phase), d.whyMissing()}
	}
	if verdict.Error != nil || verdict.Failure != nil {
		s := empty.named("benchmark")
		s.add(verdict, 0)
		all.add(s)
	}
	all.Time = junitTime(elapsed)
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func (all *junitSuites) add(s junitSuite) {
	s.Time = junitTime(s.elapsed)
	all.Tests += s.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
	all.Suites = append(all.Suites, s)
}

func (s *junitSuite) add(c junitCase, elapsed int64) {
	c.Time = junitTime(elapsed)
	s.elapsed += elapsed
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// named returns the suite under a name.
func (s junitSuite) named(name string) junitSuite {
	s.Name = name
	return s
}

func junitTime(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// classname returns the class of the cases of a test.
func classname(benchmark Identity, test string) string {
	return benchmark.Namespace + "." + benchmark.Name + "." + test
}

// rowCase returns the case of a row.
func rowCase(class string, row v1alpha1.ResultRow) junitCase {
	c := junitCase{Name: caseName(row.RowID), Classname: class}
	lines := append([]string{RowLine(row)}, rowNotes(row)...)
	c.Out = strings.Join(lines, "\n")
	switch {
	case nothingForwarded(row):
		c.Failure = &junitReason{"NothingForwarded", "the device forwarded nothing" + after(": ", row.Message)}
	case unmeasured(&row):
		c.Skipped = &junitReason{"NotMeasured", row.Message}
	case row.Frames != nil && row.Frames.Sent == 0:
		c.Skipped = &junitReason{"NotMeasured", "nothing was sent" + after(": ", row.Message)}
	case !result.Trusted(row.Validity):
		c.Skipped = &junitReason{string(row.Validity), strings.Join(row.ValidityReasons, "; ")}
	}
	return c
}

// nothingForwarded reports whether the device forwarded no frame of the row. Such a row ends
// the benchmark with phase Failed.
func nothingForwarded(row v1alpha1.ResultRow) bool {
	frames := row.Frames.OrZero()
	return frames.Sent > 0 && frames.Received == 0
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// rowName is a row's name in its test and variant: "64 B at 50%", "64 B PDR 0.5%".
func rowName(id v1alpha1.RowID) string {
	name := cmp.Or(id.SizeName(), id.Test)
	if id.Servers > 0 {
		name = v1alpha1.ServersName(id.Servers)
	}
	if id.MessageSize > 0 {
		name = v1alpha1.MessageSizeName(id.MessageSize)
	}
	if id.LossRatioPPM > 0 {
		name += " " + goalOf(id.LossRatioPPM)
	}
	return name + after(" at ", string(id.Load))
}

// caseName is a row's name in its test: "64 B at 50%", "fec-on: 64 B at 50%".
func caseName(id v1alpha1.RowID) string { return human.Join(": ", string(id.Variant), rowName(id)) }

// suiteRows are the rows of a test; spec is nil for a test that the
// specification does not name.
type suiteRows struct {
	name string
	spec *v1alpha1.Test
	rows []v1alpha1.ResultRow
}

// suitesOf are the tests of the specification, and those that only have rows.
func suitesOf(spec []v1alpha1.Test, rows []v1alpha1.ResultRow) []suiteRows {
	var tests []suiteRows
	at := map[string]int{}
	for i := range spec {
		at[spec[i].Name] = len(tests)
		tests = append(tests, suiteRows{name: spec[i].Name, spec: &spec[i]})
	}
	for _, row := range rows {
		i, known := at[row.Test]
		if !known {
			i = len(tests)
			at[row.Test] = i
			tests = append(tests, suiteRows{name: row.Test})
		}
		tests[i].rows = append(tests[i].rows, row)
	}
	return tests
}

// missing names the rows that were asked for and not measured.
func (s suiteRows) missing(spec *v1alpha1.BenchmarkSpec, profile *v1alpha1.TrafficProfileSpec) []string {
	if s.spec == nil {
		return nil
	}
	there := map[v1alpha1.RowID]bool{}
	for _, row := range s.rows {
		there[row.RowID] = true
	}
	asked := askedOf(s.spec)
	if asked == nil && len(s.rows) > 0 {
		return nil // Which rows were needed is the method's to know.
	}
	if asked == nil {
		asked = []v1alpha1.RowID{{Test: s.name}}
	}
	var names []string
	if profile != nil {
		for _, variant := range spec.VariantsInOrder() {
			for _, size := range sizes(profile) {
				for _, id := range asked {
					id.Variant, id.FrameSize, id.FrameMix = variant, size.FrameSize, size.FrameMix
					if !there[id] {
						names = append(names, caseName(id))
					}
				}
			}
		}
	}
	if len(names) == 0 && len(s.rows) == 0 {
		names = []string{"all rows"}
	}
	return names
}

// askedOf are the rows that a test has for every frame size; nil for a test of which
// that is not known before.
func askedOf(test *v1alpha1.Test) []v1alpha1.RowID {
	own, ok := method.DescribeTest(*test)
	if !ok || own.Optional {
		return nil
	}
	var ids []v1alpha1.RowID
	for _, step := range own.Steps(*test, plan.Scale{}) {
		ids = append(ids, v1alpha1.RowID{Test: test.Name, Method: cmp.Or(step.Method, own.Name), Load: step.Load, LossRatioPPM: step.LossRatioPPM, Servers: step.Servers, MessageSize: step.MessageSize})
	}
	return ids
}

// whyMissing explains why a row is missing: by the end of the benchmark.
func (d *Document) whyMissing() string {
	return "the benchmark is " + string(d.Phase) + after(": ", d.Message)
}

// emptySuite is a suite without cases, with the environment as its properties.
func (d *Document) emptySuite() junitSuite {
	s := junitSuite{}
	if d.StartTime != nil {
		s.Timestamp = d.StartTime.UTC().Format("2006-01-02T15:04:05")
	}
	add := func(name, value string) {
		if value != "" {
			s.Properties = append(s.Properties, junitProperty{name, value})
		}
	}
	add("phase", string(d.Phase))
	add("testBed", d.TestBed)
	add("traffic", d.traffic())
	env := d.Environment
	if env == nil {
		return s
	}
	add("device", env.Device)
	add("engine", string(env.Engine))
	add("engineDetail", env.EngineDetail)
	add("latencyType", env.LatencyType)
	add("nodropVersion", env.NoDropVersion)
	for _, host := range env.Hosts {
		add("host", hostLine(host))
	}
	for _, port := range portLines(env.Ports, int(env.PortCount)) {
		add("port", port)
	}
	if len(env.Hosts) > 0 {
		s.Hostname = env.Hosts[0].Name
	}
	return s
}

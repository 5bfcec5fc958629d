package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// junitShape describes the XML that CI systems accept: for each element, the required and the
// optional attributes and the children.
var junitShape = map[string]struct{ must, may, children []string }{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests", "failures", "errors"},
		[]string{"skipped", "time", "timestamp", "hostname", "id", "package"}, []string{"properties", "testcase", "system-out", "system-err"}},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name", "value"}, nil, nil},
	"testcase":   {[]string{"name"}, []string{"classname", "time"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"skipped":    {nil, []string{"type", "message"}, nil},
	"error":      {nil, []string{"type", "message"}, nil},
	"failure":    {nil, []string{"type", "message"}, nil},
	"system-out": {},
	"system-err": {},
}

var junitSeconds = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)

func TestJUnitHasTheShapeThatIsRead(t *testing.T) {
	for name, d := range allDocuments() {
		t.Run(name, func(t *testing.T) {
			decoder := xml.NewDecoder(bytes.NewReader(junitOf(t, d)))
			var open []string
			for {
				token, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				switch token := token.(type) {
				case xml.StartElement:
					checkElement(t, token, open)
					open = append(open, token.Name.Local)
				case xml.EndElement:
					open = open[:len(open)-1]
				}
			}
		})
	}
}

func checkElement(t *testing.T, e xml.StartElement, open []string) {
	t.Helper()
	name := e.Name.Local
	shape, known := junitShape[name]
	if !known || len(open) == 0 && name != "testsuites" {
		t.Fatalf("element %s in %v", name, open)
	}
	if len(open) > 0 && !slices.Contains(junitShape[open[len(open)-1]].children, name) {
		t.Errorf("%s in %v", name, open)
	}
	var there []string
	for _, a := range e.Attr {
		there = append(there, a.Name.Local)
		if !slices.Contains(shape.must, a.Name.Local) && !slices.Contains(shape.may, a.Name.Local) {
			t.Errorf("attribute %s of %s", a.Name.Local, name)
		}
		if a.Name.Local == "time" && !junitSeconds.MatchString(a.Value) {
			t.Errorf("time %q of %s", a.Value, name)
		}
	}
	for _, must := range shape.must {
		if !slices.Contains(there, must) {
			t.Errorf("%s lacks %s", name, must)
		}
	}
}

func junitOf(t *testing.T, d *Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b, FormatJUnit); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// counted are the cases of a document and how they ended.
func counted(t *testing.T, d *Document) (cases map[string]string, suites junitSuites) {
	t.Helper()
	if err := xml.Unmarshal(junitOf(t, d), &suites); err != nil {
		t.Fatal(err)
	}
	cases = map[string]string{}
	total := 0
	for _, s := range suites.Suites {
		count := map[string]int{}
		for _, c := range s.Cases {
			how := "passed"
			switch {
			case c.Failure != nil:
				how = "failed: " + c.Failure.Message
			case c.Error != nil:
				how = "error: " + c.Error.Message
			case c.Skipped != nil:
				how = "skipped: " + c.Skipped.Message
			}
			count[how[:4]]++
			if cases[s.Name+" "+c.Name] != "" {
				t.Errorf("case %s %s is there twice", s.Name, c.Name)
			}
			cases[s.Name+" "+c.Name] = how
		}
		if s.Tests != len(s.Cases) || s.Failures != count["fail"] || s.Errors != count["erro"] || s.Skipped != count["skip"] {
			t.Errorf("suite %s says %d tests, %d failures, %d errors, %d skipped; it has %d cases: %v", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), count)
		}
		total += len(s.Cases)
	}
	if suites.Tests != total {
		t.Errorf("%d tests in all, it has %d", suites.Tests, total)
	}
	return cases, suites
}

func TestJUnitCases(t *testing.T) {
	d := router()
	// The device forwarded nothing at 1518 B.
	d.Rows[1].Frames.Sent = 1000
	cases, suites := counted(t, d)
	for name, want := range map[string]string{
		"throughput 86 B":            "passed",
		"throughput 1518 B":          "failed: the device forwarded nothing: " + d.Rows[1].Message,
		"latency 86 B at 50%":        "skipped: " + d.Rows[2].ValidityReasons[0],
		"throughput 64 B":            "skipped: the benchmark is Failed: " + d.Message,
		"latency 86 B at throughput": "passed",
	} {
		if cases[name] != want {
			t.Errorf("%s: %q, want %q", name, cases[name], want)
		}
	}
	if suites.Failures != 1 || len(suites.Suites) != 2 || suites.Suites[0].Hostname != "lab-1" {
		t.Errorf("%d failures in %d suites on %q", suites.Failures, len(suites.Suites), suites.Suites[0].Hostname)
	}
	properties := map[string]string{}
	for _, p := range suites.Suites[0].Properties {
		properties[p.Name] = p.Value
	}
	for _, name := range []string{"phase", "testBed", "device", "engine", "latencyType", "nodropVersion", "host", "port", "traffic"} {
		if properties[name] == "" {
			t.Errorf("property %s is missing", name)
		}
	}
}

func TestJUnitOfABenchmarkThatDidNotEnd(t *testing.T) {
	cases, suites := counted(t, failed())
	if suites.Errors != 1 || cases["benchmark completed"] != "error: the benchmark is Error: the agent on lab-1 did not answer" {
		t.Errorf("%d errors: %q", suites.Errors, cases["benchmark completed"])
	}
	if how := cases["latency 9216 B at throughput"]; how != "skipped: the benchmark is Error: the agent on lab-1 did not answer" {
		t.Errorf("a row that was not measured: %q", how)
	}
	if len(cases) != 3+12+1 {
		t.Errorf("%s cases", strconv.Itoa(len(cases)))
	}
	cases, _ = counted(t, router())
	if how := cases["benchmark completed"]; how != "failed: the benchmark is Failed: the device forwarded nothing at 1518 B" {
		t.Errorf("a verdict that no row shows: %q", how)
	}
	if how := cases["throughput 1518 B"]; !strings.HasPrefix(how, "skipped: nothing was sent: no test frame came back") {
		t.Errorf("a row without frames: %q", how)
	}
	none := router()
	none.Rows = []v1alpha1.ResultRow{{RowID: v1alpha1.RowID{Test: "bursts", Method: v1alpha1.MethodBackToBack, FrameSize: 1518}, Frames: &v1alpha1.FrameSection{}, Message: "not measured: line rate", Validity: v1alpha1.ValidityValid}}
	cases, _ = counted(t, none)
	if how := cases["bursts 1518 B"]; how != "skipped: not measured: line rate" {
		t.Errorf("a row with nothing to measure: %q", how)
	}
	cases, _ = counted(t, aborted())
	if how := cases["latency all rows"]; how != "skipped: the benchmark is Aborted: spec.abort was set" {
		t.Errorf("without a profile: %q", how)
	}
}

// A verdict that no row shows is an error, so that a CI system does not take skipped rows
// for success.
func TestJUnitShowsAnInconclusiveEnd(t *testing.T) {
	d := chassis()
	d.Phase, d.Message = v1alpha1.PhaseInconclusive, "test throughput has no conclusive row"
	for i := range d.Rows {
		d.Rows[i].Validity = v1alpha1.ValidityGeneratorBound
	}
	text := string(junitOf(t, d))
	for _, want := range []string{`errors="1"`, `<error type="Inconclusive" message="the benchmark is Inconclusive: test throughput has no conclusive row">`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

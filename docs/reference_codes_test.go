package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// constant is a constant of a Go file, with the comment of its block and its own.
type constant struct{ block, name, value, comment string }

// constantsOf returns the constants of a Go file that have a value of their own.
func constantsOf(t *testing.T, file string) []constant {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var all []constant
	for _, d := range tree.Decls {
		block, is := d.(*ast.GenDecl)
		if !is || block.Tok != token.CONST {
			continue
		}
		comment := ""
		for _, spec := range block.Specs {
			s := spec.(*ast.ValueSpec)
			if s.Doc != nil {
				comment = strings.Join(strings.Fields(s.Doc.Text()), " ")
			}
			if value, is := s.Values[0].(*ast.BasicLit); is {
				all = append(all, constant{strings.TrimSpace(block.Doc.Text()), s.Names[0].Name, strings.Trim(value.Value, `"`), comment})
			}
		}
	}
	return all
}

// TestReferenceOfExitCodes checks that the page of the exit codes has the codes of the program, with the phases that end with each.
func TestReferenceOfExitCodes(t *testing.T) {
	phases := map[int][]string{}
	for _, c := range constantsOf(t, "../api/v1alpha1/benchmark_status.go") {
		if phase := v1alpha1.BenchmarkPhase(c.value); strings.HasPrefix(c.name, "Phase") {
			code := exit.CodeOf(phase)
			phases[code] = append(phases[code], "`"+c.value+"`")
		}
	}
	var text strings.Builder
	fmt.Fprint(&text, "# Exit codes\n\nExit codes never change. [The command line](../cli.md#exit-codes) describes them for each command. "+
		"A watched benchmark in one of the phases of code 6 is not finished.\n\n"+
		"This page is generated from `internal/base/exit` by `go test ./docs -update`.\n\n| Code | Name | Phases of a benchmark | Meaning |\n|---|---|---|---|\n")
	codes := constantsOf(t, "../internal/base/exit/exit.go")
	for _, c := range codes {
		code, err := strconv.Atoi(c.value)
		if err != nil {
			t.Fatal(err)
		}
		_, meaning, _ := strings.Cut(c.comment, ": ")
		fmt.Fprintf(&text, "| %d | %s | %s | %s |\n", code, c.name, strings.Join(phases[code], ", "), inCell(meaning))
		delete(phases, code)
	}
	if len(codes) < 5 || len(phases) > 0 {
		t.Errorf("%d codes; phases without a code: %v", len(codes), phases)
	}
	compareReference(t, "exit-codes", text.String())
}

// TestReferenceOfMetrics checks that the page of the metrics has all that are written.
func TestReferenceOfMetrics(t *testing.T) {
	var text strings.Builder
	fmt.Fprint(&text, "# Metrics\n\nThis page lists all metrics, with links to their descriptions. It is generated from the code by `go test ./docs -update`.\n\n"+
		"## Time series in InfluxDB\n\nA point is identified by its measurement, its tags and its time.\n\n| Measurement | Tags | Fields | A point is |\n|---|---|---|---|\n")
	for _, m := range metrics.Schema() {
		var tags []string
		for _, c := range m.Tags {
			tags = append(tags, "`"+c.Name+"`")
		}
		fmt.Fprintf(&text, "| [`%s`](../metrics.md#%s) | %s | %d | %s |\n", m.Name, m.Name, strings.Join(tags, ", "), len(m.Fields), inCell(m.About))
	}
	fmt.Fprint(&text, "\nThe table counts the fields of the point itself: a row has the figures of its method in addition.\n\n"+
		"## Metrics for Prometheus\n\n[Metrics and alerts of the lab](../alerts.md#metrics) describes how they are scraped, and the alerts.\n\n| Metric | Type | Labels | Of | Meaning |\n|---|---|---|---|---|\n")
	for _, d := range opmetrics.Definitions() {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Type, labels, d.Component, inCell(d.Help))
	}
	compareReference(t, "metrics", text.String())
}

// events are the events that the operator makes, by the file that makes them.
var events = map[string][]struct{ object, kind, reasons, about string }{
	"controllers/kit/statuswriter.go": {
		{"Benchmark", "Normal", "`Preempted`", "the benchmark returned its bed to another one, and waits again"},
		{"Benchmark", "Warning; Normal for `Aborted`", "`Inconclusive`, `Failed`, `Invalid`, `Error`, `Aborted`", "the benchmark ended otherwise than `Passed` or `Measured`"},
	},
	"controllers/benchmarks/calibration.go":   {{"TestBed", "Normal", "`Calibrated`", "a benchmark measured the tester of the bed"}},
	"controllers/storing/trend.go":            {{"Benchmark", "Warning", "`Regression`", "the level of a figure became worse in the history"}},
	"controllers/schedules/controller.go":     {{"BenchmarkSchedule", "Normal or Warning", "[events of a schedule](#events-of-a-schedule)", "a firing made benchmarks, was missed or was refused"}},
	"controllers/reservations/controller.go":  {{"Reservation", "Normal", "`BeginsSoon`, `Begun`, `EndsSoon`, `Ended`", "an occurrence begins or ends, now or in 15 minutes"}},
	"controllers/notifications/controller.go": {{"NotificationSink", "Normal for `NotificationDelivered`, otherwise Warning", "`Notification` and the state of the delivery, such as `NotificationDelivered`", "a notification was delivered, or was not"}},
}

// TestReferenceOfEvents checks that the page of events and conditions has every place that makes events, and every reason of the API.
func TestReferenceOfEvents(t *testing.T) {
	made := map[string]int{}
	err := filepath.WalkDir("../controllers", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if call, is := n.(*ast.SelectorExpr); is && call.Sel.Name == "Eventf" {
				made[strings.TrimPrefix(filepath.ToSlash(file), "../")]++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprint(&text, "# Events and conditions\n\nThis page is generated from the code by `go test ./docs -update`.\n\n## Events\n\n"+
		"`kubectl events --for benchmark/NAME` and `kubectl describe` show events. An event costs the API server as much as a status, so only these are made.\n\n"+
		"| Object | Type | Reason | When |\n|---|---|---|---|\n")
	for _, file := range slices.Sorted(maps.Keys(events)) {
		if made[file] != len(events[file]) {
			t.Errorf("%s makes events at %d places, and reference_codes_test.go describes %d", file, made[file], len(events[file]))
		}
		delete(made, file)
		for _, e := range events[file] {
			fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", e.object, e.kind, e.reasons, e.about)
		}
	}
	if len(made) > 0 {
		t.Errorf("these files make events that reference_codes_test.go does not describe: %v", made)
	}
	fmt.Fprint(&text, "\n### Events of a schedule\n\n| Reason | Meaning |\n|---|---|\n")
	var conditions strings.Builder
	files, err := filepath.Glob("../api/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	block := ""
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, c := range constantsOf(t, file) {
			about := inCell(c.comment)
			if named, meaning, found := strings.Cut(about, " "); found && named == c.name {
				about = meaning
			}
			switch {
			case strings.HasPrefix(c.name, "Event"):
				fmt.Fprintf(&text, "| `%s` | %s |\n", c.value, about)
			case strings.HasPrefix(c.name, "Condition"), strings.HasPrefix(c.name, "Reason"):
				if c.block != block {
					first, _, _ := strings.Cut(c.block, "\n\n")
					fmt.Fprintf(&conditions, "\n### %s\n\n| Name | Is a | Meaning |\n|---|---|---|\n", strings.SplitN(strings.Join(strings.Fields(first), " "), ". ", 2)[0])
					block = c.block
				}
				kind := "reason"
				if strings.HasPrefix(c.name, "Condition") {
					kind = "**condition**"
				}
				fmt.Fprintf(&conditions, "| `%s` | %s | %s |\n", c.value, kind, about)
			}
		}
	}
	fmt.Fprintf(&text, "\n## Conditions\n\n`kubectl get NAME -o yaml` shows the conditions of an object in its status, each with a reason.\n%s", strings.ReplaceAll(conditions.String(), ".\n\n|", "\n\n|"))
	compareReference(t, "events", text.String())
}

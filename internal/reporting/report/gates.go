package report

import (
	"cmp"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// maxGateNotes is the maximum number of reasons that a report lists for a gate. The gate's
// table of rows contains all of them.
const maxGateNotes = 8

// judgedGates are the gates of a benchmark with their verdicts.
type judgedGates struct {
	// asked are the gates of the specification.
	asked []v1alpha1.Gate
	// verdicts are in the order of asked; nil without gates.
	verdicts *gate.Judgement
}

// judged returns the gates of the document.
func (d *Document) judged() judgedGates { return judgedGates{asked: d.Spec.Gates, verdicts: d.Gates} }

// list returns the verdicts; none without gates.
func (j judgedGates) list() []gate.JudgedGate {
	if j.verdicts == nil {
		return nil
	}
	return j.verdicts.Gates
}

// grid has a line per gate.
func (j judgedGates) grid() *layout.Grid {
	g := &layout.Grid{Columns: []layout.Column{
		{Name: "gate", Left: true}, {Name: "test", Left: true}, {Name: "metric", Left: true}, {Name: "bound", Left: true},
		{Name: "passed"}, {Name: "failed"}, {Name: "inconclusive"}, {Name: "verdict", Left: true, Verdict: true},
	}}
	for i, r := range j.list() {
		count := func(v v1alpha1.GateVerdict) string { return fmt.Sprint(r.Count(v)) }
		g.Rows = append(g.Rows, []string{
			r.Name, r.Test, r.Metric, j.bound(i),
			count(v1alpha1.GatePassed), count(v1alpha1.GateFailed), count(v1alpha1.GateInconclusive), string(r.Verdict),
		})
	}
	return g
}

// bound returns the limit of a gate: "at least 90%", "at most 2% below the trend".
func (j judgedGates) bound(i int) string {
	if i >= len(j.asked) {
		return "-"
	}
	g := j.asked[i]
	unit := j.list()[i].Unit
	var parts []string
	add := func(text, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(text, value))
		}
	}
	add("at least %s", boundText(g.Min, unit))
	add("at most %s", boundText(g.Max, unit))
	if g.Relative == nil {
		return strings.Join(parts, ", ")
	}
	less, more := g.Relative.MaxDecrease, g.Relative.MaxIncrease
	of := baselineName(g.Relative.Baseline, j.list()[i].Baseline)
	if less != nil && more != nil && *less == *more {
		return fmt.Sprintf("within %s of %s", *less, of)
	}
	if less != nil {
		add("at most %s below", string(*less))
	}
	if more != nil {
		add("at most %s above", string(*more))
	}
	return strings.Join(parts, ", ") + " " + of
}

// baselineName names a baseline.
func baselineName(asked v1alpha1.GateBaseline, found *gate.BaselineIdentity) string {
	switch {
	case asked.Trend != nil:
		return "the trend"
	case found != nil:
		return found.Benchmark
	}
	return cmp.Or(asked.BenchmarkName, "the selected benchmark")
}

// comparedWith describes a baseline by its time, its bed and its device.
func comparedWith(of *gate.BaselineIdentity) string {
	var parts []string
	add := func(text, value string) {
		if value != "" {
			parts = append(parts, text+value)
		}
	}
	if of.Runs > 0 {
		parts = append(parts, fmt.Sprintf("compared with %s of %s", layout.Quantity(int64(of.Runs), "run"), of.Benchmark))
		if of.Time != nil {
			parts[0] += " up to " + day(*of.Time)
		}
	} else {
		parts = append(parts, "compared with "+of.Benchmark)
		if of.Time != nil {
			parts[0] += " of " + day(*of.Time)
		}
	}
	add("bed ", of.TestBed)
	add("", of.Device)
	if a := of.Accepted; a != nil {
		parts = append(parts, fmt.Sprintf("accepted by %s on %s: %s", a.User, day(a.Time), a.Reason))
	}
	return strings.Join(parts, ", ")
}

// rowsGrid has a line per row of all gates.
func (j judgedGates) rowsGrid() *layout.Grid {
	g := &layout.Grid{Keys: 2, Columns: []layout.Column{
		{Name: "gate", Left: true}, {Name: "of row", Left: true}, {Name: "value"}, {Heading: "passes", Name: "from"}, {Heading: "passes", Name: "to"}, {Name: "baseline"}, {Name: "verdict", Left: true, Verdict: true},
	}}
	for _, r := range j.list() {
		for _, row := range r.Rows {
			g.Rows = append(g.Rows, []string{
				r.Name, row.Name(), gate.Text(row.Value, r.Unit), gate.Text(row.Min, r.Unit), gate.Text(row.Max, r.Unit), gate.Text(row.Baseline, r.Unit), string(row.Verdict),
			})
		}
	}
	return g
}

// boundText is a bound as values of its unit are written: "20,000,000 frames/s" for 20M.
func boundText(bound v1alpha1.GateBound, unit string) string {
	if bound == "" {
		return ""
	}
	for _, u := range []gate.Unit{gate.PPM, gate.PPB, gate.Nanoseconds, gate.YesNo, gate.Number} {
		if u.String() != unit && (u != gate.Number || unit != gate.FramesPerSecond.String()) {
			continue
		}
		if n, err := u.Parse(bound); err == nil {
			return strings.Replace(gate.Text(&n, unit), ".000 ", " ", 1)
		}
	}
	return string(bound)
}

// notes returns the reasons why gates and rows did not pass. Each reason occurs once, with
// at most maxGateNotes reasons of rows for each gate.
func (j judgedGates) notes() []note {
	var notes []note
	for _, r := range j.list() {
		if r.Message != "" {
			notes = append(notes, note{r.Name, r.Message})
		}
		if r.Baseline != nil {
			notes = append(notes, note{r.Name, comparedWith(r.Baseline)})
		}
		var order []string
		rows := map[string][]string{}
		for _, verdict := range []v1alpha1.GateVerdict{v1alpha1.GateFailed, v1alpha1.GateInconclusive} {
			for _, row := range r.Rows {
				if row.Verdict != verdict {
					continue
				}
				text := strings.ToLower(string(verdict)) + ": " + row.Message
				if rows[text] == nil {
					order = append(order, text)
				}
				rows[text] = append(rows[text], row.Name())
			}
		}
		for i, text := range order {
			if i == maxGateNotes {
				notes = append(notes, note{r.Name, fmt.Sprintf("and %s", layout.Quantity(int64(len(order)-i), "more reason"))})
				break
			}
			name := rows[text][0]
			if more := len(rows[text]) - 1; more > 0 {
				name += " and " + layout.Quantity(int64(more), "more row")
			}
			notes = append(notes, note{r.Name, name + " " + text})
		}
	}
	return notes
}

// text is the part of the gates in the text; empty without gates.
func (j judgedGates) text(p layout.Paper) string {
	if j.verdicts == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nGates: %s\n\n%s", p.Verdict(string(j.verdicts.Verdict)), j.grid().On(p))
	for i, n := range j.notes() {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(p.Wrap(n.rows+": "+n.text, layout.Gap))
	}
	return b.String()
}

// markdown is the part of the gates in Markdown; empty without gates.
func (j judgedGates) markdown() string {
	if j.verdicts == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Gates: %s\n\n%s", j.verdicts.Verdict, gridMarkdown(j.grid()))
	for i, n := range j.notes() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s: %s\n", n.rows, plainMarkdown(n.text))
	}
	if rows := j.rowsGrid(); len(rows.Rows) > 0 {
		fmt.Fprintf(&b, "\n### Rows of the gates\n\n%s", gridMarkdown(rows))
	}
	return b.String()
}

// section is the part of the gates in HTML; nil without gates.
func (j judgedGates) section(simulated bool) *section {
	if j.verdicts == nil {
		return nil
	}
	s := &section{ID: "gates", Title: "Gates: " + string(j.verdicts.Verdict), Table: gridHTML(j.grid(), "Gates").withUnits()}
	marks := map[v1alpha1.GateVerdict]string{v1alpha1.GatePassed: "passed", v1alpha1.GateFailed: "failed", v1alpha1.GateInconclusive: "inconclusive"}
	if simulated {
		marks[v1alpha1.GatePassed] = "" // Nothing that was not measured is green.
	}
	for i, r := range j.list() {
		s.Table.Rows[i].Class = strings.TrimSpace(s.Table.Rows[i].Class + " " + marks[r.Verdict])
	}
	for _, n := range j.notes() {
		s.note(n)
	}
	rows := j.rowsGrid()
	if len(rows.Rows) == 0 {
		return s
	}
	table := furtherTable{Title: "Rows of the gates", Table: gridHTML(rows, "Rows of the gates").withUnits()}
	at := 0
	for _, r := range j.list() {
		for _, row := range r.Rows {
			table.Table.Rows[at].Class = strings.TrimSpace(table.Table.Rows[at].Class + " " + marks[row.Verdict])
			at++
		}
	}
	s.Parts = []furtherTable{table}
	return s
}

// suites are a suite per gate, with a case per row: one that failed is a failure, and one
// that is inconclusive is skipped, so that neither is taken for success.
func (j judgedGates) suites(benchmark Identity, empty junitSuite) []junitSuite {
	var all []junitSuite
	for _, r := range j.list() {
		s := empty.named("gate " + r.Name)
		class := classname(benchmark, "gates."+r.Name)
		if r.Message != "" {
			s.add(junitCase{Name: "all rows", Classname: class, Skipped: &junitReason{string(r.Reason), r.Message}}, 0)
		}
		for _, row := range r.Rows {
			c := junitCase{Name: caseName(row.RowID), Classname: class}
			c.Out = fmt.Sprintf("%s %s", r.Metric, gate.Text(row.Value, r.Unit))
			switch row.Verdict {
			case v1alpha1.GateFailed:
				c.Failure = &junitReason{string(row.Reason), r.Metric + " " + row.Message}
			case v1alpha1.GateInconclusive:
				c.Skipped = &junitReason{string(row.Reason), row.Message}
			}
			s.add(c, 0)
		}
		all = append(all, s)
	}
	return all
}

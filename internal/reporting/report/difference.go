package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

const readingDifferences = "Differences are those from the first variant, with their sign: a plus is more, a minus is less. " +
	"Mean and highest latency are listed separately: one may rise while the other falls. There is none where one of the two cannot be believed, " +
	"or where frames were lost, since the latency is then that of a full queue."

// differenceTable contains the differences of one variant from the first variant in one test.
type differenceTable []compare.Difference

// differenceTables divides the differences into those of one table each.
func differenceTables(differences []compare.Difference) []differenceTable {
	var all []differenceTable
	for i, one := range differences {
		if i == 0 || one.Test != differences[i-1].Test || one.Variant != differences[i-1].Variant {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], one)
	}
	return all
}

// title names the table: "Difference of fec-on from fec-off: test throughput".
func (t differenceTable) title() string {
	return fmt.Sprintf("Difference of %s from %s: test %s", t[0].Variant, t[0].Baseline, t[0].Test)
}

// grid has a line per row of the test. The columns of a method that measures
// something else stand in place of latency and jitter, as in its own table.
func (t differenceTable) grid() *layout.Grid {
	g := &layout.Grid{Columns: []layout.Column{{Heading: "frame", Name: "bytes"}}}
	withLoad := slices.ContainsFunc(t, func(d compare.Difference) bool { return d.Load != "" })
	withLoss := slices.ContainsFunc(t, func(d compare.Difference) bool { return d.LossRatioPPM > 0 })
	withServers := slices.ContainsFunc(t, func(d compare.Difference) bool { return d.Servers > 0 })
	withMessages := slices.ContainsFunc(t, func(d compare.Difference) bool { return d.MessageSize > 0 })
	searched := method.IsSearched(t[0].Method)
	own, _ := method.Describe(t[0].Method)
	measuresItself := len(own.Columns) > 0
	add := func(when bool, columns ...layout.Column) {
		if when {
			g.Columns = append(g.Columns, columns...)
		}
	}
	add(withServers, layout.Column{Name: "servers"})
	add(withMessages, layout.Column{Heading: "message", Name: "bytes"})
	add(withLoad, layout.Column{Name: "load", Left: true})
	add(withLoss, layout.Column{Name: "goal", Left: true})
	g.Keys = len(g.Columns)
	add(searched, layout.Column{Heading: "rate", Name: "frames/s"}, layout.Column{Heading: "rate", Name: "%"})
	for _, c := range own.Columns {
		add(measuresItself, layout.Column{Heading: c.Heading, Name: c.Name})
	}
	add(!measuresItself,
		layout.Column{Heading: "latency, us", Name: "min"}, layout.Column{Heading: "latency, us", Name: "avg"}, layout.Column{Heading: "latency, us", Name: "max"},
		layout.Column{Heading: "jitter, us", Name: "avg"}, layout.Column{Heading: "jitter, us", Name: "max"})
	for _, d := range t {
		cells := []string{sizeCell(d.FrameSize, d.FrameMix)}
		if withServers {
			cells = append(cells, strconv.Itoa(int(d.Servers)))
		}
		if withMessages {
			cells = append(cells, strconv.Itoa(int(d.MessageSize)))
		}
		if withLoad {
			cells = append(cells, string(d.Load))
		}
		if withLoss {
			cells = append(cells, goalOf(d.LossRatioPPM))
		}
		x := d.Deltas
		if searched {
			cells = append(cells, delta(x.FramesPerSecond, layout.Group), delta(x.FramesPerSecondPPM, inUnit(trials.PPM)))
		}
		if measuresItself {
			for i, c := range own.Columns {
				cells = append(cells, delta(d.Figures[i].Difference, inUnit(c.Unit)))
			}
		} else {
			for _, ns := range []*int64{x.LatencyMinNs, x.LatencyAvgNs, x.LatencyMaxNs, x.JitterAvgNs, x.JitterMaxNs} {
				cells = append(cells, delta(ns, layout.Micros))
			}
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// delta writes a difference with its sign, and one that is not known as a dash.
func delta(n *int64, write func(int64) string) string {
	if n == nil {
		return "-"
	}
	return signed(*n, write)
}

// notes returns the notes of all rows. Each note occurs once, with the names of its rows.
func (t differenceTable) notes() []note {
	var notes []note
	for _, d := range t {
		label := rowName(d.RowID)
		for _, text := range d.Notes {
			if i := slices.IndexFunc(notes, func(n note) bool { return n.text == text }); i >= 0 {
				notes[i].rows += ", " + label
			} else {
				notes = append(notes, note{label, text})
			}
		}
	}
	return notes
}

// differencesText returns the differences in the common form of text and Markdown. heading
// begins a table, and item writes a note.
func differencesText(differences []compare.Difference, heading string, write func(*layout.Grid) string, item func(note) string) string {
	var b strings.Builder
	for _, t := range differenceTables(differences) {
		fmt.Fprintf(&b, "\n%s%s\n\n%s", heading, t.title(), write(t.grid()))
		for i, n := range t.notes() {
			if i == 0 {
				b.WriteString("\n")
			}
			b.WriteString(item(n))
		}
	}
	return b.String()
}

// differenceSections are the tables of the report in HTML.
func differenceSections(differences []compare.Difference) []section {
	var all []section
	for i, t := range differenceTables(differences) {
		s := section{ID: fmt.Sprintf("difference-%d", i+1), Title: t.title(), Table: gridHTML(t.grid(), t.title())}
		for _, n := range t.notes() {
			s.note(n)
		}
		all = append(all, s)
	}
	return all
}

// deltasOf are the differences of a row; nil for rows of the first variant.
func deltasOf(differences []compare.Difference, row *v1alpha1.ResultRow) *compare.Difference {
	for i, x := range differences {
		if x.RowID == row.RowID {
			return &differences[i]
		}
	}
	return nil
}

// testName names a test and its variant in few words: "throughput (fec-on)".
func testName(test string, variant v1alpha1.VariantName) string {
	if variant == "" {
		return test
	}
	return fmt.Sprintf("%s (%s)", test, variant)
}

// variantOf names the variant of a row after its test: ", variant fec-on".
func variantOf(name v1alpha1.VariantName) string { return after(", variant ", string(name)) }

package report

import (
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// htmlTable is a grid for the template: headings over columns, and cells that
// know on which side they stand.
type htmlTable struct {
	Caption string
	// Upper is the line of headings; Lower has those that stand under one.
	Upper []htmlHeading
	Lower []htmlHeading
	Rows  []htmlRow
	// Short tables are not divided between two sheets of paper.
	Short bool
}

type htmlHeading struct {
	Text           string
	Columns, Lines int
	Class          string
}

type htmlRow struct {
	Cells []htmlCell
	// Class is doubtful for a validity that forbids to judge by the row, and begins
	// where the first column changes in a table of several rows each.
	Class string
}

type htmlCell struct {
	Text, Class string
	Header      bool
}

// units are written for people in HTML, and for any terminal elsewhere.
var htmlUnits = strings.NewReplacer(", us", ", µs", shareOfLine, shareOfLineRate)

var microsecondsInText = regexp.MustCompile(`(\d) us\b`)

// htmlText is a text of the report with its units as people write them.
func htmlText(text string) string { return microsecondsInText.ReplaceAllString(text, "$1 µs") }

func unitName(name string) string {
	if name == "us" {
		return "µs"
	}
	return htmlUnits.Replace(name)
}

// gridHTML lays the grid out with headings that span their columns. A heading of one
// column and its name become one.
func gridHTML(g *layout.Grid, caption string) htmlTable {
	t := htmlTable{Caption: caption, Short: len(g.Rows) <= 12}
	// The first column of a group, and a text, have classes of their own.
	classes := make([]string, len(g.Columns))
	for i := 0; i < len(g.Columns); i = g.End(i) {
		for j := i; j < g.End(i); j++ {
			classes[j] = classOf(g.Columns[j], j == i)
		}
		c := g.Columns[i]
		if columns := g.End(i) - i; columns > 1 {
			t.Upper = append(t.Upper, htmlHeading{htmlUnits.Replace(c.Heading), columns, 1, "group first"})
			for j := i; j < g.End(i); j++ {
				t.Lower = append(t.Lower, htmlHeading{unitName(g.Columns[j].Name), 1, 1, classes[j]})
			}
			continue
		}
		t.Upper = append(t.Upper, htmlHeading{strings.TrimSpace(c.Heading + " " + c.Name), 1, 2, classes[i]})
	}
	by := -1 // the column at whose changes rows begin
	if slices.ContainsFunc(g.Columns, func(c layout.Column) bool { return c.Name == "load" || c == ofFullLoadColumn }) {
		by = 0
	} else if i := slices.Index(g.Columns, rowColumn); i >= 0 {
		by = i
	}
	for n, row := range g.Rows {
		var r htmlRow
		if by >= 0 && n > 0 && row[by] != g.Rows[n-1][by] {
			r.Class = "begins"
		}
		for i, text := range row {
			switch {
			case strings.HasSuffix(text, ", us"):
				text = htmlUnits.Replace(text)
			case strings.HasPrefix(g.Columns[i].Name, shareOfLine) && len(text) > 1:
				text = strings.Replace(text, "-", "–", 1)
			case text == "-":
				text = "–"
			case len(text) > 1 && text[0] == '-' && !g.Columns[i].Left:
				text = "−" + text[1:]
			}
			r.Cells = append(r.Cells, htmlCell{text, classes[i], i == 0})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func classOf(c layout.Column, first bool) string {
	switch {
	case c.Left && first:
		return "left first"
	case c.Left:
		return "left"
	case first:
		return "first"
	}
	return ""
}

// withUnits writes the units in the cells of a table as people write them.
func (t htmlTable) withUnits() htmlTable {
	for i := range t.Rows {
		for j := range t.Rows[i].Cells {
			t.Rows[i].Cells[j].Text = htmlText(t.Rows[i].Cells[j].Text)
		}
	}
	return t
}

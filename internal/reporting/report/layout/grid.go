// Package layout lays out what reports show: tables of text, numbers with their units, and charts.
package layout

import "strings"

// Column of a grid. Columns with the same heading stand under it together.
type Column struct {
	Heading, Name string
	Left          bool
}

// Grid lays out text in columns, numbers to the right, words to the left.
type Grid struct {
	Columns []Column
	Rows    [][]string
}

// Gap separates the columns of a table.
const Gap = "  "

func (g *Grid) String() string {
	widths := make([]int, len(g.Columns))
	for i, c := range g.Columns {
		widths[i] = len(c.Name)
		for _, row := range g.Rows {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	// A heading that is wider than its columns widens the first of them.
	for i := 0; i < len(g.Columns); i = g.End(i) {
		if lack := len(g.Columns[i].Heading) - g.width(widths, i); lack > 0 {
			widths[i] += lack
		}
	}
	var b strings.Builder
	var headings []string
	for i := 0; i < len(g.Columns); i = g.End(i) {
		headings = append(headings, Pad(g.Columns[i].Heading, g.width(widths, i), g.Columns[i].Left))
	}
	line(&b, headings)
	names := make([]string, len(g.Columns))
	for i, c := range g.Columns {
		names[i] = Pad(c.Name, widths[i], c.Left)
	}
	line(&b, names)
	for _, row := range g.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Pad(cell, widths[i], g.Columns[i].Left)
		}
		line(&b, cells)
	}
	return b.String()
}

// End returns the first column after those that share the heading of column i.
func (g *Grid) End(i int) int {
	j := i + 1
	for j < len(g.Columns) && g.Columns[i].Heading != "" && g.Columns[j].Heading == g.Columns[i].Heading {
		j++
	}
	return j
}

func (g *Grid) width(widths []int, i int) int {
	width := 0
	for j := i; j < g.End(i); j++ {
		width += widths[j] + len(Gap)
	}
	return width - len(Gap)
}

// Pad fills a text with spaces up to a width. The text stands at the left or at the right.
func Pad(text string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-len(text)))
	if left {
		return text + fill
	}
	return fill + text
}

func line(b *strings.Builder, cells []string) {
	text := strings.TrimRight(Gap+strings.Join(cells, Gap), " ")
	if text != "" {
		b.WriteString(text + "\n")
	}
}

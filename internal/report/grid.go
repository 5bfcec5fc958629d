package report

import "strings"

// column of a grid. Columns with the same heading stand under it together.
type column struct {
	heading, name string
	left          bool
}

// grid lays out text in columns, numbers to the right, words to the left.
type grid struct {
	columns []column
	rows    [][]string
}

const gap = "  "

func (g *grid) String() string {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = len(c.name)
		for _, row := range g.rows {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	// A heading that is wider than its columns widens the first of them.
	for i := 0; i < len(g.columns); i = g.end(i) {
		if lack := len(g.columns[i].heading) - g.width(widths, i); lack > 0 {
			widths[i] += lack
		}
	}
	var b strings.Builder
	var headings []string
	for i := 0; i < len(g.columns); i = g.end(i) {
		headings = append(headings, pad(g.columns[i].heading, g.width(widths, i), g.columns[i].left))
	}
	line(&b, headings)
	names := make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i] = pad(c.name, widths[i], c.left)
	}
	line(&b, names)
	for _, row := range g.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = pad(cell, widths[i], g.columns[i].left)
		}
		line(&b, cells)
	}
	return b.String()
}

// end returns the first column after those that share the heading of column i.
func (g *grid) end(i int) int {
	j := i + 1
	for j < len(g.columns) && g.columns[i].heading != "" && g.columns[j].heading == g.columns[i].heading {
		j++
	}
	return j
}

func (g *grid) width(widths []int, i int) int {
	width := 0
	for j := i; j < g.end(i); j++ {
		width += widths[j] + len(gap)
	}
	return width - len(gap)
}

func pad(text string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-len(text)))
	if left {
		return text + fill
	}
	return fill + text
}

func line(b *strings.Builder, cells []string) {
	text := strings.TrimRight(gap+strings.Join(cells, gap), " ")
	if text != "" {
		b.WriteString(text + "\n")
	}
}

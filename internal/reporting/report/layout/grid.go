// Package layout lays out what reports show: tables of text, numbers with their units, and charts.
package layout

import (
	"slices"
	"strings"
)

// Column of a grid. Columns with the same heading stand under it together.
type Column struct {
	Heading, Name string
	Left          bool
	// Verdict colors the words of the column on a terminal.
	Verdict bool
	// Drop is the order in which columns are left out of a table that is wider than the terminal: 1 is
	// left out first. Columns with 0 stay.
	Drop int
}

// Grid lays out text in columns, numbers to the right, words to the left.
type Grid struct {
	Columns []Column
	Rows    [][]string
	// Keys is the number of the first columns that name a row: each part of a table that is folded
	// begins with them. 0 is one.
	Keys int
	// Flush lists objects as kubectl does: from the first column of the terminal, with wider gaps.
	Flush bool
}

// Gap separates the columns of a table.
const Gap = "  "

// minColumn is the width down to which columns are narrowed first, and the least rest of a line for text.
const minColumn = 8

// String returns the grid with all its columns, whatever their width.
func (g *Grid) String() string { return g.On(Paper{}) }

// On returns the grid for a paper. Where it is wider than the terminal, columns with an order of
// dropping are left out until it fits; other tables are folded: further columns are below, after
// the columns that name the row. What is still too wide is continued in further lines.
func (g *Grid) On(p Paper) string {
	all := make([]int, len(g.Columns))
	for i := range all {
		all[i] = i
	}
	if p.Width <= 0 || g.total(g.widths(all, 0)) <= p.Width {
		return g.block(all, g.widths(all, 0), p)
	}
	if slices.ContainsFunc(g.Columns, func(c Column) bool { return c.Drop > 0 }) {
		shown := g.dropped(all, p.Width)
		return g.block(shown, g.narrowed(g.widths(shown, 0), p.Width), p)
	}
	var parts []string
	for _, shown := range g.folded(p.Width) {
		parts = append(parts, g.block(shown, g.narrowed(g.widths(shown, p.Width), p.Width), p))
	}
	return strings.Join(parts, "\n")
}

// textColumn is the least width of the last column of a table in which columns are left out.
const textColumn = 24

// dropped leaves columns out, in their order, until the others fit into a width. The text in the last
// column may be continued in further lines.
func (g *Grid) dropped(shown []int, width int) []int {
	shown = slices.Clone(shown)
	for {
		widths := g.widths(shown, 0)
		if last := len(widths) - 1; g.Columns[shown[last]].Left {
			widths[last] = min(widths[last], textColumn)
		}
		if g.total(widths) <= width {
			return shown
		}
		first := -1
		for i, column := range shown {
			if d := g.Columns[column].Drop; d > 0 && (first < 0 || d < g.Columns[shown[first]].Drop) {
				first = i
			}
		}
		if first < 0 {
			return shown
		}
		shown = slices.Delete(shown, first, first+1)
	}
}

// folded divides the columns into parts that fit into a width. Columns with a common heading stay
// together if they fit.
func (g *Grid) folded(width int) [][]int {
	keys := make([]int, min(max(1, g.Keys), len(g.Columns)))
	for i := range keys {
		keys[i] = i
	}
	fits := func(shown []int) bool { return g.total(g.widths(shown, width)) <= width }
	var parts [][]int
	part := slices.Clone(keys)
	add := func(columns []int) {
		if len(part) > len(keys) && !fits(append(slices.Clone(part), columns...)) {
			parts, part = append(parts, part), slices.Clone(keys)
		}
		part = append(part, columns...)
	}
	for i := len(keys); i < len(g.Columns); i = g.End(i) {
		var columns []int
		for j := i; j < g.End(i); j++ {
			columns = append(columns, j)
		}
		if fits(append(slices.Clone(keys), columns...)) {
			add(columns)
			continue
		}
		for _, column := range columns {
			add([]int{column})
		}
	}
	return append(parts, part)
}

// gap and indent of the grid.
func (g *Grid) gap() string {
	if g.Flush {
		return Gap + " "
	}
	return Gap
}

func (g *Grid) indent() string {
	if g.Flush {
		return ""
	}
	return Gap
}

// widths of some columns as their texts need them. With a width of the terminal, columns that name
// the row have at most half of it.
func (g *Grid) widths(shown []int, width int) []int {
	widths := make([]int, len(shown))
	for i, column := range shown {
		widths[i] = length(g.Columns[column].Name)
		for _, row := range g.Rows {
			widths[i] = max(widths[i], length(row[column]))
		}
	}
	if keys := min(max(1, g.Keys), len(shown)); width > 0 && g.total(widths[:keys]) > width/2 {
		copy(widths, g.narrowed(slices.Clone(widths[:keys]), width/2))
	}
	// A heading that is wider than its columns widens the first of them.
	for i := 0; i < len(shown); i = g.end(shown, i) {
		if lack := length(g.Columns[shown[i]].Heading) - g.across(shown, widths, i); lack > 0 {
			widths[i] += lack
		}
	}
	return widths
}

// total is the length of a line with columns of these widths.
func (g *Grid) total(widths []int) int {
	total := length(g.indent()) + length(g.gap())*(len(widths)-1)
	for _, w := range widths {
		total += w
	}
	return total
}

// narrowed makes the widest columns narrower until a line fits into a width.
func (g *Grid) narrowed(widths []int, width int) []int {
	for total := g.total(widths); total > width; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 1 {
			break
		}
		widths[widest]--
	}
	return widths
}

// block writes some columns with their widths.
func (g *Grid) block(shown, widths []int, p Paper) string {
	var b strings.Builder
	var headings []cell
	for i := 0; i < len(shown); i = g.end(shown, i) {
		c := g.Columns[shown[i]]
		headings = append(headings, cell{c.Heading, g.across(shown, widths, i), c.Left, false})
	}
	g.line(&b, headings, p)
	row := func(text func(column int) string, verdicts bool) {
		cells := make([]cell, len(shown))
		for i, column := range shown {
			c := g.Columns[column]
			cells[i] = cell{text(column), widths[i], c.Left, verdicts && c.Verdict}
		}
		g.line(&b, cells, p)
	}
	row(func(column int) string { return g.Columns[column].Name }, false)
	for _, cells := range g.Rows {
		row(func(column int) string { return cells[column] }, true)
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

// end is End for some of the columns.
func (g *Grid) end(shown []int, i int) int {
	heading := g.Columns[shown[i]].Heading
	j := i + 1
	for j < len(shown) && heading != "" && g.Columns[shown[j]].Heading == heading {
		j++
	}
	return j
}

// across is the width of the columns that share the heading of column i.
func (g *Grid) across(shown, widths []int, i int) int {
	width := 0
	for j := i; j < g.end(shown, i); j++ {
		width += widths[j] + length(g.gap())
	}
	return width - length(g.gap())
}

// Pad fills a text with spaces up to a width. The text stands at the left or at the right.
func Pad(text string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-length(text)))
	if left {
		return text + fill
	}
	return fill + text
}

// cell is a text with the width of its column.
type cell struct {
	text    string
	width   int
	left    bool
	verdict bool
}

// parts breaks the text of a cell that is wider than its column.
func (c cell) parts() []string {
	if length(c.text) <= c.width {
		return []string{c.text}
	}
	var parts []string
	current := ""
	for _, word := range strings.Fields(c.text) {
		switch {
		case current == "":
		case length(current)+1+length(word) <= c.width:
			current += " "
		default:
			parts, current = append(parts, current), ""
		}
		for length(current)+length(word) > c.width {
			head := string([]rune(word)[:c.width])
			parts, word = append(parts, head), word[len(head):]
		}
		current += word
	}
	return append(parts, current)
}

// line writes cells next to each other, and continues below where they are too long.
func (g *Grid) line(b *strings.Builder, cells []cell, p Paper) {
	lines := 1
	parts := make([][]string, len(cells))
	for i, c := range cells {
		parts[i] = c.parts()
		lines = max(lines, len(parts[i]))
	}
	for n := range lines {
		text, spaces := "", g.indent()
		for i, c := range cells {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			fill := strings.Repeat(" ", max(0, c.width-length(part)))
			if !c.left {
				spaces += fill
			}
			if part != "" {
				text += spaces
				spaces = ""
				if c.verdict {
					text += p.tint(c.text, part)
				} else {
					text += part
				}
			}
			if c.left {
				spaces += fill
			}
			spaces += g.gap()
		}
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
}

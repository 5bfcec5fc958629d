package doctor

import (
	"strings"
)

// Widths of the table's columns; with the gaps it is 120 wide.
const (
	checkWidth  = 20
	levelWidth  = 7
	seenWidth   = 38
	adviceWidth = 120 - 4*len(gap) - checkWidth - levelWidth - seenWidth
	gap         = "  "
)

// Text is the report for people: a table for each engine, with the cluster first
// and then its nodes, and a line for each engine at the end.
func (r Report) Text() string {
	var b strings.Builder
	for i, s := range r.Engines {
		if i > 0 {
			b.WriteString("\n")
		}
		r.table(&b, s.Engine)
	}
	b.WriteString("\n")
	for _, s := range r.Engines {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

func (r Report) table(b *strings.Builder, e Engine) {
	b.WriteString("Engine " + e.Title() + "\n")
	row(b, "CHECK", "STATE", "SEEN", "WHAT TO DO")
	node := ""
	for _, f := range r.Findings {
		if f.Engine != e {
			continue
		}
		if f.Node != node {
			node = f.Node
			b.WriteString(gap + "on " + node + "\n")
		}
		row(b, f.Check, string(f.Level), f.Seen, f.Advice)
	}
}

// row writes cells beside each other, and goes on below where they are too long.
func row(b *strings.Builder, check, level, seen, advice string) {
	columns := [][]string{{check}, {level}, wrap(seen, seenWidth), wrap(advice, adviceWidth)}
	widths := []int{checkWidth, levelWidth, seenWidth, adviceWidth}
	for i := range max(len(columns[2]), len(columns[3]), 1) {
		var line strings.Builder
		for j, lines := range columns {
			cell := ""
			if i < len(lines) {
				cell = lines[i]
			}
			line.WriteString(gap + cell + strings.Repeat(" ", max(0, widths[j]-len(cell))))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrap breaks a text between words, and words that are wider than the column.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for len(line) > width {
			lines = append(lines, line[:width])
			line = line[width:]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

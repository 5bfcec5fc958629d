package doctor

import (
	"cmp"
	"slices"
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

// width of the whole.
const width = 4*len(gap) + checkWidth + levelWidth + seenWidth + adviceWidth

// Text is the report for people: a table of what several engines need, one for each
// engine with the rest, each with the cluster first and then its nodes, and a line for
// each engine at the end.
func (r Report) Text() string {
	shared, own := r.split()
	var b strings.Builder
	table(&b, "What several engines need", shared)
	for _, s := range r.Engines {
		table(&b, s.Engine.heading(), own[s.Engine])
	}
	for _, s := range r.Engines {
		for i, line := range wrap(s.String(), width-len(gap)) {
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// split separates the findings that several engines share, each once, from those of one
// engine.
func (r Report) split() (shared []Finding, own map[Engine][]Finding) {
	type place struct{ node, check string }
	same := map[place][]Finding{}
	for _, f := range r.Findings {
		at := place{f.Node, f.Check}
		f.Engine = ""
		same[at] = append(same[at], f)
	}
	nodes := []string{""} // the cluster
	own = map[Engine][]Finding{}
	for _, f := range r.Findings {
		all := same[place{f.Node, f.Check}]
		if len(all) < 2 || slices.ContainsFunc(all, func(g Finding) bool { return g != all[0] }) {
			own[f.Engine] = append(own[f.Engine], f)
			continue
		}
		if !slices.Contains(shared, all[0]) {
			shared = append(shared, all[0])
		}
		if !slices.Contains(nodes, f.Node) {
			nodes = append(nodes, f.Node)
		}
	}
	slices.SortStableFunc(shared, func(f, g Finding) int {
		return cmp.Compare(slices.Index(nodes, f.Node), slices.Index(nodes, g.Node))
	})
	return shared, own
}

// table of findings, none of which is no table.
func table(b *strings.Builder, title string, findings []Finding) {
	if len(findings) == 0 {
		return
	}
	b.WriteString(title + "\n")
	row(b, "CHECK", "STATE", "SEEN", "WHAT TO DO")
	node := ""
	for _, f := range findings {
		if f.Node != node {
			node = f.Node
			b.WriteString(gap + "on " + node + "\n")
		}
		row(b, f.Check, string(f.Level), f.Seen, f.Advice)
	}
	b.WriteString("\n")
}

// row writes cells next to each other, and continues below where they are too long.
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

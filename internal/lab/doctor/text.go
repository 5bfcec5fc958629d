package doctor

import (
	"cmp"
	"slices"
	"strings"
)

// Widths of the table: fullWidth is the whole, and seenWidth the column of what was seen in it.
const (
	fullWidth  = 120
	checkWidth = 20
	levelWidth = 7
	seenWidth  = 38
	gap        = "  "
)

// paper contains a text for so many columns, with a function that colors verdicts.
type paper struct {
	strings.Builder
	width, seen, advice int
	verdict             func(string) string
}

// Text is the report for people: a table of what several engines need, one for each
// engine with the rest, each with the cluster first and then its nodes, and a line for
// each engine at the end.
func (r Report) Text() string { return r.TextOn(0, func(word string) string { return word }) }

// TextOn is Text for a terminal of a width, with a function that colors verdicts. The widest form has 120
// columns, and 0 is that one.
func (r Report) TextOn(width int, verdict func(string) string) string {
	shared, own := r.split()
	if width <= 0 || width > fullWidth {
		width = fullWidth
	}
	const fixed = 4*len(gap) + checkWidth + levelWidth
	least := max(width-fixed, 16)
	b := paper{width: width, seen: least * seenWidth / (fullWidth - fixed), verdict: verdict}
	b.advice = least - b.seen
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
func table(b *paper, title string, findings []Finding) {
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
func row(b *paper, check, level, seen, advice string) {
	columns := [][]string{{check}, {level}, wrap(seen, b.seen), wrap(advice, b.advice)}
	widths := []int{checkWidth, levelWidth, b.seen, b.advice}
	for i := range max(len(columns[2]), len(columns[3]), 1) {
		var line strings.Builder
		for j, lines := range columns {
			cell := ""
			if i < len(lines) {
				cell = lines[i]
			}
			line.WriteString(gap + cell + strings.Repeat(" ", max(0, widths[j]-len(cell))))
		}
		text := strings.TrimRight(line.String(), " ")
		if i == 0 {
			text = strings.Replace(text, gap+level, gap+b.verdict(level), 1)
		}
		b.WriteString(text + "\n")
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

package main

import (
	"fmt"
	"strings"
)

// table has a line per kernel or card, and a column per check.
type table struct {
	// of names the kind of the lines: kernels or cards.
	of     string
	checks []check
	lines  []line
}

// line of a table.
type line struct {
	title string
	// cells by the name of the check; checks that did not run have none.
	cells map[string]cell
}

// markdown returns the table, with the messages of refused and failed cells below it.
func (t table) markdown() string {
	var b, notes strings.Builder
	b.WriteString("| " + t.of + " |")
	for _, c := range t.checks {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(t.checks)) + "\n")
	n := 0
	for _, l := range t.lines {
		b.WriteString("| " + l.title + " |")
		for _, c := range t.checks {
			cell, ran := l.cells[c.name]
			switch {
			case !ran:
				b.WriteString(" not run |")
			case cell.outcome == passed:
				b.WriteString(" passed |")
			default:
				n++
				word, _, _ := strings.Cut(cell.String(), ":")
				fmt.Fprintf(&b, " %s (%d) |", word, n)
				fmt.Fprintf(&notes, "%d. %s, %s: %s\n", n, l.title, c.title, cell)
			}
		}
		b.WriteString("\n")
	}
	if notes.Len() > 0 {
		b.WriteString("\n" + notes.String())
	}
	return b.String()
}

// explained returns a list of what the checks do.
func explained(checks []check) string {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "- *%s*: %s\n", c.title, c.what)
	}
	return b.String()
}

// replaceBetween replaces the part of a page between two marks.
func replaceBetween(page, name, text string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, ok := strings.Cut(page, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("the page has no %q and %q", strings.TrimSpace(begin), end)
	}
	return head + begin + "\n" + text + "\n" + end + tail, nil
}

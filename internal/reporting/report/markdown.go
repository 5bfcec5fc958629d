package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// markdown is the report for wikis and pull requests: GitHub's tables.
func (d *Document) markdown() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark %s/%s: %s\n", d.Benchmark.Namespace, d.Benchmark.Name, d.Phase)
	if d.simulated() {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> **%s**\n", simulatedBanner)
	}
	if d.Message != "" {
		fmt.Fprintf(&b, "\n%s\n", plainMarkdown(d.Message))
	}
	for _, text := range furtherNotes(d.Notes) {
		fmt.Fprintf(&b, "\n> **Note:** %s\n", plainMarkdown(text))
	}
	b.WriteString(d.judged().markdown())
	unit := layout.UnitFor(highestBitRate(d.Rows))
	for _, test := range d.byTest() {
		fmt.Fprintf(&b, "\n## Test %s\n\n%s\n\n", test.name(), test.purpose())
		b.WriteString(gridMarkdown(test.table(unit)))
		for i, n := range tableNotes(test.rows) {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "- %s: %s\n", n.rows, plainMarkdown(n.text))
		}
		for _, t := range test.furtherTables() {
			fmt.Fprintf(&b, "\n### %s\n\n%s", t.title, gridMarkdown(t.grid))
		}
		if g := test.percentiles(); g != nil {
			fmt.Fprintf(&b, "\n### %s\n\n%s", percentilesTitle, gridMarkdown(g))
		}
		for _, t := range test.jitterByLoad() {
			fmt.Fprintf(&b, "\n### %s\n\n%s", t.title, gridMarkdown(t.grid))
			if t.caption != "" {
				fmt.Fprintf(&b, "\n%s\n", t.caption)
			}
		}
	}
	if len(d.Rows) == 0 {
		b.WriteString("\nNo row was measured.\n")
	}
	if len(d.Differences) > 0 {
		b.WriteString(differencesText(d.Differences, "## ", gridMarkdown, func(n note) string { return fmt.Sprintf("- %s: %s\n", n.rows, plainMarkdown(n.text)) }))
		b.WriteString("\n" + readingDifferences + "\n")
	}
	b.WriteString("\n## Validity\n\n")
	for _, v := range validities {
		fmt.Fprintf(&b, "- **%s**: %s\n", v.validity, v.meaning)
	}
	b.WriteString("\n## Method and test bed\n\n| | |\n|---|---|\n")
	for _, e := range d.appendix().merged() {
		var texts []string
		for _, text := range e.texts {
			texts = append(texts, cellMarkdown(text))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", e.name, strings.Join(texts, "<br>"))
	}
	return []byte(b.String()), nil
}

// gridMarkdown writes a grid with one line of headings.
func gridMarkdown(g *layout.Grid) string {
	var b strings.Builder
	var names, rules []string
	for i, c := range g.Columns {
		names = append(names, cellMarkdown(markdownName(g, i)))
		rule := "---:"
		if c.Left {
			rule = "---"
		}
		rules = append(rules, rule)
	}
	fmt.Fprintf(&b, "| %s |\n| %s |\n", strings.Join(names, " | "), strings.Join(rules, " | "))
	for _, row := range g.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cellMarkdown(cell)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// markdownName joins heading and name: "latency min, us".
func markdownName(g *layout.Grid, i int) string {
	c := g.Columns[i]
	switch c.Heading {
	case "":
		return c.Name
	case ratesHeading, receiversHeading:
		return strings.TrimSuffix(c.Heading, ", all ports") + " " + strings.Replace(c.Name, shareOfLine, shareOfLineRate, 1)
	}
	if subject, unit, ok := strings.Cut(c.Heading, ", "); ok {
		return fmt.Sprintf("%s %s, %s", subject, c.Name, unit)
	}
	return strings.TrimSpace(c.Heading + " " + c.Name)
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

// plainMarkdown keeps text from being read as markup.
func plainMarkdown(text string) string { return markdownEscapes.Replace(text) }

func cellMarkdown(text string) string { return strings.ReplaceAll(plainMarkdown(text), "|", `\|`) }

package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

const readingComparison = "Differences are from the baseline. Equal ranks (=) are ties; throughputs tie when they are closer than " +
	"the resolution of the search, other figures when they are equal, and figures of repeated tests when the difference is not significant (95%). N/A has no rank. A score is the sum of the ranks over the rows " +
	"in which all have one; firsts counts the first places in them."

// Text is the comparison for people.
func (c *Comparison) Text() string { return c.on(layout.Paper{}) }

// on is the text for a terminal, or for a file.
func (c *Comparison) on(p layout.Paper) string {
	var b strings.Builder
	b.WriteString(p.Title("Comparison of " + c.names()))
	if c.banner != "" {
		b.WriteString(p.Frame(c.banner))
	}
	a := &entries{}
	for i, r := range c.Results {
		name := r.Name
		if i == 0 {
			name += " (baseline)"
		}
		a.add(name, c.subject(i))
	}
	narrower := p
	narrower.Width = max(0, p.Width-len(layout.Gap))
	for text := range strings.Lines(a.on(narrower)) {
		b.WriteString(layout.Gap + text)
	}
	for _, text := range c.Notes {
		b.WriteString(p.Wrap("Note: "+text, layout.Gap))
	}
	if len(c.Scores) == 0 {
		b.WriteString("\n  There is no row to compare.\n")
		return b.String()
	}
	b.WriteString("\nScore\n\n" + c.scoreGrid().On(p))
	for _, lines := range c.tables() {
		fmt.Fprintf(&b, "\n%s\n%s\n%s", p.Title(tableTitle(lines)), p.Wrap(c.sentence(lines), layout.Gap), c.lineGrid(lines).On(p))
		for i, n := range c.notes(lines) {
			if i == 0 {
				b.WriteString("\n")
			}
			b.WriteString(p.Wrap(n.rows+": "+n.text, layout.Gap))
		}
	}
	b.WriteString("\n" + p.Wrap(readingComparison, ""))
	return b.String()
}

func (c *Comparison) names() string {
	var names []string
	for _, r := range c.Results {
		names = append(names, r.Name)
	}
	return listed(names)
}

// listed joins names: "a, b and c".
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (c *Comparison) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Comparison of %s\n\n", plainMarkdown(c.names()))
	if c.banner != "" {
		fmt.Fprintf(&b, "> [!WARNING]\n> **%s**\n\n", plainMarkdown(c.banner))
	}
	for i, r := range c.Results {
		baseline := ""
		if i == 0 {
			baseline = " (baseline)"
		}
		fmt.Fprintf(&b, "- **%s**%s: %s\n", plainMarkdown(r.Name), baseline, plainMarkdown(c.subject(i)))
	}
	for _, text := range c.Notes {
		fmt.Fprintf(&b, "\n> **Note:** %s\n", plainMarkdown(text))
	}
	if len(c.Scores) == 0 {
		b.WriteString("\nThere is no row to compare.\n")
		return b.String()
	}
	b.WriteString("\n## Score\n\n" + gridMarkdown(c.scoreGrid()))
	for _, lines := range c.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", tableTitle(lines), plainMarkdown(c.sentence(lines)), gridMarkdown(c.lineGrid(lines)))
		for i, n := range c.notes(lines) {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "- %s: %s\n", n.rows, plainMarkdown(n.text))
		}
	}
	b.WriteString("\n" + readingComparison + "\n")
	return b.String()
}

// maxComparedSentences is the maximum number of sentences at the head of a comparison.
const maxComparedSentences = 3

type comparisonPage struct {
	page
	Subjects []htmlEntry
	Score    htmlTable
	Sections []section
	Reading  string
}

// html is the comparison in one file, with the look of a report.
func (c *Comparison) html() ([]byte, error) {
	p := comparisonPage{
		page: page{Kicker: "Comparison", Title: c.names(), Subtitle: "Differences are from the baseline, " + c.Results[0].Name,
			Running: "NoDrop · comparison of " + c.names(), Banner: c.banner, Links: c.Links},
		Reading: readingComparison,
	}
	if c.banner != "" {
		p.Running = "SIMULATED · " + p.Running
	}
	for i, r := range c.Results {
		name := r.Name
		if i == 0 {
			name += " (baseline)"
		}
		p.Subjects = append(p.Subjects, htmlEntry{name, []string{c.subject(i)}})
	}
	for _, text := range c.Notes {
		p.Notes = append(p.Notes, foldPorts(htmlText(sentence(text))))
	}
	if len(c.Scores) > 0 {
		p.Score = gridHTML(c.scoreGrid(), "Score")
	}
	for i, lines := range c.tables() {
		title := tableTitle(lines)
		s := section{ID: fmt.Sprintf("table-%d", i+1), Title: title, Table: gridHTML(c.lineGrid(lines), title), Sentence: c.sentence(lines)}
		if chart := c.chart(s.ID+"-chart", lines); chart != nil {
			s.Charts = []*layout.Chart{chart}
		}
		p.Contents = append(p.Contents, Link{title, "#" + s.ID})
		for _, n := range c.notes(lines) {
			s.note(n)
		}
		p.Sections = append(p.Sections, s)
		if len(p.Summary) < maxComparedSentences {
			p.Summary = append(p.Summary, sentence(metricTexts[lines[0].Metric].name)+" in test "+testName(lines[0].Test, lines[0].Variant)+": "+s.Sentence)
		}
	}
	return render("comparison", p)
}

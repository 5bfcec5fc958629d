package report

import "fmt"

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
			Running: "NoDrop · comparison of " + c.names(), Banner: c.banner},
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
		p.Notes = append(p.Notes, sentence(text))
	}
	if len(c.Scores) > 0 {
		p.Score = c.scoreGrid().html("Score")
	}
	for i, lines := range c.tables() {
		title := tableTitle(lines)
		s := section{ID: fmt.Sprintf("table-%d", i+1), Title: title, Table: c.lineGrid(lines).html(title)}
		for _, n := range c.notes(lines) {
			s.note(n)
		}
		p.Sections = append(p.Sections, s)
	}
	return render("comparison", p)
}

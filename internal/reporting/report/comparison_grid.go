package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

const notApplicable = "N/A"

// metricTexts contains the name, unit, better direction and value format of each metric.
var metricTexts = map[compare.Metric]struct {
	name, unit, better string
	value              func(int64) string
}{
	compare.Throughput: {"throughput", "frames/s", "more is better", layout.Group},
	compare.LatencyAvg: {"average latency", "us", "less is better", layout.Micros},
	compare.LatencyMax: {"maximum latency", "us", "less is better", layout.Micros},
	compare.Goodput:    {"goodput", "Mbit/s", "more is better", func(bits int64) string { return layout.Fixed(bits, 1_000_000, 1) }},
	compare.FrameLoss:  {"frame loss", "%", "less is better", func(ppb int64) string { return layout.Fixed(ppb, 10_000_000, 7) }},
}

// signed writes a difference with its sign; 0 has none.
func signed(n int64, write func(int64) string) string {
	switch {
	case n > 0:
		return "+" + write(n)
	case n < 0:
		return "-" + write(-n)
	}
	return write(0)
}

// percent writes parts per million of the baseline as a signed percentage.
func percent(ppm int64) string {
	return signed(ppm, func(n int64) string { return layout.Fixed(n, 10_000, 2) })
}

// ratioText is the value of a result over the one of the baseline: "8.30".
func ratioText(c compare.Cell) string {
	if c.DifferencePPM == nil {
		return "-"
	}
	return layout.Fixed(v1alpha1.PPM+*c.DifferencePPM, v1alpha1.PPM, 2)
}

func rankText(rank int32, tied bool) string {
	switch {
	case rank == 0:
		return notApplicable
	case tied:
		return fmt.Sprintf("%d=", rank)
	}
	return fmt.Sprint(rank)
}

func (c *Comparison) winner(winners []string) string {
	switch len(winners) {
	case 0:
		return "-"
	case 1:
		return winners[0]
	case len(c.Results):
		return "tie"
	}
	return "tie: " + strings.Join(winners, ", ")
}

// scoreGrid has a line per test and metric.
func (c *Comparison) scoreGrid() *layout.Grid {
	g := &layout.Grid{Keys: 2, Columns: []layout.Column{{Name: "test", Left: true}, {Name: "metric", Left: true}}}
	for _, r := range c.Results {
		g.Columns = append(g.Columns, layout.Column{Heading: r.Name, Name: "rank"}, layout.Column{Heading: r.Name, Name: "firsts"})
	}
	g.Columns = append(g.Columns, layout.Column{Heading: "rows", Name: "counted"}, layout.Column{Name: "winner", Left: true})
	for _, s := range c.Scores {
		cells := []string{testName(s.Test, s.Variant), metricTexts[s.Metric].name}
		for _, p := range s.Places {
			firsts := "-"
			if p.Rank > 0 {
				firsts = fmt.Sprint(p.Firsts)
			}
			cells = append(cells, rankText(p.Rank, p.Tied), firsts)
		}
		cells = append(cells, fmt.Sprintf("%d of %d", s.LinesCounted, s.LinesTotal), c.winner(s.Winners))
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// comparedLines are the lines of one test and metric.
type comparedLines []compare.Line

// tables divides the lines into those of one table each.
func (c *Comparison) tables() []comparedLines {
	var all []comparedLines
	for i, l := range c.Lines {
		if i == 0 || l.Test != c.Lines[i-1].Test || l.Variant != c.Lines[i-1].Variant || l.Metric != c.Lines[i-1].Metric {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], l)
	}
	return all
}

// lineGrid has the values of every result with its rank, and for all but the
// baseline the difference.
func (c *Comparison) lineGrid(lines comparedLines) *layout.Grid {
	text := metricTexts[lines[0].Metric]
	g := &layout.Grid{Columns: []layout.Column{{Heading: "frame", Name: "bytes"}}}
	withLoad := slices.ContainsFunc(lines, func(l compare.Line) bool { return l.Load != "" })
	withServers := slices.ContainsFunc(lines, func(l compare.Line) bool { return l.Servers > 0 })
	if withServers {
		g.Columns = append(g.Columns, layout.Column{Name: "servers"})
	}
	withMessages := slices.ContainsFunc(lines, func(l compare.Line) bool { return l.MessageSize > 0 })
	if withMessages {
		g.Columns = append(g.Columns, layout.Column{Heading: "message", Name: "bytes"})
	}
	if withLoad {
		g.Columns = append(g.Columns, layout.Column{Name: "load", Left: true})
	}
	withLoss := slices.ContainsFunc(lines, func(l compare.Line) bool { return l.LossRatioPPM > 0 })
	if withLoss {
		g.Columns = append(g.Columns, layout.Column{Name: "goal", Left: true})
	}
	g.Keys = len(g.Columns)
	for i, r := range c.Results {
		g.Columns = append(g.Columns, layout.Column{Heading: r.Name, Name: text.unit}, layout.Column{Heading: r.Name, Name: "rank"})
		if i > 0 {
			difference := "change, " + text.unit
			if text.unit == "%" {
				// The share of lost frames is a percentage, and so is its relative change.
				difference = "change"
			}
			g.Columns = append(g.Columns, layout.Column{Heading: r.Name, Name: difference}, layout.Column{Heading: r.Name, Name: "change, %"})
		}
		if i > 0 && lines[0].Metric == compare.Goodput {
			g.Columns = append(g.Columns, layout.Column{Heading: r.Name, Name: "ratio"})
		}
	}
	g.Columns = append(g.Columns, layout.Column{Name: "winner", Left: true})
	for _, l := range lines {
		cells := []string{sizeCell(l.FrameSize, l.FrameMix)}
		if withServers {
			cells = append(cells, strconv.Itoa(int(l.Servers)))
		}
		if withMessages {
			cells = append(cells, strconv.Itoa(int(l.MessageSize)))
		}
		if withLoad {
			cells = append(cells, string(l.Load))
		}
		if withLoss {
			cells = append(cells, goalOf(l.LossRatioPPM))
		}
		for i, cell := range l.Cells {
			value, difference, share := "-", "-", "-"
			if cell.Value != nil {
				value = text.value(*cell.Value)
			}
			cells = append(cells, value, rankText(cell.Rank, cell.Tied))
			if cell.Difference != nil {
				difference = signed(*cell.Difference, text.value)
			}
			if cell.DifferencePPM != nil {
				share = percent(*cell.DifferencePPM)
			}
			if i > 0 {
				cells = append(cells, difference, share)
			}
			if i > 0 && l.Metric == compare.Goodput {
				cells = append(cells, ratioText(cell))
			}
		}
		g.Rows = append(g.Rows, append(cells, c.winner(l.Winners)))
	}
	return g
}

// notes returns the reasons why results have no rank, and further notes. Each occurs once,
// with the rows that it is about.
func (c *Comparison) notes(lines comparedLines) []note {
	var notes []note
	count := map[string]int{}
	add := func(l compare.Line, text string) {
		label := rowName(l.RowID)
		count[text]++
		for i := range notes {
			if notes[i].text == text {
				notes[i].rows += ", " + label
				return
			}
		}
		notes = append(notes, note{label, text})
	}
	for _, l := range lines {
		for i, cell := range l.Cells {
			if cell.Status != compare.Ranked {
				add(l, fmt.Sprintf("%s is %s: %s", c.Results[i].Name, notApplicable, cell.Reason))
			}
			if text := cell.Significance.Text(); text != "" && cell.Difference != nil && *cell.Difference != 0 {
				add(l, fmt.Sprintf("the difference of %s from %s is %s", c.Results[i].Name, c.Results[0].Name, text))
			}
		}
		if text, _, _ := strings.Cut(l.Note, noWinner); text != "" {
			add(l, strings.TrimSuffix(text, "; ")) // The sentence names why there is no winner.
		}
	}
	for i := range notes {
		if count[notes[i].text] == len(lines) && len(lines) > 1 {
			notes[i].rows = "all rows"
		}
	}
	return notes
}

func tableTitle(lines comparedLines) string {
	text := metricTexts[lines[0].Metric]
	return fmt.Sprintf("Test %s%s: %s (%s)", lines[0].Test, variantOf(lines[0].Variant), text.name, text.better)
}

// subject describes a result in one line.
func (c *Comparison) subject(i int) string {
	s := c.Results[i]
	var parts []string
	for _, part := range []string{s.Device, after("bed ", s.TestBed), s.Namespace + "/" + s.Benchmark, string(s.Phase)} {
		if part != "" && part != "/" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

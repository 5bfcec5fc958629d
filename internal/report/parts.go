package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/method/trials"
	"nodrop.dev/nodrop/internal/report/layout"
)

// partsTable has a line for each row and each of what it has several of: the flows of the
// profile, the traffic classes of its pattern, or the kinds of events in its trials.
type partsTable struct {
	title string
	grid  *layout.Grid
	// rows contains the row of each line.
	rows []v1alpha1.ResultRow
}

// rowColumn names the row that a line is about.
var rowColumn = layout.Column{Name: "row", Left: true}

// partsOfRow are the parts of which the traffic of a row was; none where it was of one kind.
func partsOfRow(row v1alpha1.ResultRow) []v1alpha1.FlowSummary {
	if c := row.Classes; c != nil {
		return []v1alpha1.FlowSummary{{Name: "multicast", ClassSummary: c.Multicast}, {Name: "unicast", ClassSummary: c.Unicast}}
	}
	return row.Flows
}

// partsOf is the table of the parts of rows; nil where the traffic was of one kind.
func (d *Document) partsOf(rows []v1alpha1.ResultRow) *partsTable {
	t := &partsTable{title: "Flows", grid: &layout.Grid{}}
	name, copied, timed, percentiles := "flow", false, false, false
	for _, row := range rows {
		if row.Classes != nil {
			t.title, name = "Traffic classes", "class"
		}
		for _, p := range partsOfRow(row) {
			copied = copied || p.Received+p.Lost != p.Sent
			timed = timed || p.Latency != nil
			percentiles = percentiles || p.Latency != nil && p.Latency.P50Ns > 0
		}
	}
	own := d.sizesOfFlows()
	add := func(columns ...layout.Column) { t.grid.Columns = append(t.grid.Columns, columns...) }
	add(layout.Column{Name: name, Left: true}, rowColumn)
	if own != nil {
		add(layout.Column{Heading: "frame", Name: "bytes"})
	}
	add(layout.Column{Heading: "offered", Name: "frames/s"}, layout.Column{Heading: "offered", Name: shareBySender})
	if copied {
		add(layout.Column{Heading: "received", Name: "frames/s"})
	}
	add(layout.Column{Heading: "frames", Name: "lost"})
	if timed {
		add(layout.Column{Heading: d.latencyHeading(), Name: "avg"})
	}
	if percentiles {
		add(layout.Column{Heading: d.latencyHeading(), Name: "p50"}, layout.Column{Heading: d.latencyHeading(), Name: "p99"}, layout.Column{Heading: d.latencyHeading(), Name: "p99.9"})
	}
	if timed {
		add(layout.Column{Heading: d.latencyHeading(), Name: "max"})
	}
	for _, row := range rows {
		for _, p := range partsOfRow(row) {
			cells := []string{p.Name, labelsOf([]v1alpha1.ResultRow{row}, rows)}
			if own != nil {
				cells = append(cells, own(p.Name, row))
			}
			cells = append(cells, offeredOfPart(row, p)...)
			if copied {
				cells = append(cells, layout.Group(p.ReceivedFramesPerSecond))
			}
			cells = append(cells, layout.Group(p.Lost))
			t.grid.Rows = append(t.grid.Rows, append(cells, latencyOfPart(p, timed, percentiles)...))
			t.rows = append(t.rows, row)
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t
}

// offeredOfPart is the rate and the share of line rate at which a part left the tester; not
// of a throughput of 0, whose trial was of a load that did not pass.
func offeredOfPart(row v1alpha1.ResultRow, p v1alpha1.FlowSummary) []string {
	if method.FoundNothing(&row) {
		return []string{"-", "-"}
	}
	if p.PortLoad == nil {
		return []string{layout.Group(p.OfferedFramesPerSecond), "-"}
	}
	return []string{layout.Group(p.OfferedFramesPerSecond), rangeOf(p.PortLoad.LowestPPM, p.PortLoad.HighestPPM)}
}

func latencyOfPart(p v1alpha1.FlowSummary, timed, percentiles bool) []string {
	var cells []string
	add := func(ns func(*v1alpha1.FlowLatency) int64) {
		if p.Latency == nil {
			cells = append(cells, "-")
			return
		}
		cells = append(cells, layout.Micros(ns(p.Latency)))
	}
	if timed {
		add(func(l *v1alpha1.FlowLatency) int64 { return l.AvgNs })
	}
	if percentiles {
		add(func(l *v1alpha1.FlowLatency) int64 { return l.P50Ns })
		add(func(l *v1alpha1.FlowLatency) int64 { return l.P99Ns })
		add(func(l *v1alpha1.FlowLatency) int64 { return l.P999Ns })
	}
	if timed {
		add(func(l *v1alpha1.FlowLatency) int64 { return l.MaxNs })
	}
	return cells
}

// sizesOfFlows returns the frame size of a flow in a row; nil where all traffic has the size
// of the row.
func (d *Document) sizesOfFlows() func(flow string, row v1alpha1.ResultRow) string {
	if d.Profile == nil || !slices.ContainsFunc(d.Profile.Flows, func(f v1alpha1.TrafficFlow) bool { return !f.FollowsRow() }) {
		return nil
	}
	return func(flow string, row v1alpha1.ResultRow) string {
		i := slices.IndexFunc(d.Profile.Flows, func(f v1alpha1.TrafficFlow) bool { return f.Name == flow })
		switch {
		case i < 0 || d.Profile.Flows[i].FollowsRow():
			return sizeCell(row.FrameSize, row.FrameMix)
		case d.Profile.Flows[i].FrameMix != nil:
			return d.Profile.Flows[i].FrameMix.Name
		}
		return sizeCell(*d.Profile.Flows[i].FrameSize, "")
	}
}

// sizeColumn is the column of the frame size of rows. Where some flows have sizes of their
// own, it names the flow whose frames have the size.
func (d *Document) sizeColumn() layout.Column {
	const longest = 12
	if d.sizesOfFlows() == nil || d.Profile.OwnSizes() {
		return layout.Column{Heading: "frame", Name: "bytes"}
	}
	following := slices.DeleteFunc(slices.Clone(d.Profile.Flows), func(f v1alpha1.TrafficFlow) bool { return !f.FollowsRow() })
	if len(following) > 1 || len(following[0].Name) > longest {
		return layout.Column{Heading: "some flows", Name: "bytes"}
	}
	return layout.Column{Heading: following[0].Name, Name: "bytes"}
}

// eventsOf is the table of the events in the trials of rows; nil where the method has none.
func (d *Document) eventsOf(rows []v1alpha1.ResultRow) *partsTable {
	own, _ := method.Describe(rows[0].Method)
	if own.Events == nil {
		return nil
	}
	t := &partsTable{title: "Events", grid: &layout.Grid{Columns: []layout.Column{{Name: "event", Left: true}, rowColumn, {Name: "times"}}}}
	kinds, columns := own.EventColumns()
	for _, c := range columns[kinds[0]] {
		if c.Unit == trials.LongNanoseconds {
			t.grid.Columns = append(t.grid.Columns, layout.Column{Heading: "took, ms", Name: c.Name})
			continue
		}
		t.grid.Columns = append(t.grid.Columns, layout.Column{Name: c.Heading})
	}
	for _, row := range rows {
		times, ok := own.Events(&row)
		if !ok {
			continue
		}
		for _, kind := range kinds {
			cells := []string{kind, labelsOf([]v1alpha1.ResultRow{row}, rows), layout.Group(times)}
			for _, c := range columns[kind] {
				cells = append(cells, cell(c, &row))
			}
			t.grid.Rows = append(t.grid.Rows, cells)
			t.rows = append(t.rows, row)
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t
}

// furtherTablesOf are the tables of what each row has several of.
func (d *Document) furtherTablesOf(rows []v1alpha1.ResultRow) []*partsTable {
	var tables []*partsTable
	for _, t := range []*partsTable{d.partsOf(rows), d.eventsOf(rows)} {
		if t != nil {
			tables = append(tables, t)
		}
	}
	return tables
}

package report

import (
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
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

// parts is the table of the parts of the traffic; without rows where the traffic was of one kind.
func (t testResults) parts() *partsTable {
	rows := t.rows
	table := &partsTable{title: "Flows", grid: &layout.Grid{Keys: 2}}
	name, received, shared, timed, percentiles := "flow", false, true, false, false
	for _, row := range rows {
		if row.Classes != nil {
			table.title, name, shared = "Traffic classes", "class", false // Copies of multicast would have the largest share.
		}
		for _, p := range partsOfRow(row) {
			received = received || p.Lost > 0 || p.Received+p.Lost != p.Sent // A frame may have several receivers.
			timed = timed || p.Latency != nil
			percentiles = percentiles || p.Latency != nil && p.Latency.P50Ns > 0
		}
	}
	own := sizesOfFlows(t.profile)
	add := func(columns ...layout.Column) { table.grid.Columns = append(table.grid.Columns, columns...) }
	add(layout.Column{Name: name, Left: true}, rowColumn)
	if own != nil {
		add(layout.Column{Heading: "frame", Name: "bytes"})
	}
	add(layout.Column{Heading: "offered", Name: "frames/s"}, layout.Column{Heading: "offered", Name: shareBySender})
	if received {
		add(layout.Column{Heading: "received", Name: "frames/s"})
	}
	if received && shared {
		add(layout.Column{Heading: "received", Name: "% of all"})
	}
	add(layout.Column{Heading: "frames", Name: "lost"})
	if timed {
		add(layout.Column{Heading: t.latencyHeading(), Name: "avg"})
	}
	if percentiles {
		add(layout.Column{Heading: t.latencyHeading(), Name: "p50"}, layout.Column{Heading: t.latencyHeading(), Name: "p99"}, layout.Column{Heading: t.latencyHeading(), Name: "p99.9"})
	}
	if timed {
		add(layout.Column{Heading: t.latencyHeading(), Name: "max"})
	}
	for _, row := range rows {
		var all int64
		for _, p := range partsOfRow(row) {
			all += p.Received
		}
		for _, p := range partsOfRow(row) {
			cells := []string{p.Name, labelsOf([]v1alpha1.ResultRow{row}, rows)}
			if own != nil {
				cells = append(cells, own(p.Name, row))
			}
			cells = append(cells, offeredOfPart(row, p)...)
			if received {
				cells = append(cells, layout.Group(p.ReceivedFramesPerSecond))
			}
			if received && shared {
				cells = append(cells, shareOfAll(p.Received, all))
			}
			cells = append(cells, layout.Group(p.Lost))
			table.grid.Rows = append(table.grid.Rows, append(cells, latencyOfPart(p, timed, percentiles)...))
			table.rows = append(table.rows, row)
		}
	}
	return table
}

// shareOfAll is the share of a part in all received frames, in percent.
func shareOfAll(part, all int64) string {
	if all == 0 {
		return "-"
	}
	return layout.Fixed(100*part, all, 2)
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
	exactly := func(_ *v1alpha1.FlowLatency, ns int64) string { return layout.Micros(ns) }
	percentile := func(l *v1alpha1.FlowLatency, ns int64) string { return percentileCell(l.MinNs, l.MaxNs, ns) }
	add := func(write func(*v1alpha1.FlowLatency, int64) string, ns func(*v1alpha1.FlowLatency) int64) {
		if p.Latency == nil {
			cells = append(cells, "-")
			return
		}
		cells = append(cells, write(p.Latency, ns(p.Latency)))
	}
	if timed {
		add(exactly, func(l *v1alpha1.FlowLatency) int64 { return l.AvgNs })
	}
	if percentiles {
		add(percentile, func(l *v1alpha1.FlowLatency) int64 { return l.P50Ns })
		add(percentile, func(l *v1alpha1.FlowLatency) int64 { return l.P99Ns })
		add(percentile, func(l *v1alpha1.FlowLatency) int64 { return l.P999Ns })
	}
	if timed {
		add(exactly, func(l *v1alpha1.FlowLatency) int64 { return l.MaxNs })
	}
	return cells
}

// sizesOfFlows returns the frame size of a flow in a row; nil where all traffic has the size
// of the row.
func sizesOfFlows(profile *v1alpha1.TrafficProfileSpec) func(flow string, row v1alpha1.ResultRow) string {
	if profile == nil || !slices.ContainsFunc(profile.Flows, func(f v1alpha1.TrafficFlow) bool { return !f.FollowsRow() }) {
		return nil
	}
	return func(flow string, row v1alpha1.ResultRow) string {
		i := slices.IndexFunc(profile.Flows, func(f v1alpha1.TrafficFlow) bool { return f.Name == flow })
		switch {
		case i < 0 || profile.Flows[i].FollowsRow():
			return sizeCell(row.FrameSize, row.FrameMix)
		case profile.Flows[i].FrameMix != nil:
			return profile.Flows[i].FrameMix.Name
		}
		return sizeCell(*profile.Flows[i].FrameSize, "")
	}
}

// sizeColumn is the column of the frame size of rows. Where some flows have sizes of their
// own, it names the flow whose frames have the size.
func sizeColumn(profile *v1alpha1.TrafficProfileSpec) layout.Column {
	const longest = 12
	if sizesOfFlows(profile) == nil || profile.OwnSizes() {
		return layout.Column{Heading: "frame", Name: "bytes"}
	}
	following := slices.DeleteFunc(slices.Clone(profile.Flows), func(f v1alpha1.TrafficFlow) bool { return !f.FollowsRow() })
	if len(following) > 1 || len(following[0].Name) > longest {
		return layout.Column{Heading: "some flows", Name: "bytes"}
	}
	return layout.Column{Heading: following[0].Name, Name: "bytes"}
}

// events is the table of the events in the trials; nil where the method has none.
func (t testResults) events() *partsTable {
	own, _ := method.Describe(t.rows[0].Method)
	if own.Events == nil {
		return nil
	}
	table := &partsTable{title: "Events", grid: &layout.Grid{Keys: 2, Columns: []layout.Column{{Name: "event", Left: true}, rowColumn, {Name: "times"}}}}
	kinds, columns := own.EventColumns()
	var all []trials.Column
	for _, kind := range kinds {
		for _, c := range columns[kind] {
			all = append(all, took(c))
		}
	}
	long := longUnitsOf(all, t.rows)
	for _, c := range columns[kinds[0]] {
		if c.Unit == trials.LongNanoseconds {
			table.grid.Columns = append(table.grid.Columns, layout.Column{Heading: long.heading(took(c)), Name: c.Name})
			continue
		}
		table.grid.Columns = append(table.grid.Columns, layout.Column{Name: c.Heading})
	}
	for _, row := range t.rows {
		times, ok := own.Events(&row)
		if !ok {
			continue
		}
		for _, kind := range kinds {
			cells := []string{kind, labelsOf([]v1alpha1.ResultRow{row}, t.rows), layout.Group(times)}
			for _, c := range columns[kind] {
				cells = append(cells, long.cell(took(c), &row))
			}
			table.grid.Rows = append(table.grid.Rows, cells)
			table.rows = append(table.rows, row)
		}
	}
	return table
}

// took returns a column of events with the heading that the times of all kinds of events share.
func took(c trials.Column) trials.Column {
	if c.Unit == trials.LongNanoseconds {
		c.Heading = "took, ms"
	}
	return c
}

// shownRepeated are the figures of all methods whose intervals the report shows, next to the
// columns of the method itself. The document has the intervals of all.
var shownRepeated = []string{string(compare.Throughput), gate.LineRate, string(compare.FrameLoss), string(compare.LatencyAvg), "LatencyP99"}

// repetitions is the table of medians and intervals.
func (t testResults) repetitions() *partsTable {
	table := &partsTable{title: "Repetitions", grid: &layout.Grid{Keys: 2, Columns: []layout.Column{
		{Name: "figure", Left: true}, rowColumn, {Name: "values"}, {Name: "median"},
		{Heading: "interval", Name: "from"}, {Heading: "interval", Name: "to"}, {Heading: "interval", Name: "confidence"},
		{Heading: "values", Name: "lowest"}, {Heading: "values", Name: "highest"},
	}}}
	own, _ := method.Describe(t.rows[0].Method)
	metrics := gate.Metrics(own)
	for _, row := range t.rows {
		for _, m := range metrics {
			f := row.Repeated.Figure(m.Name)
			isColumn := slices.ContainsFunc(own.Columns, func(c trials.Column) bool { return c.MetricName() == m.Name })
			if f == nil || !isColumn && !slices.Contains(shownRepeated, m.Name) {
				continue
			}
			text := func(n int64) string { return m.Unit.Text(n) }
			table.grid.Rows = append(table.grid.Rows, []string{
				m.Name, labelsOf([]v1alpha1.ResultRow{row}, t.rows), layout.Group(int64(len(f.Values))), text(f.Median), text(f.Low), text(f.High),
				confidenceText(f.ConfidencePPM), text(slices.Min(f.Values)), text(slices.Max(f.Values)),
			})
			table.rows = append(table.rows, row)
		}
	}
	return table
}

// confidenceText is a confidence with one decimal, rounded down: "96.8%".
func confidenceText(ppm int64) string {
	return strings.TrimSuffix(layout.Fixed(ppm/1000, 10, 1), ".0") + "%"
}

// microflows is the table of how many microflows were delivered, of the rows that tracked them.
func (t testResults) microflows() *partsTable {
	table := &partsTable{title: "Microflows", grid: &layout.Grid{Columns: []layout.Column{
		rowColumn, {Heading: "microflows", Name: "tracked"}, {Heading: "microflows", Name: "complete"}, {Heading: "microflows", Name: "lossy"},
		{Heading: "microflows", Name: "silent"}, {Heading: "microflows", Name: "unsent"}, {Heading: "received of one", Name: "least"}, {Heading: "received of one", Name: "most"},
	}}}
	for _, row := range t.rows {
		m := row.Microflows
		if m == nil {
			continue
		}
		cells := []string{labelsOf([]v1alpha1.ResultRow{row}, t.rows)}
		for _, n := range []int64{m.Tracked, m.Complete, m.Lossy, m.Silent, m.Unsent, m.LeastReceived, m.MostReceived} {
			cells = append(cells, layout.Group(n))
		}
		table.grid.Rows, table.rows = append(table.grid.Rows, cells), append(table.rows, row)
	}
	return table
}

// badMicroflowsShown is the number of lossy and silent microflows of a row that reports show; JSON
// has up to v1alpha1.MaxBadMicroflows.
const badMicroflowsShown = 10

// badMicroflows is the table of the first microflows of each row of which frames were lost.
func (t testResults) badMicroflows() *partsTable {
	table := &partsTable{title: "Lossy and silent microflows", grid: &layout.Grid{Columns: []layout.Column{
		rowColumn, {Name: "from", Left: true}, {Name: "source", Left: true}, {Name: "to", Left: true}, {Name: "destination", Left: true},
		{Heading: "frames", Name: "sent"}, {Heading: "frames", Name: "received"},
	}}}
	for _, row := range t.rows {
		if row.Microflows == nil {
			continue
		}
		bad := row.Microflows.Bad
		for _, b := range bad[:min(badMicroflowsShown, len(bad))] {
			table.grid.Rows = append(table.grid.Rows, []string{
				labelsOf([]v1alpha1.ResultRow{row}, t.rows), b.Sender, b.Source, b.Receiver, b.Destination, layout.Group(b.Sent), layout.Group(b.Received),
			})
			table.rows = append(table.rows, row)
		}
	}
	return table
}

// furtherTables are the tables of what each row has several of, without empty ones.
func (t testResults) furtherTables() []*partsTable {
	var tables []*partsTable
	for _, one := range []*partsTable{t.repetitions(), t.parts(), t.microflows(), t.badMicroflows(), t.events(), t.readings(), t.power()} {
		if one != nil && len(one.rows) > 0 {
			tables = append(tables, one)
		}
	}
	return tables
}

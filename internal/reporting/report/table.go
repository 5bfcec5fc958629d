package report

import (
	"slices"
	"strconv"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// testResults are the rows of one test and variant, and what their tables and charts depend on.
type testResults struct {
	// rows of the test, at least one.
	rows []v1alpha1.ResultRow
	// test of the specification; nil if it does not name the test.
	test *v1alpha1.Test
	// profile is the traffic profile; nil if it could not be read.
	profile *v1alpha1.TrafficProfileSpec
	// simulated reports whether the figures come from a model of a device.
	simulated bool
}

// byTest divides the rows, which are in the order of the variants and tests.
func (d *Document) byTest() []testResults {
	var tests []testResults
	begin := 0
	for i, row := range d.Rows {
		if i+1 < len(d.Rows) && row.Test == d.Rows[i+1].Test && row.Variant == d.Rows[i+1].Variant {
			continue
		}
		tests = append(tests, d.resultsOf(d.Rows[begin:i+1:i+1]))
		begin = i + 1
	}
	return tests
}

// resultsOf returns some rows of one test as its results.
func (d *Document) resultsOf(rows []v1alpha1.ResultRow) testResults {
	return testResults{rows: rows, test: d.Spec.Test(rows[0].Test), profile: d.Profile, simulated: d.simulated()}
}

// name returns the test and the variant: "throughput, variant fec-on".
func (t testResults) name() string { return t.rows[0].Test + variantOf(t.rows[0].Variant) }

// purpose describes the rows of a test, and in what the test differs from that.
func (t testResults) purpose() string {
	own, ok := method.Describe(t.rows[0].Method)
	if !ok {
		return string(t.rows[0].Method)
	}
	text := own.Purpose
	sampled := func(row v1alpha1.ResultRow) bool { return row.Latency != nil && row.Latency.TimedFrames != nil }
	switch {
	case withPartialDrop(t.rows):
		text = "NDR is the " + own.Purpose + ", PDR with up to the given loss"
	case own.SampledPurpose != "" && slices.ContainsFunc(t.rows, sampled):
		text = own.SampledPurpose
	}
	if own.Caveat != nil && t.test != nil && own.Given(*t.test) {
		if caveat := own.Caveat(*t.test); caveat != "" {
			text += ". " + caveat
		}
	}
	return text
}

// latencyHeading is above latency, with what the engines time: from the first bit of a
// frame in to its last bit out. Of a model only its source knows.
func (t testResults) latencyHeading() string {
	if t.simulated {
		return "latency, us"
	}
	return "latency FILO, us"
}

// table is the table of a test, in the columns of published reports.
func (t testResults) table(unit layout.BitUnit) *layout.Grid {
	shape := t.shape(unit)
	g := &layout.Grid{Columns: shape.columns(t), Keys: shape.keys()}
	for _, row := range t.rows {
		g.Rows = append(g.Rows, shape.cells(row))
	}
	return g
}

// tableShape contains the groups of columns that the table of a test has.
type tableShape struct {
	// frames are sizes and rates, which tests without test frames do not have.
	frames bool
	// load is a column for the load of the test, intended one for the load that was searched, and
	// loss one for the goal of the search.
	load, intended, loss bool
	// byEvent divides the lost frames into those that an event explains and others.
	byEvent bool
	// own has the columns of the method. They replace latency and jitter.
	own  []trials.Column
	unit layout.BitUnit
	// long has the units of the times in the own columns.
	long longUnits
	// servers is a column for the number of servers.
	servers bool
	// messages is a column for the size of messages.
	messages bool
}

func (t testResults) shape(unit layout.BitUnit) tableShape {
	s := tableShape{unit: unit, loss: withPartialDrop(t.rows)}
	own, _ := method.Describe(t.rows[0].Method)
	s.own = own.RowColumns(t.rows)
	s.long = longUnitsOf(s.own, t.rows)
	s.byEvent = hasLossByEvent(t.rows)
	s.frames = slices.ContainsFunc(t.rows, func(row v1alpha1.ResultRow) bool { return row.Frames != nil })
	s.load = slices.ContainsFunc(t.rows, func(row v1alpha1.ResultRow) bool { return row.Load != "" })
	s.servers = slices.ContainsFunc(t.rows, func(row v1alpha1.ResultRow) bool { return row.Servers > 0 })
	s.messages = slices.ContainsFunc(t.rows, func(row v1alpha1.ResultRow) bool { return row.MessageSize > 0 })
	s.intended = s.frames && !s.load && (ofFullLoad(t.rows) || slices.ContainsFunc(t.rows, showsIntended))
	return s
}

// keys returns the number of the columns that name a row.
func (s tableShape) keys() int {
	keys := 0
	for _, shown := range []bool{s.frames, s.load, s.loss} {
		if shown {
			keys++
		}
	}
	return keys
}

// columns of the table of a test.
func (s tableShape) columns(t testResults) []layout.Column {
	var all []layout.Column
	if s.frames {
		all = append(all, sizeColumn(t.profile))
	}
	if s.servers {
		all = append(all, layout.Column{Name: "servers"})
	}
	if s.messages {
		all = append(all, layout.Column{Heading: "message", Name: "bytes"})
	}
	if s.load {
		all = append(all, intendedColumn(t.rows))
	}
	if s.loss {
		all = append(all, layout.Column{Name: "goal", Left: true})
	}
	if s.intended {
		all = append(all, searchedColumn(t.rows))
	}
	if s.frames {
		heading := loadHeading(t.rows)
		all = append(all, layout.Column{Heading: heading, Name: "frames/s"}, layout.Column{Heading: heading, Name: s.unit.Name}, shareColumn(t.rows))
	}
	switch {
	case len(s.own) > 0:
		for _, c := range s.own {
			all = append(all, layout.Column{Heading: s.long.heading(c), Name: c.Name})
		}
	case s.frames:
		heading := t.latencyHeading()
		all = append(all, layout.Column{Heading: heading, Name: "min"}, layout.Column{Heading: heading, Name: "avg"}, layout.Column{Heading: heading, Name: "max"},
			layout.Column{Heading: "jitter, us", Name: "avg"}, layout.Column{Heading: "jitter, us", Name: "max"})
	}
	if s.frames {
		all = append(all, lostColumns(t.rows)...)
	}
	return append(all, layout.Column{Name: "validity", Left: true, Verdict: true})
}

// cells of a row, one for each column.
func (s tableShape) cells(row v1alpha1.ResultRow) []string {
	var cells []string
	if s.frames {
		cells = append(cells, sizeCell(row.FrameSize, row.FrameMix))
	}
	if s.servers {
		cells = append(cells, strconv.Itoa(int(row.Servers)))
	}
	if s.messages {
		cells = append(cells, strconv.Itoa(int(row.MessageSize)))
	}
	if s.load {
		cells = append(cells, string(row.Load))
	}
	if s.loss {
		cells = append(cells, goalName(row))
	}
	known := row.Frames != nil && !unmeasured(&row)
	switch {
	case s.intended && known:
		cells = append(cells, layout.Cut(row.Frames.LineRatePPM, 10_000, 4, trials.Steps(&row).LineRatePPM))
	case s.intended:
		cells = append(cells, "-")
	}
	switch offered := trials.Supported(&row); {
	case s.frames && known:
		cells = append(cells, layout.Group(offered.FramesPerSecond), layout.Cut(offered.BitsPerSecond, s.unit.Bits, 3, trials.Steps(&row).BitsPerSecond), shareCell(&row))
	case s.frames:
		cells = append(cells, "-", "-", "-")
	}
	switch l := row.Latency; {
	case len(s.own) > 0:
		for _, c := range s.own {
			cells = append(cells, s.long.cell(c, &row))
		}
	case l != nil && s.frames:
		cells = append(cells, layout.Micros(l.MinNs), layout.Micros(l.AvgNs), layout.Micros(l.MaxNs), jitterCell(l.JitterAvgNs), jitterCell(l.JitterMaxNs))
	case s.frames:
		cells = append(cells, "-", "-", "-", "-", "-")
	}
	if s.frames && s.byEvent {
		cells = append(cells, lostByEventCells(&row)...)
	} else if s.frames {
		cells = append(cells, lostCell(&row))
	}
	return append(cells, string(row.Validity))
}

// unmeasured reports whether a row has no figures: nothing was sent for it, and its message
// says why. A throughput of 0 is a figure.
func unmeasured(row *v1alpha1.ResultRow) bool {
	return row.Frames != nil && !method.IsThroughput(row) && row.Frames.Sent == 0 && row.Frames.LineRatePPM == 0 && row.Message != ""
}

// showsIntended reports whether the intended load of a row belongs next to what left the tester,
// which is another one. In a table without such a row the two are the same, and where loads
// are asked for, the table has them.
func showsIntended(row v1alpha1.ResultRow) bool {
	return !unmeasured(&row) && trials.OfferedOther(&row)
}

// lostCell returns the number of lost frames. It is "-" if groups are joined or left during
// the trial, because the number of expected frames is not known then.
func lostCell(row *v1alpha1.ResultRow) string {
	if row.Frames == nil || unmeasured(row) || row.GroupDelay != nil {
		return "-"
	}
	return layout.Group(row.Frames.Lost)
}

// hasLossByEvent reports whether the test of some rows has events that explain a loss.
func hasLossByEvent(rows []v1alpha1.ResultRow) bool {
	return slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Frames.OrZero().LostByEvent != nil })
}

// lostColumns are the columns of lost frames: one, or two where frames were sent to networks that the tester did not announce then.
func lostColumns(rows []v1alpha1.ResultRow) []layout.Column {
	if hasLossByEvent(rows) {
		return []layout.Column{{Heading: "frames lost", Name: "without route"}, {Heading: "frames lost", Name: "otherwise"}}
	}
	return []layout.Column{{Heading: "frames", Name: "lost"}}
}

// lostByEventCells are the cells of a row below two columns of lost frames.
func lostByEventCells(row *v1alpha1.ResultRow) []string {
	byEvent := row.Frames.OrZero().LostByEvent
	if byEvent == nil || unmeasured(row) {
		return []string{"-", lostCell(row)}
	}
	return []string{layout.Group(*byEvent), layout.Group(row.Frames.Lost - *byEvent)}
}

// cell writes the number of a method's own column.
func cell(c trials.Column, row *v1alpha1.ResultRow) string {
	n, ok := c.Value(row)
	if !ok {
		return "-"
	}
	return inUnit(c.Unit)(n)
}

// inUnit returns the function that formats numbers of a unit.
func inUnit(unit trials.Unit) func(int64) string {
	switch unit {
	case trials.PPM:
		return func(n int64) string { return layout.Fixed(n, 10_000, 4) }
	case trials.Nanoseconds:
		return layout.Micros
	case trials.YesNo:
		return func(n int64) string { return map[int64]string{0: "no", 1: "yes"}[n] }
	case trials.BitsPerSecond:
		return func(n int64) string { return layout.Fixed(n, 1_000_000, 1) }
	case trials.LongNanoseconds:
		return func(n int64) string { return layout.Fixed(n, 1_000_000, 3) }
	}
	return layout.Group
}

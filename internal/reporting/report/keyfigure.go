package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// keyFigure is the number that a customer asks for first, and its meaning.
type keyFigure struct {
	// name describes the number: "longest dip".
	name string
	// of returns the number of a row, and whether the row has it.
	of func(*v1alpha1.ResultRow) (trials.Figure, bool)
}

// keyFigures are the key figures by method. A method without one has its headline.
var keyFigures = map[v1alpha1.Method]keyFigure{
	v1alpha1.MethodAddressCaching:     named("addresses that the device keeps"),
	v1alpha1.MethodAddressLearning:    named("addresses learnt per second"),
	v1alpha1.MethodBackToBack:         named("longest burst without loss"),
	v1alpha1.MethodBGPRestart:         {"interruption by a restart, average", timeOf(func(r *v1alpha1.ResultRow) *v1alpha1.BGPRestartSummary { return r.BGPRestart }, func(s *v1alpha1.BGPRestartSummary) int64 { return s.Outage.AvgNs })},
	v1alpha1.MethodBroadcast:          named("rate of forwarded broadcasts"),
	v1alpha1.MethodBufferSize:         named("frames that the buffer holds"),
	v1alpha1.MethodConfigurationScale: named("entries without an effect"),
	v1alpha1.MethodCongestionControl:  named("reaction to a congested port"),
	v1alpha1.MethodConvergence: {"until announced routes carry traffic, average", timeOf(func(r *v1alpha1.ResultRow) *v1alpha1.ConvergenceSummary { return r.Convergence },
		func(s *v1alpha1.ConvergenceSummary) int64 { return s.Announce.AvgNs })},
	v1alpha1.MethodFIBTruth:           named("as announced"),
	v1alpha1.MethodForwardingRate:     named("forwarding rate"),
	v1alpha1.MethodFrameLoss:          named("lost frames"),
	v1alpha1.MethodGroupCapacity:      named("multicast groups that are forwarded"),
	v1alpha1.MethodGroupJoinDelay:     named("until a joined group arrives, average"),
	v1alpha1.MethodGroupLeaveDelay:    named("until a left group ends, average"),
	v1alpha1.MethodHeadOfLineBlocking: named("effect on ports without congestion"),
	v1alpha1.MethodIncast:             named("goodput of one client"),
	v1alpha1.MethodConnections:        named("connections"),
	v1alpha1.MethodLatency:            named("average latency without loss"),
	v1alpha1.MethodOrdering:           named("order of frames"),
	v1alpha1.MethodRecovery:           named("until loss ends after an overload, average"),
	v1alpha1.MethodReset:              named("interruption by a reset, average"),
	v1alpha1.MethodRFC2544Latency:     named("latency by RFC 2544, average"),
	v1alpha1.MethodRouteCapacity: {"held by the device", func(row *v1alpha1.ResultRow) (trials.Figure, bool) {
		if s := row.RouteCapacity; s != nil {
			return trials.CountFigure(s.Routes, "routes", !s.Full), true
		}
		return trials.Figure{}, false
	}},
	v1alpha1.MethodRouteFlap: {"longest dip", timeOf(func(r *v1alpha1.ResultRow) *v1alpha1.RouteFlapSummary { return r.RouteFlap },
		func(s *v1alpha1.RouteFlapSummary) int64 { return max(s.Withdraw.MaxNs, s.Announce.MaxNs) })},
	v1alpha1.MethodRPCLatency:   named("round trip of requests, median"),
	v1alpha1.MethodCollectives:  named("bus bandwidth of collective operations"),
	v1alpha1.MethodBulk:         named("goodput of bulk data"),
	v1alpha1.MethodMessageRate:  named("multicast messages without loss"),
	v1alpha1.MethodRouteRefresh: named("until all routes came again, average"),
	v1alpha1.MethodSessionScale: named("of BGP, established together"),
	v1alpha1.MethodSoak:         named("lost frames"),
	v1alpha1.MethodThroughput:   named("highest load without loss"),
}

// named is the headline of a method with a name.
func named(name string) keyFigure { return keyFigure{name, method.FigureOf} }

// timeOf makes a key figure from a time of a method's summary.
func timeOf[S any](summary func(*v1alpha1.ResultRow) *S, ns func(*S) int64) func(*v1alpha1.ResultRow) (trials.Figure, bool) {
	return func(row *v1alpha1.ResultRow) (trials.Figure, bool) {
		if s := summary(row); s != nil {
			return trials.TimeFigure(ns(s)), true
		}
		return trials.Figure{}, false
	}
}

// keyFigureOf is the key figure of a method. Rows of a throughput test that allow a loss have the
// figure of the method.
func keyFigureOf(name v1alpha1.Method) keyFigure {
	if k, ok := keyFigures[name]; ok {
		return k
	}
	d, _ := method.Describe(name)
	if k, ok := keyFigures[d.Name]; ok {
		return k
	}
	return named("most telling figure")
}

// tile shows the key figure of a test.
type tile struct {
	// Test is its name, and Href leads to its section.
	Test, Href string
	Value      string
	// Name describes the value, and Rows the rows that it is of.
	Name, Rows string
	// Unknown is true if no row is conclusive.
	Unknown bool
}

// tiles returns a tile for each test of the result, in the order of its sections.
func (d *Document) tiles() []tile {
	var tiles []tile
	for i, t := range d.byTest() {
		one := tile{Test: t.name(), Href: "#" + sectionID(i), Name: keyFigureOf(t.rows[0].Method).name}
		rows, figures := d.figuresOf(t)
		one.Rows = layout.Quantity(int64(len(rows)), "row") + withoutDoubtful(len(t.rows)-len(d.conclusive(t)))
		switch {
		case len(figures) > 0:
			one.Value = valueRange(figures)
			if method.IsThroughput(&rows[0]) {
				if !ofFullLoad(rows) {
					one.Name += ", of line rate"
				}
				one.Rows = bitRates(rows, layout.UnitFor(highestBitRate(d.Rows))) + ", " + one.Rows
			}
		case len(d.conclusive(t)) > 0:
			one.Value, one.Unknown = "No figure", true
			one.Rows = layout.Quantity(int64(len(t.rows)), "row")
		default:
			one.Value, one.Unknown = "Not known", true
			one.Rows = layout.Quantity(int64(len(t.rows)), "row") + " in doubt"
		}
		tiles = append(tiles, one)
	}
	return tiles
}

func sectionID(test int) string { return fmt.Sprintf("test-%d", test+1) }

// conclusive are the rows of a test that may be judged by.
func (d *Document) conclusive(t testResults) []v1alpha1.ResultRow {
	return slices.DeleteFunc(slices.Clone(t.rows), func(row v1alpha1.ResultRow) bool {
		return !result.Conclusive(d.device(), &row)
	})
}

// figuresOf are the key figures of the conclusive rows of a test, and the rows that have one. A
// latency of a row with loss shows a full queue, and a rate with loss is no throughput: both
// are left out.
func (d *Document) figuresOf(t testResults) ([]v1alpha1.ResultRow, []trials.Figure) {
	own, _ := method.Describe(t.rows[0].Method)
	key := keyFigureOf(t.rows[0].Method)
	var rows []v1alpha1.ResultRow
	var figures []trials.Figure
	for _, row := range d.conclusive(t) {
		if own.Latency && row.Frames.OrZero().Lost > 0 || row.LossRatioPPM > 0 || unmeasured(&row) {
			continue
		}
		if figure, ok := key.of(&row); ok {
			figure.Text = htmlText(figure.Text)
			rows, figures = append(rows, row), append(figures, figure)
		}
	}
	return rows, figures
}

// valueRange is the range of figures: the only one, or the lowest and the highest. Figures with the
// same words have them once.
func valueRange(figures []trials.Figure) string {
	byNumber := func(a, b trials.Figure) int { return cmp.Compare(a.Number, b.Number) }
	lowest, highest := slices.MinFunc(figures, byNumber), slices.MaxFunc(figures, byNumber)
	if lowest.Text == highest.Text {
		return lowest.Text
	}
	low := lowest.Text
	a, b := strings.Fields(lowest.Text), strings.Fields(highest.Text)
	if len(a) == len(b) && len(a) > 1 && slices.Equal(a[1:], b[1:]) {
		low = a[0]
	}
	return low + " – " + highest.Text
}

// bitRates is the range of the offered bit rates of rows, with its unit.
func bitRates(rows []v1alpha1.ResultRow, unit layout.BitUnit) string {
	by := func(a, b v1alpha1.ResultRow) int {
		return cmp.Compare(trials.Offered(&a).BitsPerSecond, trials.Offered(&b).BitsPerSecond)
	}
	rate := func(row v1alpha1.ResultRow) string {
		return layout.Cut(trials.Offered(&row).BitsPerSecond, unit.Bits, 3, trials.Steps(&row).BitsPerSecond)
	}
	low, high := rate(slices.MinFunc(rows, by)), rate(slices.MaxFunc(rows, by))
	if low != high {
		low += " – " + high
	}
	text := low + " " + unit.Name + atReceivers(rows)
	lowest, highest := trials.OfferedByPort(&rows[0])
	for _, row := range rows {
		from, to := trials.OfferedByPort(&row)
		lowest, highest = min(lowest, from), max(highest, to)
	}
	if ofFullLoad(rows) {
		text += ", " + strings.Replace(rangeOf(lowest, highest), "-", " – ", 1) + "% of line rate by sender"
	}
	return text
}

// atReceivers returns an addition to a rate if the rates of the rows count a frame at each of its
// receivers.
func atReceivers(rows []v1alpha1.ResultRow) string {
	if loadHeading(rows) == receiversHeading {
		return " to all receivers"
	}
	return ""
}

// withoutDoubtful returns how many rows were left out of a figure, as an addition; empty if none was.
func withoutDoubtful(rows int) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(", without %s in doubt", layout.Quantity(int64(rows), "row"))
}

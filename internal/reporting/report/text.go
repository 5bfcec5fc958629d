package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// Text is the result for people: what it is, a table per test, and with what it
// was made. It has no trailing spaces, and stays within 120 columns unless
// numbers or names are longer than usual, or a method has very many columns.
func (d *Document) Text() string { return d.on(layout.Paper{}) }

// on is the text for a terminal, or for a file.
func (d *Document) on(p layout.Paper) string {
	if d.simulated() {
		p = p.Modeled()
	}
	var b strings.Builder
	b.WriteString(p.Headline(fmt.Sprintf("Benchmark %s/%s:", d.Benchmark.Namespace, d.Benchmark.Name), string(d.Phase)))
	if d.simulated() {
		b.WriteString(p.Frame(simulatedBanner))
	}
	if d.Message != "" {
		b.WriteString(p.Wrap(d.Message, layout.Gap))
	}
	for _, note := range furtherNotes(d.Notes) {
		b.WriteString(p.Wrap("Note: "+note, layout.Gap))
	}
	b.WriteString(d.judged().text(p))
	unit := layout.UnitFor(highestBitRate(d.Rows))
	for _, test := range d.byTest() {
		b.WriteString("\n")
		b.WriteString(p.Title(fmt.Sprintf("Test %s: %s", test.name(), test.purpose())) + "\n")
		b.WriteString(test.table(unit).On(p))
		for _, t := range test.furtherTables() {
			b.WriteString("\n" + layout.Gap + t.title + "\n\n" + t.grid.On(p))
		}
		if g := test.percentiles(); g != nil {
			b.WriteString("\n" + layout.Gap + percentilesTitle + "\n\n" + g.On(p))
		}
		b.WriteString(notesOf(test.rows, p))
	}
	if len(d.Rows) == 0 {
		b.WriteString("\n  No row was measured.\n")
	}
	if len(d.Differences) > 0 {
		b.WriteString(differencesText(d.Differences, "", func(g *layout.Grid) string { return g.On(p) }, func(n note) string { return p.Wrap(n.rows+": "+n.text, layout.Gap) }))
		b.WriteString("\n" + p.Wrap(readingDifferences, ""))
	}
	b.WriteString("\n" + d.appendix().on(p))
	return b.String()
}

// highestBitRate returns the highest offered load of the rows.
func highestBitRate(rows []v1alpha1.ResultRow) int64 {
	var highest int64
	for _, row := range rows {
		highest = max(highest, trials.Offered(&row).BitsPerSecond)
	}
	return highest
}

// note is an additional remark on the numbers of a table, and the rows that it is about.
type note struct {
	rows, text string
}

// goalName returns the name of a row's loss ratio.
func goalName(row v1alpha1.ResultRow) string { return goalOf(row.LossRatioPPM) }

// goalOf names a loss ratio: NDR is the throughput, without loss, PDR the partial
// drop rate.
func goalOf(lossRatioPPM int64) string {
	if lossRatioPPM == 0 {
		return "NDR"
	}
	return fmt.Sprintf("PDR %s", v1alpha1.FormatPPM(lossRatioPPM))
}

func notesOf(rows []v1alpha1.ResultRow, p layout.Paper) string {
	var b strings.Builder
	for i, n := range tableNotes(rows) {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(p.Wrap(n.rows+": "+n.text, layout.Gap))
	}
	return b.String()
}

// tableNotes lists what the numbers do not say, each once.
func tableNotes(rows []v1alpha1.ResultRow) []note {
	var texts []string
	about := map[string][]v1alpha1.ResultRow{}
	for _, row := range rows {
		for _, text := range rowNotes(row) {
			if about[text] == nil {
				texts = append(texts, text)
			}
			about[text] = append(about[text], row)
		}
	}
	// What is said of all rows comes after what is said of one.
	slices.SortStableFunc(texts, func(a, b string) int {
		return cmp.Compare(len(about[a])/len(rows), len(about[b])/len(rows))
	})
	var notes []note
	for _, text := range texts {
		notes = append(notes, note{labelsOf(about[text], rows), text})
	}
	return notes
}

// labelsOf names some of the rows of a table as shortly as possible.
func labelsOf(some, all []v1alpha1.ResultRow) string {
	if len(some) == len(all) && len(all) > 1 {
		return "all rows"
	}
	ofSize := map[string]int{}
	name := func(row v1alpha1.ResultRow) string {
		if row.Servers > 0 {
			return v1alpha1.ServersName(row.Servers)
		}
		if row.MessageSize > 0 {
			return v1alpha1.MessageSizeName(row.MessageSize)
		}
		return cmp.Or(row.SizeName(), row.Test)
	}
	for _, row := range all {
		ofSize[name(row)]++
	}
	for _, row := range some {
		ofSize[name(row)]--
	}
	var labels []string
	for _, row := range some {
		label := name(row)
		switch others := ofSize[label]; {
		case others != 0 && row.Load == "":
			label += " " + goalName(row)
		case others != 0:
			label += " at " + string(row.Load)
		case len(labels) > 0 && labels[len(labels)-1] == label:
			continue
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, ", ")
}

func rowNotes(row v1alpha1.ResultRow) []string {
	var notes []string
	frames := row.Frames.OrZero()
	if row.Message != "" {
		notes = append(notes, row.Message)
	}
	notes = append(notes, row.ValidityReasons...)
	if l := row.Latency; l != nil && l.TimedFrames != nil {
		notes = append(notes, fmt.Sprintf("latency is of %s of %s received frames", layout.Group(*l.TimedFrames), layout.Group(frames.Received)))
	}
	if l := row.RFC2544Latency; l != nil {
		notes = append(notes, latencyDefinitions[l.Definition])
	}
	if s := row.Series; s != nil {
		notes = append(notes, fmt.Sprintf("receive rate of %s to %s frames/s in %s sampling intervals, %s on average",
			layout.Group(s.MinReceivedFramesPerSecond), layout.Group(s.MaxReceivedFramesPerSecond), layout.Group(int64(s.Samples)), layout.Group(s.AvgReceivedFramesPerSecond)))
	}
	if c := row.Capture; c != nil {
		notes = append(notes, fmt.Sprintf("%s captured in %s", layout.Quantity(c.Frames, "frame"), c.File))
	}
	notes = append(notes, markNotes(frames)...)
	if c := frames.CNP; c != nil && c.Sent+c.Received > 0 {
		notes = append(notes, fmt.Sprintf("marked frames were answered by %s, of which the senders received %s", layout.Quantity(c.Sent, "congestion notification packet"), layout.Group(c.Received)))
	}
	if f := frames.FlowControl; f != nil && f.PauseFrames+f.PFCFrames == 0 {
		notes = append(notes, "the ports received no frame of flow control")
	}
	// At a load of the test's own, equal groups get what they were sent.
	if m := row.Multicast; m != nil && m.Groups > 1 && (method.IsThroughput(&row) || m.MinFrames < m.MaxFrames) {
		notes = append(notes, groupRates(m))
	}
	if m := row.Multicast; m != nil && len(m.SilentReceivers) > 0 {
		notes = append(notes, "no frame was received by "+strings.Join(m.SilentReceivers, ", "))
	}
	if row.GroupDelay != nil {
		notes = append(notes, portDelays(row.GroupDelay)...)
	} else {
		notes = append(notes, portLatencies(row.MulticastLatency)...)
	}
	if row.LossRatioPPM > 0 && frames.LineRatePPM > 0 {
		return notes // It is the row's very meaning that frames were lost.
	}
	// The runner's message about a loss says the same with more words; where a
	// method measures loss or order, its columns do.
	if frames.Lost > 0 && frames.LossPPM == nil && row.Reset == nil && !strings.Contains(row.Message, "lost") {
		expected := frames.Received + frames.Lost // More than were sent, where a frame has many receivers.
		notes = append(notes, fmt.Sprintf("lost %s of %s frames (%s)", layout.Group(frames.Lost), layout.Group(expected), layout.Share(frames.Lost, expected)))
	}
	return append(notes, orderNotes(row)...)
}

// latencyDefinitions describe how the latency of RFC 1242 is computed for a row that asks for
// it.
var latencyDefinitions = map[v1alpha1.LatencyDefinition]string{
	v1alpha1.LatencyStoreAndForward: "latency of store-and-forward devices (RFC 1242 section 3.8) is the average less the time on wires that is left out; between virtual ports a frame takes none",
	v1alpha1.LatencyBitForwarding:   "latency of bit-forwarding devices (RFC 1242 section 3.8) is the average less the time on wires that is left out; between virtual ports a frame takes none",
}

// orderNotes describes duplicate and reordered frames, or states that the engine does not
// count them.
func orderNotes(row v1alpha1.ResultRow) []string {
	frames := row.Frames.OrZero()
	if frames.Duplicate == nil || frames.Reordered == nil {
		if frames.Received == 0 {
			return nil
		}
		return []string{"duplicate and reordered frames were not counted: the engine does not know them"}
	}
	var notes []string
	if *frames.Duplicate > 0 {
		notes = append(notes, layout.Group(*frames.Duplicate)+" duplicate frames")
	}
	if *frames.Reordered > 0 && row.Ordering == nil {
		note := fmt.Sprintf("%s of %s frames reordered (%s)", layout.Group(*frames.Reordered), layout.Group(frames.Received), layout.Share(*frames.Reordered, frames.Received))
		if n := frames.OutOfSequence; n != nil && *n > 0 {
			note += fmt.Sprintf(", %s out of sequence in the older count (%s)", layout.Group(*n), layout.Share(*n, frames.Received))
		}
		notes = append(notes, note)
	}
	return notes
}

// markNotes describes how many frames arrived with a congestion mark, if the device may mark any.
func markNotes(frames v1alpha1.FrameSection) []string {
	if frames.Congested == nil || frames.Received == 0 {
		return nil
	}
	if *frames.Congested == 0 {
		return []string{"no frame was marked as congested (ECN CE)"}
	}
	return []string{fmt.Sprintf("%s of %s frames marked as congested (ECN CE, %s)", layout.Group(*frames.Congested), layout.Group(frames.Received), layout.Share(*frames.Congested, frames.Received))}
}

// groupRates describes the rate that each of several multicast groups received.
func groupRates(m *v1alpha1.MulticastSummary) string {
	rate := layout.Group(m.MinFramesPerSecond)
	if m.MaxFramesPerSecond > m.MinFramesPerSecond {
		rate += " to " + layout.Group(m.MaxFramesPerSecond)
	}
	where := ""
	if m.Receivers > 1 {
		where = fmt.Sprintf(" at its %s receivers together", layout.Group(int64(m.Receivers)))
	}
	return fmt.Sprintf("each of %s groups received %s frames/s%s", layout.Group(int64(m.Groups)), rate, where)
}

// maxDelaysListed is the maximum number of ports that a note lists; the JSON contains more.
const maxDelaysListed = 16

// portDelays are the average delays of the egress ports, where there are several.
func portDelays(d *v1alpha1.GroupDelaySummary) []string {
	if len(d.Ports) < 2 {
		return nil
	}
	var parts []string
	for _, p := range d.Ports {
		parts = append(parts, portTime(p.Port, p.AvgNs))
	}
	return []string{"average by port: " + listPorts(parts, int(d.Receivers))}
}

// portLatencies are the average latencies of the ports that received multicast, where
// there are several, and the greatest less the smallest of them (RFC 3918 section 5.2).
func portLatencies(ports []v1alpha1.PortLatency) []string {
	if len(ports) < 2 {
		return nil
	}
	var parts []string
	lowest, highest := ports[0].AvgNs, ports[0].AvgNs
	for _, p := range ports {
		parts = append(parts, portTime(p.Port, p.AvgNs))
		lowest, highest = min(lowest, p.AvgNs), max(highest, p.AvgNs)
	}
	return []string{fmt.Sprintf("multicast latency, average by port: %s; max/min %s us", listPorts(parts, len(parts)), layout.Micros(highest-lowest))}
}

func portTime(port string, ns int64) string { return fmt.Sprintf("%s %s us", port, layout.Micros(ns)) }

// listPorts lists the first of some ports, and says how many more there are.
func listPorts(parts []string, all int) string {
	parts = parts[:min(len(parts), maxDelaysListed)]
	text := strings.Join(parts, ", ")
	if more := all - len(parts); more > 0 {
		text += fmt.Sprintf(" and %d more ports", more)
	}
	return text
}

// milliseconds turns a counter of the API into a duration.
func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// RowLine is a finished row in one line, for those who follow a run.
func RowLine(row v1alpha1.ResultRow) string {
	what := strings.TrimSuffix(row.TestName()+" "+row.SizeName(), " ")
	if row.Servers > 0 {
		what += " with " + v1alpha1.ServersName(row.Servers)
	}
	if row.MessageSize > 0 {
		what += " with " + v1alpha1.MessageSizeName(row.MessageSize)
	}
	if row.Load != "" {
		what += " at " + string(row.Load)
	}
	if row.LossRatioPPM > 0 {
		what += " " + goalName(row)
	}
	if row.Repetition > 0 {
		what += fmt.Sprintf(", repetition %d", row.Repetition)
	}
	if unmeasured(&row) {
		return fmt.Sprintf("%s: %s, %s", what, row.Message, row.Validity)
	}
	frames := row.Frames.OrZero()
	var parts []string
	if row.Frames != nil {
		offered := trials.Supported(&row)
		unit := layout.UnitFor(offered.BitsPerSecond)
		parts = append(parts, fmt.Sprintf("%s frames/s, %s %s, %s",
			layout.Group(offered.FramesPerSecond), layout.Cut(offered.BitsPerSecond, unit.Bits, 3, trials.Steps(&row).BitsPerSecond), unit.Name, shareInWords(&row)))
		if trials.OfferedOther(&row) {
			parts[0] += fmt.Sprintf(" (of an intended %s%%)", layout.Cut(frames.LineRatePPM, 10_000, 4, trials.Steps(&row).LineRatePPM))
		}
		if trials.OfFullLoad(&row) && row.Load == "" {
			parts[0] += fmt.Sprintf(", %s%% of full load", layout.Cut(frames.LineRatePPM, 10_000, 4, trials.Steps(&row).LineRatePPM))
		}
	}
	if own, _ := method.Describe(row.Method); len(own.Columns) > 0 {
		parts = append(parts, numbersOf(own, &row)...)
	} else if l := row.Latency; l != nil {
		parts = append(parts, fmt.Sprintf("latency %s us on average", layout.Micros(l.AvgNs)))
	}
	if frames.Lost > 0 {
		parts = append(parts, layout.Group(frames.Lost)+" frames lost")
	}
	parts = append(parts, string(row.Validity))
	if frames.Received == 0 && row.Message != "" {
		parts = append(parts, row.Message)
	}
	return what + ": " + strings.Join(parts, ", ")
}

// numbersOf are the numbers of a method's own columns in words: "loss 55.0000 %",
// "burst avg 3,999 frames", "head of line blocking no".
func numbersOf(own trials.Definition, row *v1alpha1.ResultRow) []string {
	var words []string
	for _, c := range own.Columns {
		if _, ok := c.Value(row); !ok {
			continue
		}
		label, unit, named := strings.Cut(c.Heading, ", ")
		switch {
		case c.Unit == trials.YesNo:
			words = append(words, fmt.Sprintf("%s %s %s", c.Heading, c.Name, cell(c, row)))
		case named:
			words = append(words, fmt.Sprintf("%s %s %s %s", label, c.Name, cell(c, row), unit))
		default:
			words = append(words, fmt.Sprintf("%s %s %s", label, cell(c, row), c.Name))
		}
	}
	return words
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/traffic"
)

// IntervalTable shows what each port does while a trial runs, for those who follow it: a
// line for each port, and for each class of streams where there are several, in at most
// so many lines of a width. A width of 0 has no limit; else latencies and then bit rates are left out where the
// table is wider. Lost frames are those since the beginning of the trial.
func IntervalTable(i trials.Interval, lines, width int) []string {
	unit := layout.UnitFor(highestBits(i))
	g := &layout.Grid{Columns: []layout.Column{
		{Name: "port", Left: true}, {Heading: "offered", Name: "frames/s"}, {Heading: "offered", Name: unit.Name, Drop: 4},
		{Heading: "received", Name: "frames/s"}, {Heading: "received", Name: unit.Name, Drop: 3}, {Name: "lost"},
		{Heading: "latency (us)", Name: "avg", Drop: 1}, {Heading: "latency (us)", Name: "p99", Drop: 2},
	}}
	shown := i.Ports
	if most := max(2, lines-2); len(shown) > most {
		shown = shown[:most-1]
	}
	several := slices.ContainsFunc(i.Ports, func(p trials.PortInterval) bool { return p.Class != i.Ports[0].Class })
	for _, p := range shown {
		g.Rows = append(g.Rows, portCells(i, p, several, unit))
	}
	text := strings.Split(strings.TrimRight(g.On(layout.Paper{Width: width}), "\n"), "\n")
	if more := len(i.Ports) - len(shown); more > 0 {
		text = append(text, fmt.Sprintf("%sand %d more", layout.Gap, more))
	}
	return text
}

// portCells is the line of a port. What the port does not do, or what is not known of it,
// has no number.
func portCells(i trials.Interval, p trials.PortInterval, withClass bool, unit layout.BitUnit) []string {
	cells := []string{p.Port, "", "", "", "", "", "", ""}
	if withClass {
		cells[0] += " " + p.Class
	}
	if p.TxTotal.Sent > 0 {
		cells[1], cells[2] = rateCell(p.Tx.Sent, i.Length), bitsCell(p.Tx.Bytes, i.Length, unit)
	}
	if p.RxTotal.Received+p.RxTotal.Lost > 0 {
		cells[3], cells[4] = rateCell(p.Rx.Received, i.Length), bitsCell(p.Rx.Bytes, i.Length, unit)
		if i.Gaps {
			cells[5] = traffic.Grouped(p.RxTotal.Lost)
		}
	}
	if l := p.Rx.Latency; l.Count > 0 {
		cells[6], cells[7] = layout.Micros(int64(l.AvgNs())), layout.Micros(int64(l.PercentileNs(990)))
	}
	return cells
}

// IntervalLine summarizes an interval of a running trial over all ports, in one line.
func IntervalLine(i trials.Interval) string {
	var sent, bytes, received, lost uint64
	var latency traffic.Latency
	for _, p := range i.Ports {
		sent, bytes = sent+p.Tx.Sent, bytes+p.Tx.Bytes
		received, lost = received+p.Rx.Received, lost+p.RxTotal.Lost
		latency.Add(p.Rx.Latency)
	}
	unit := layout.UnitFor(perSecond(8*bytes, i.Length))
	parts := []string{
		fmt.Sprintf("offered %s frames/s, %s %s", rateCell(sent, i.Length), bitsCell(bytes, i.Length, unit), unit.Name),
		fmt.Sprintf("received %s frames/s", rateCell(received, i.Length)),
	}
	if i.Gaps {
		parts = append(parts, traffic.Grouped(lost)+" lost")
	}
	if latency.Count > 0 {
		parts = append(parts, fmt.Sprintf("latency %s us on average, %s us p99", layout.Micros(int64(latency.AvgNs())), layout.Micros(int64(latency.PercentileNs(990)))))
	}
	return strings.Join(parts, ", ")
}

// highestBits is the highest bit rate of a port.
func highestBits(i trials.Interval) (highest int64) {
	for _, p := range i.Ports {
		highest = max(highest, perSecond(8*p.Tx.Bytes, i.Length), perSecond(8*p.Rx.Bytes, i.Length))
	}
	return highest
}

func rateCell(frames uint64, d time.Duration) string { return layout.Group(perSecond(frames, d)) }

func bitsCell(bytes uint64, d time.Duration, unit layout.BitUnit) string {
	return layout.Fixed(perSecond(8*bytes, d), unit.Bits, 3)
}

// perSecond is a number over a time, per second; 0 over none.
func perSecond(n uint64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(n) / d.Seconds())
}

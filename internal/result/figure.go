package result

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/traffic"
)

// telling is the row that says most of a test at one frame size: of throughputs the
// one without loss, of latencies that at the highest load at which no frame was lost,
// and of other tests at several loads that at the highest.
func telling(rows []*v1alpha1.ResultRow) *v1alpha1.ResultRow {
	best := rows[0]
	for _, row := range rows[1:] {
		if before(best, row) {
			best = row
		}
	}
	return best
}

// before reports whether a row says more than another one of its test and size.
func before(known, row *v1alpha1.ResultRow) bool {
	if row.LossRatioPPM != known.LossRatioPPM {
		return row.LossRatioPPM < known.LossRatioPPM
	}
	a, b := known.Frames.OrZero(), row.Frames.OrZero()
	if row.Method == v1alpha1.MethodLatency && (a.Lost > 0) != (b.Lost > 0) {
		return a.Lost > 0
	}
	return b.LineRatePPM > a.LineRatePPM
}

// figureOf is the most telling number of a row.
func figureOf(row *v1alpha1.ResultRow) figure {
	frames := row.Frames.OrZero()
	ordered := func(number int64, text string) figure { return figure{number: number, text: text, ordered: true} }
	switch {
	case row.Method == v1alpha1.MethodThroughput || row.Method == v1alpha1.MethodPartialDropRate || row.Broadcast != nil:
		return ordered(frames.LineRatePPM, string(v1alpha1.FormatPPM(frames.LineRatePPM)))
	case row.Method == v1alpha1.MethodLatency && row.Latency != nil:
		return ordered(row.Latency.AvgNs, duration(row.Latency.AvgNs)+atLoad(row))
	case frames.LossPPM != nil:
		return ordered(*frames.LossPPM, lost(row)+atLoad(row))
	case row.BackToBack != nil:
		return counted(row.BackToBack.AvgFrames, "frames", false)
	case row.ForwardingRate != nil:
		return counted(row.ForwardingRate.Max, "frames/s", false)
	case row.Ordering != nil && row.Ordering.OnsetPPM > 0:
		return ordered(row.Ordering.OnsetPPM, fmt.Sprintf("reordered from %s on", v1alpha1.FormatPPM(row.Ordering.OnsetPPM)))
	case row.Ordering != nil:
		return ordered(frames.LineRatePPM, "in order"+atLoad(row))
	case row.Recovery != nil:
		return ordered(row.Recovery.AvgNs, duration(row.Recovery.AvgNs))
	case row.Reset != nil:
		return ordered(row.Reset.AvgNs, duration(row.Reset.AvgNs))
	case row.GroupDelay != nil:
		return ordered(row.GroupDelay.AvgNs, duration(row.GroupDelay.AvgNs))
	case row.AddressCaching != nil:
		return counted(row.AddressCaching.Addresses, "addresses", row.AddressCaching.ExceededAt == 0)
	case row.AddressLearning != nil:
		return counted(row.AddressLearning.AddressesPerSecond, "addresses/s", row.AddressLearning.ExceededAt == 0)
	case row.GroupCapacity != nil:
		return counted(int64(row.GroupCapacity.Groups), "groups", row.GroupCapacity.FailedGroups == 0)
	}
	return column(row)
}

// column is the first number that a method's own table has of a row.
func column(row *v1alpha1.ResultRow) figure {
	own, _ := method.Describe(row.Method)
	for _, c := range own.Columns {
		n, ok := c.Value(row)
		if !ok {
			continue
		}
		f := figure{number: n, ordered: true}
		switch c.Unit {
		case method.YesNo:
			f.text = c.FullName() + map[int64]string{0: ": no", 1: ": yes"}[n]
		case method.PPM:
			f.text = fmt.Sprintf("%s %s", c.Heading, v1alpha1.FormatPPM(n))
		case method.Nanoseconds, method.LongNanoseconds:
			f.text = fmt.Sprintf("%s %s", c.FullName(), duration(n))
		default:
			f.text = fmt.Sprintf("%s %s", c.FullName(), traffic.Grouped(n))
		}
		return f
	}
	return figure{text: "not measured"}
}

// counted is a number of something, which may be known as a lower bound only.
func counted(n int64, what string, atLeast bool) figure {
	text := traffic.Grouped(n) + " " + what
	if atLeast {
		text = "at least " + text
	}
	return figure{number: n, text: text, ordered: true}
}

// lost is the share of lost frames.
func lost(row *v1alpha1.ResultRow) string {
	if row.Frames.Lost == 0 {
		return "none lost"
	}
	return fmt.Sprintf("%s lost", v1alpha1.FormatPPM(*row.Frames.LossPPM))
}

// atLoad is the load of a row: " at 90%".
func atLoad(row *v1alpha1.ResultRow) string {
	if row.Load == "" {
		return ""
	}
	return " at " + string(row.Load)
}

// duration writes nanoseconds with three decimals of the unit that fits, rounded
// half up: "2.377 us", "1.250 s".
func duration(ns int64) string {
	unit, name := int64(1_000), "us"
	switch {
	case ns >= 1_000_000_000:
		unit, name = 1_000_000_000, "s"
	case ns >= 1_000_000:
		unit, name = 1_000_000, "ms"
	}
	thousandths := (ns + unit/2_000) / (unit / 1_000)
	return fmt.Sprintf("%s.%03d %s", traffic.Grouped(thousandths/1000), thousandths%1000, name)
}

package report

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// ratesHeading is above the load that left the tester, and receiversHeading above that of
// multicast, whose frames count at each of their receivers.
const ratesHeading, receiversHeading = "offered, all ports", "offered to all receivers"

// shareOfLine is the column of the share of line rate, and shareOfLineRate its name where
// there is room. shareBySender is its name where ports have shares of their own.
const (
	shareOfLine, shareOfLineRate = "% of line", "% of line rate"
	shareBySender                = shareOfLine + " by sender"
)

// ofFullLoad reports whether the load of some rows is a share of what the profile lets ports send
// of their line rate.
func ofFullLoad(rows []v1alpha1.ResultRow) bool {
	return slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return trials.OfFullLoad(&row) })
}

// loadHeading is above rates of rows.
func loadHeading(rows []v1alpha1.ResultRow) string {
	if slices.ContainsFunc(rows, func(row v1alpha1.ResultRow) bool { return row.Multicast != nil && row.Multicast.Receivers > 1 }) {
		return receiversHeading
	}
	return ratesHeading
}

// ofFullLoadColumn is the column of loads that are shares of the full load.
var ofFullLoadColumn = layout.Column{Heading: "intended", Name: "of full load", Left: true}

// intendedColumn returns the column of the intended load of a test.
func intendedColumn(rows []v1alpha1.ResultRow) layout.Column {
	percent := func(row v1alpha1.ResultRow) bool { return trials.OfFullLoad(&row) && !row.Load.IsRate() }
	if slices.ContainsFunc(rows, percent) {
		return ofFullLoadColumn
	}
	return layout.Column{Heading: "intended", Name: "load", Left: true}
}

// searchedColumn returns the column of the intended load for a test that searches it.
func searchedColumn(rows []v1alpha1.ResultRow) layout.Column {
	if ofFullLoad(rows) {
		return layout.Column{Heading: "intended, %", Name: "of full load"}
	}
	return layout.Column{Heading: "intended", Name: "%"}
}

// shareColumn returns the column of the offered load as a share of line rate.
func shareColumn(rows []v1alpha1.ResultRow) layout.Column {
	if ofFullLoad(rows) {
		return layout.Column{Heading: loadHeading(rows), Name: shareBySender}
	}
	return layout.Column{Heading: loadHeading(rows), Name: shareOfLine}
}

// shareCell is the share of line rate that the ports offered in a row.
func shareCell(row *v1alpha1.ResultRow) string {
	lowest, highest := trials.OfferedByPort(row)
	if lowest != highest {
		return rangeOf(lowest, highest)
	}
	return layout.Cut(lowest, 10_000, 4, trials.Steps(row).LineRatePPM)
}

// rangeOf writes parts per million as percent, as a range where they differ.
func rangeOf(lowest, highest int64) string {
	if lowest == highest {
		return layout.Fixed(lowest, 10_000, 4)
	}
	return layout.Fixed(lowest, 10_000, 4) + "-" + layout.Fixed(highest, 10_000, 4)
}

// shareInWords is the share of line rate that the ports offered in a row: "80.0000% of line
// rate", "24.0000-56.0000% of line rate by sender".
func shareInWords(row *v1alpha1.ResultRow) string {
	text := shareCell(row) + "% of line rate"
	if trials.OfFullLoad(row) {
		text += " by sender"
	}
	return text
}

// loadAxis is the unit of the load of rows in a chart.
func loadAxis(rows []v1alpha1.ResultRow) string {
	if ofFullLoad(rows) {
		return "% of full load"
	}
	return "% of line rate"
}

// fullLoad returns the load of each port at a load of 100%: "70% of line rate on p1, 30% on
// p2". It is empty if every sending port is at line rate, or the bed is not known.
func (d *Document) fullLoad() string {
	if d.Profile == nil || d.Bed == nil || !ofFullLoad(d.Rows) {
		return ""
	}
	ports, loads := plan.SentAtFullLoad(&v1alpha1.TrafficProfile{Spec: *d.Profile}, &v1alpha1.TestBed{Spec: *d.Bed})
	var order []string
	at := map[string][]string{}
	for i, load := range loads {
		share := string(v1alpha1.FormatPPM(frame.Round(new(big.Rat).Mul(load, big.NewRat(v1alpha1.PPM, 1)))))
		if at[share] == nil {
			order = append(order, share)
		}
		at[share] = append(at[share], ports[i])
	}
	var texts []string
	for i, share := range order {
		of, names := "", strings.Join(at[share], ", ")
		if i == 0 {
			of = " of line rate"
		}
		if n := len(at[share]); n > maxPortsListed {
			names = fmt.Sprintf("%s and %d more ports", at[share][0], n-1)
		}
		texts = append(texts, fmt.Sprintf("%s%s on %s", share, of, names))
	}
	return strings.Join(texts, ", ")
}

// sizeCell is a frame size in a table whose heading says bytes: the number, or the
// name of the mix that was sent in its place.
func sizeCell(frameSize int32, frameMix string) string {
	switch {
	case frameMix != "":
		return frameMix
	case frameSize == 0: // a test that sends no test frames
		return "-"
	}
	return fmt.Sprint(frameSize)
}

// letterWidth is the width of a letter in a chart.
const letterWidth = 6.5

// sizeLabel returns a frame size for a chart: "64 B", or the name of the mix. It adds the name
// of a partial drop rate: "64 B PDR 0.5%".
func sizeLabel(row *v1alpha1.ResultRow) string {
	label := row.SizeName()
	if row.FrameMix != "" {
		label = row.FrameMix
	}
	if row.LossRatioPPM > 0 {
		label += " " + goalName(*row)
	}
	return label
}

// labelSpace returns the additional width that the labels of rows need in a chart, compared
// with labels of frame sizes.
func labelSpace(rows []v1alpha1.ResultRow) float64 {
	room := len("9216 B")
	longest := room
	for _, row := range rows {
		longest = max(longest, len(sizeLabel(&row)))
	}
	return float64(longest-room) * letterWidth
}

// mixText describes a mix by its sizes: "mix simple (7:4:1 of 64, 570, 1518 B)".
func mixText(m v1alpha1.FrameMix) string {
	var weights, sizes []string
	for _, c := range frame.MixOf(m) {
		weights, sizes = append(weights, fmt.Sprint(c.Weight)), append(sizes, fmt.Sprint(c.Size))
	}
	genome := ""
	if m.Genome != "" {
		genome = "genome " + m.Genome + ", "
	}
	return fmt.Sprintf("%s (%s%s of %s B)", v1alpha1.SizeName(0, m.Name), genome, strings.Join(weights, ":"), strings.Join(sizes, ", "))
}

// sizes are the frame sizes and mixes of a profile in the order of the rows.
func sizes(profile *v1alpha1.TrafficProfileSpec) []v1alpha1.RowID {
	if profile.OwnSizes() {
		return []v1alpha1.RowID{{FrameMix: v1alpha1.FlowsSize}}
	}
	var ids []v1alpha1.RowID
	for _, size := range profile.FrameSizes {
		ids = append(ids, v1alpha1.RowID{FrameSize: size})
	}
	for _, m := range profile.FrameMixes {
		ids = append(ids, v1alpha1.RowID{FrameMix: m.Name})
	}
	return ids
}

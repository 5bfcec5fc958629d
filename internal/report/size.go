package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
)

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

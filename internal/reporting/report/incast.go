package report

import (
	"cmp"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// incastSentence describes how the goodput of a client depends on the number of servers; empty for rows of
// other methods.
func incastSentence(rows []v1alpha1.ResultRow) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r v1alpha1.ResultRow) bool { return r.Incast == nil })
	if len(rows) < 2 {
		return ""
	}
	goodput := func(r v1alpha1.ResultRow) string {
		return fmt.Sprintf("%s with %s", trials.RateText(r.Incast.GoodputBitsPerSecond), layout.Quantity(int64(r.Servers), "server"))
	}
	byGoodput := func(a, b v1alpha1.ResultRow) int {
		return cmp.Compare(a.Incast.GoodputBitsPerSecond, b.Incast.GoodputBitsPerSecond)
	}
	low, high := slices.MinFunc(rows, byGoodput), slices.MaxFunc(rows, byGoodput)
	frames := statelessSentence(rows)
	for _, row := range rows {
		if from := row.Incast.CollapsedFrom; from != nil {
			return fmt.Sprintf("From %s on the goodput of one client collapses: it is %s, and %s.", layout.Quantity(*from, "server"), goodput(high), goodput(low)) + frames
		}
	}
	return fmt.Sprintf("The goodput of one client does not collapse: it is %s to %s.", goodput(low), goodput(high)) + frames
}

// statelessSentence describes what became of frames next to an incast, by the row with the greatest loss; empty without such frames.
func statelessSentence(rows []v1alpha1.ResultRow) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r v1alpha1.ResultRow) bool { return r.Incast.Stateless == nil })
	if len(rows) == 0 {
		return ""
	}
	most := slices.MaxFunc(rows, func(a, b v1alpha1.ResultRow) int {
		return cmp.Compare(a.Incast.Stateless.LossPPM, b.Incast.Stateless.LossPPM)
	})
	s := most.Incast.Stateless
	text := fmt.Sprintf(" Of the stateless frames at %s, up to %s are lost, with %s", v1alpha1.FormatPPM(s.LoadPPM), v1alpha1.FormatPPM(s.LossPPM), layout.Quantity(int64(most.Servers), "server"))
	if s.Latency != nil {
		text += fmt.Sprintf(", and the others take %s on average and %s at most", trials.TimeText(s.Latency.AvgNs), trials.TimeText(s.Latency.MaxNs))
	}
	return text + "."
}

// goodputByServers draws the goodput for each number of servers; nil for rows of other methods.
func goodputByServers(id string, rows []v1alpha1.ResultRow) *layout.Chart {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r v1alpha1.ResultRow) bool { return r.Incast == nil })
	if len(rows) < 2 {
		return nil
	}
	highest := int64(0)
	for _, row := range rows {
		highest = max(highest, row.Incast.GoodputBitsPerSecond)
	}
	labels, longest := make([]string, len(rows)), 0
	for i, row := range rows {
		labels[i] = layout.Quantity(int64(row.Servers), "server")
		if row.Variant != "" {
			labels[i] += " " + string(row.Variant)
		}
		longest = max(longest, len(labels[i]))
	}
	c := bars(id, "Goodput by number of servers", nil, 320)
	c.Left, c.Bottom = float64(longest)*letterWidth+16, c.Top+float64(len(rows))*layout.BarPitch
	c.Height = c.Bottom + 44
	c.XTitle = "goodput, Mbit/s"
	x := layout.ScaleFor(0, float64(highest)/1e6, c.Left, c.Right)
	c.Axes(&x, nil)
	for i, row := range rows {
		value := trials.RateText(row.Incast.GoodputBitsPerSecond)
		addBar(c, i, labels[i], value, c.Left, x.At(float64(row.Incast.GoodputBitsPerSecond)/1e6))
		markDoubt(c, i, &row)
		c.Description += fmt.Sprintf("%s: %s. ", labels[i], value)
	}
	return c
}

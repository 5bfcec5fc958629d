package report

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/history"
)

// Regressed reports whether the last change of a figure was for the worse.
func (h *History) Regressed() bool {
	return slices.ContainsFunc(h.Lines, func(l history.Line) bool { return l.Regressed() })
}

// Verdict summarizes the history in one sentence: the largest regression with its size, bounds
// and first run, and the number of other regressions.
func (h *History) Verdict() string {
	var worst *history.Line
	more := -1
	size := func(l *history.Line) int64 {
		ppm := l.Changes[len(l.Changes)-1].ShiftPPM
		if ppm == nil {
			return 0
		}
		return max(*ppm, -*ppm)
	}
	for i := range h.Lines {
		if l := &h.Lines[i]; l.Regressed() {
			more++
			if worst == nil || size(l) > size(worst) {
				worst = l
			}
		}
	}
	if worst == nil {
		return fmt.Sprintf("no level of a figure became worse in %s", howMany(len(h.Runs), "run"))
	}
	c, text := worst.Changes[len(worst.Changes)-1], metricTexts[worst.Metric]
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s from %s to %s %s", testName(worst.Test, worst.Variant), rowName(worst.RowID), text.name, text.value(c.From), text.value(c.To), text.unit)
	if c.ShiftPPM != nil {
		fmt.Fprintf(&b, " (%s %%, with a confidence of 95 %% within %s and %s)", percent(*c.ShiftPPM), percent(*c.LowestPPM), percent(*c.HighestPPM))
	}
	fmt.Fprintf(&b, " since the run of %s UTC", day(h.Runs[c.Run].Time))
	if uid := h.Runs[c.Run].UID; uid != "" {
		fmt.Fprintf(&b, ", UID %s", uid)
	}
	if more > 0 {
		fmt.Fprintf(&b, "; %s became worse as well", howMany(more, "other figure"))
	}
	return b.String()
}

package labpage

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// searchPlot is the search of the row in hand: the load of each finished trial in their order.
type searchPlot struct {
	Points []searchPoint
	// Text describes the points in words.
	Text string
}

// searchPoint is a finished trial in the plot. X and Y are in the units of the view box.
type searchPoint struct {
	X, Y   int
	Passed bool
	// Title is shown when the point is pointed at.
	Title string
}

// The view box of the plot, and the place of the axes in it.
const plotWidth, plotHeight, plotLeft, plotTop, plotBottom = 640, 180, 56, 12, 150

// plotOf draws the trials of the progress; nil if there are none.
func plotOf(p *v1alpha1.Progress) *searchPlot {
	if p == nil || len(p.RowTrials) == 0 {
		return nil
	}
	plot, passed, failed := &searchPlot{}, int64(0), int64(0)
	step := min((plotWidth-plotLeft-20)/len(p.RowTrials), 60)
	for i, t := range p.RowTrials {
		ok := t.Verdict == v1alpha1.TrialPassed
		verdict := "did not pass"
		if ok {
			verdict = "passed"
		}
		switch {
		case ok:
			passed = max(passed, t.LoadPPM)
		case failed == 0 || t.LoadPPM < failed:
			failed = t.LoadPPM
		}
		plot.Points = append(plot.Points, searchPoint{
			X: plotLeft + step/2 + i*step, Y: plotBottom - int((plotBottom-plotTop)*min(t.LoadPPM, v1alpha1.PPM)/v1alpha1.PPM), Passed: ok,
			Title: fmt.Sprintf("trial %d of these: %s of line rate %s", i+1, v1alpha1.FormatPPM(t.LoadPPM), verdict),
		})
	}
	plot.Text = count(len(p.RowTrials), "finished trial") + " of the row in hand"
	if passed > 0 {
		plot.Text += fmt.Sprintf("; the highest load that passed is %s", v1alpha1.FormatPPM(passed))
	}
	if failed > 0 {
		plot.Text += fmt.Sprintf("; the lowest load that did not pass is %s", v1alpha1.FormatPPM(failed))
	}
	return plot
}

// Line is the way through the points, for a polyline.
func (p *searchPlot) Line() string {
	line := ""
	for _, at := range p.Points {
		line += fmt.Sprintf("%d,%d ", at.X, at.Y)
	}
	return line
}

// Ticks are the lines of the load axis.
func (p *searchPlot) Ticks() (ticks []searchPoint) {
	for percent := 0; percent <= 100; percent += 25 {
		ticks = append(ticks, searchPoint{Y: plotBottom - (plotBottom-plotTop)*percent/100, Title: fmt.Sprintf("%d %%", percent)})
	}
	return ticks
}

package layout

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Chart is a drawing, ready to be written as SVG: all positions are given in
// units of its view box.
type Chart struct {
	ID string
	// Title and Description are its accessible name and text; the description has
	// every number that the drawing shows.
	Title, Description string
	// Caption contains the information that a reader needs to read the chart.
	Caption string
	// Wide takes the width of two charts.
	Wide   bool
	Width  float64
	Height float64
	// Plot is the area between the axes.
	Left, Top, Right, Bottom float64
	XTitle, YTitle           string
	XTicks, YTicks           []chartTick
	Series                   []ChartSeries
	Bars                     []ChartBar
	Events                   []ChartEvent
	Bands                    []ChartBand
	Legend                   []ChartKey
}

// ChartBand is a range of values over a part of the horizontal axis, with the path of its median.
type ChartBand struct {
	X, Y, Width, Height string
	Median              string
	// Class is worse where the values are worse than before.
	Class string
}

// ChartKey explains a color and a mark.
type ChartKey struct {
	Color template.CSS
	Mark  string
	Name  string
}

// ChartEvent is a vertical line at a time, with a label along it; without one where it would
// cover that of the event before.
type ChartEvent struct {
	At, Label, LabelX string
}

type chartTick struct {
	At    string
	Label string
}

// ChartSeries is a line with its marks. It differs from the others by color, by the shape of
// its marks and by the dashes of its line.
type ChartSeries struct {
	Color template.CSS
	Dash  string
	Path  string
	Marks []ChartMark
	// Leader joins the last mark with the label.
	Leader         string
	Key            string
	Label          string
	LabelX, LabelY string
	// EndX and EndY are the last mark that is joined, and Shape is the shape of the marks.
	EndX, EndY float64
	Shape      int
}

// ChartMark is a point of a series.
type ChartMark struct {
	Path  string
	Open  bool
	Title string
	// Href leads to a page about the point; empty for none.
	Href string
}

// ChartBar is a row of a chart by frame size.
type ChartBar struct {
	Label, Value     string
	Y                string
	BarX, BarY       string
	BarWidth, BarEnd string
	Height           string
	// Class is range for one from the lowest to the highest value, and doubtful where the
	// row cannot be judged by.
	Class string
	// Mark is the position of the mean; empty in a chart of single values.
	Mark string
	// Color is of the result that the bar is of; empty in a chart of one result.
	Color template.CSS
	// Dot is the path of a mark that is drawn instead of the bar, and Whisker of its interval.
	Dot, Whisker string
	Title        string
	// At is the position of the label, where it is not the position of the bar.
	At string
}

// LabelAt is the position of the label of the bar.
func (b ChartBar) LabelAt() string { return cmp.Or(b.At, b.Y) }

const (
	// ChartWidth is the width of a chart in pixels.
	ChartWidth = 440
	// WideChart is the width of a chart that takes the place of two, with the gap between them.
	WideChart = 2*ChartWidth + 40
	// BarPitch is the distance of bars in pixels.
	BarPitch = 24
)

// Coordinate writes a position with one decimal, which is enough for any screen.
func Coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// The colors of series range from the smallest frames to the largest ones along three stops,
// darker and darker on white paper, so that they remain distinguishable in gray.
var (
	lightStops = [3][3]float64{{0x2b, 0x9c, 0x9a}, {0x2c, 0x66, 0xb0}, {0x38, 0x1d, 0x68}}
	darkStops  = [3][3]float64{{0x35, 0x9c, 0x8f}, {0x6a, 0xae, 0xee}, {0xe2, 0xd6, 0xff}}
)

// SeriesColor returns the color of series i of n.
func SeriesColor(i, n int) template.CSS {
	share := 0.0
	if n > 1 {
		share = float64(i) / float64(n-1)
	}
	//nolint:gosec // the text is made of numbers only
	return template.CSS("--on-light:" + mix(lightStops, share) + ";--on-dark:" + mix(darkStops, share))
}

func mix(stops [3][3]float64, share float64) string {
	from, to, part := stops[0], stops[1], share*2
	if share > 0.5 {
		from, to, part = stops[1], stops[2], share*2-1
	}
	text := "#"
	for i := range from {
		text += fmt.Sprintf("%02x", int(from[i]+(to[i]-from[i])*part+0.5))
	}
	return text
}

// Dashes are the patterns by which lines of series differ, in turn.
var Dashes = []string{"", "7 3", "2 2.5", "9 3 2 3"}

// Marker is a shape around a point.
func Marker(kind int, x, y float64) string {
	const r = 3.4
	polygon := func(corners ...[2]float64) string {
		var b strings.Builder
		for i, c := range corners {
			b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
			b.WriteString(Coordinate(x+c[0]*r) + " " + Coordinate(y+c[1]*r))
		}
		return b.String() + "Z"
	}
	switch kind % 5 {
	case 1:
		return polygon([2]float64{-.9, -.9}, [2]float64{.9, -.9}, [2]float64{.9, .9}, [2]float64{-.9, .9})
	case 2:
		return polygon([2]float64{0, -1.2}, [2]float64{1.15, .85}, [2]float64{-1.15, .85})
	case 3:
		return polygon([2]float64{0, -1.35}, [2]float64{1.35, 0}, [2]float64{0, 1.35}, [2]float64{-1.35, 0})
	case 4:
		return polygon([2]float64{0, 1.2}, [2]float64{1.15, -.85}, [2]float64{-1.15, -.85})
	}
	return fmt.Sprintf("M%s %sa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 -%.1f 0Z", Coordinate(x-r), Coordinate(y), r, r, 2*r, r, r, 2*r)
}

// Axes draws both axes with their ticks.
func (c *Chart) Axes(x, y *Scale) {
	if x != nil {
		for _, v := range x.Ticks {
			c.XTicks = append(c.XTicks, chartTick{Coordinate(x.At(v)), TickLabel(v)})
		}
	}
	if y != nil {
		for _, v := range y.Ticks {
			c.YTicks = append(c.YTicks, chartTick{Coordinate(y.At(v)), TickLabel(v)})
		}
	}
}

// Scale maps values of an axis to positions in a drawing.
type Scale struct {
	Low, High float64
	From, To  float64
	Log       bool
	Ticks     []float64
}

// At is the position of a value. On a logarithmic axis values are above 0.
func (s Scale) At(v float64) float64 {
	share := 0.0
	if s.Log {
		share = (math.Log(v) - math.Log(s.Low)) / (math.Log(s.High) - math.Log(s.Low))
	} else {
		share = (v - s.Low) / (s.High - s.Low)
	}
	return s.From + share*(s.To-s.From)
}

// logarithmic ranges demand it when the highest value is this many times the lowest.
const logFrom = 20

// ScaleFor makes an axis for values of at least 0 from lowest to highest: from 0
// when it is linear, from the next of 1, 2, 5 and their powers of ten when it is
// logarithmic.
func ScaleFor(lowest, highest, from, to float64) Scale {
	if lowest > 0 && highest/lowest >= logFrom {
		return logScale(lowest, highest, from, to)
	}
	if highest <= 0 {
		highest = 1
	}
	step := niceStep(highest / 4)
	s := Scale{Low: 0, High: math.Ceil(highest/step-1e-9) * step, From: from, To: to}
	for i := 0; float64(i)*step <= s.High+step/2; i++ {
		s.Ticks = append(s.Ticks, float64(i)*step)
	}
	return s
}

// EndingScale makes an axis from 0 that ends with its highest value.
func EndingScale(highest, from, to float64) Scale {
	if highest <= 0 {
		highest = 1
	}
	step := niceStep(highest / 5)
	s := Scale{Low: 0, High: highest, From: from, To: to}
	for i := 0; float64(i)*step <= highest*(1+1e-9); i++ {
		s.Ticks = append(s.Ticks, float64(i)*step)
	}
	return s
}

// leastPart is the least part of the highest value that an axis of rates covers: smaller changes are
// noise.
const leastPart = 0.01

// RateScale makes an axis for values of at least 0. Where the lowest one is more than half of the
// highest one, the axis begins near it.
func RateScale(lowest, highest, from, to float64) Scale {
	if lowest <= highest/2 || highest <= 0 {
		return ScaleFor(0, highest, from, to)
	}
	step := niceStep(max(highest-lowest, highest*leastPart) / 4)
	first, last := math.Floor(lowest/step+1e-9), math.Ceil(highest/step-1e-9)
	if last-first < 4 {
		first = last - 4
	}
	s := Scale{Low: first * step, High: last * step, From: from, To: to}
	for i := first; i <= last; i++ {
		s.Ticks = append(s.Ticks, i*step)
	}
	return s
}

func logScale(lowest, highest, from, to float64) Scale {
	s := Scale{Log: true, From: from, To: to}
	first, last := int(math.Floor(math.Log10(lowest))), int(math.Ceil(math.Log10(highest)))
	mantissas := []float64{1, 2, 5}
	if last-first > 3 {
		mantissas = []float64{1}
	}
	for exponent := first; exponent <= last; exponent++ {
		for _, m := range mantissas {
			tick := m * math.Pow10(exponent)
			if tick <= lowest*(1+1e-9) {
				s.Ticks = s.Ticks[:0]
			}
			s.Ticks = append(s.Ticks, tick)
			if tick >= highest*(1-1e-9) {
				s.Low, s.High = s.Ticks[0], tick
				return s
			}
		}
	}
	s.Low, s.High = s.Ticks[0], s.Ticks[len(s.Ticks)-1]
	return s
}

// niceStep is the next of 1, 2, 2.5, 5 and their powers of ten.
func niceStep(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// TickLabel writes an axis value without digits that say nothing.
func TickLabel(v float64) string {
	if v >= 1000 {
		return Group(int64(math.Round(v)))
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// Place moves positions apart, in their order, until they are at least gap from
// each other and within low and high where there is room for that. The positions
// are sorted upwards.
func Place(positions []float64, gap, low, high float64) []float64 {
	placed := make([]float64, len(positions))
	for i, p := range positions {
		placed[i] = max(p, low)
		if i > 0 {
			placed[i] = max(placed[i], placed[i-1]+gap)
		}
	}
	limit := high
	for i := len(placed) - 1; i >= 0 && placed[i] > limit; i-- {
		placed[i] = limit
		limit -= gap
	}
	return placed
}

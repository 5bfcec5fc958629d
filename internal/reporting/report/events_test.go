package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// flapped is a document of a route flap row, and of one in which no end was seen.
func flapped() *Document {
	row := v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Test: "flap", Method: v1alpha1.MethodRouteFlap, FrameSize: 128, Load: "20000fps"},
		Frames: &v1alpha1.FrameSection{LineRatePPM: 20_000, FramesPerSecond: 16_892, OfferedFramesPerSecond: 16_892, Sent: 100, Received: 100}, Validity: v1alpha1.ValidityValid,
		RouteFlap: &v1alpha1.RouteFlapSummary{
			Flaps: 3, Routes: 200_000, Flapped: 50_000, FlappedLost: 7, Elsewhere: 4321, LowestFlappedPPM: 400_000, ResolutionNs: 100_000_000,
			Withdraw: v1alpha1.EventTimes{MinNs: 1_000_000, AvgNs: 2_000_000, MaxNs: 3_000_000, LossDerivedAvgNs: 1_500_000},
			Announce: v1alpha1.EventTimes{MinNs: 4_000_000, AvgNs: 5_000_000, MaxNs: 6_000_000, LossDerivedAvgNs: 4_500_000, Unseen: 1},
		},
	}
	unseen := row
	unseen.FrameSize, unseen.RouteFlap = 512, &v1alpha1.RouteFlapSummary{Flaps: 2, Withdraw: v1alpha1.EventTimes{Unseen: 2}, Announce: v1alpha1.EventTimes{Unseen: 2}}
	return &Document{Rows: []v1alpha1.ResultRow{row, unseen}}
}

// Events have lines in a table of their own in every format, and the main table has loss
// and rates.
func TestEventsOfARow(t *testing.T) {
	t.Parallel()
	text := flapped().Text()
	for _, want := range []string{
		"  Events\n",
		"withdraw  128 B      3  1.000  2.000  3.000         1.500       0\n",
		"announce  128 B      3  4.000  5.000  6.000         4.500       1\n",
		"withdraw  512 B      2      -      -      -             -       2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	main, _, _ := strings.Cut(text, "  Events\n")
	if strings.Contains(main, "withdraw") || !strings.Contains(main, "elsewhere") {
		t.Errorf("the main table has events:\n%s", main)
	}
	markdown, err := flapped().markdown()
	if want := "| announce | 128 B | 3 | 4.000 | 5.000 | 6.000 | 4.500 | 1 |"; err != nil || !strings.Contains(string(markdown), "### Events\n") || !strings.Contains(string(markdown), want) {
		t.Errorf("%v: no %q in\n%s", err, want, markdown)
	}
	page, err := flapped().html()
	if err != nil || !strings.Contains(string(page), "<h3>Events</h3>") || strings.Count(string(page), `<th scope="row" class="left first">withdraw</th>`) != 2 {
		t.Errorf("%v: no events in\n%s", err, page)
	}
}

// An event after which no frame was missing took no time that can be seen; that is a number.
func TestEventsThatTookNoTime(t *testing.T) {
	t.Parallel()
	d := flapped()
	d.Rows[0].RouteFlap.Withdraw = v1alpha1.EventTimes{}
	if text, want := d.Text(), "withdraw  128 B      3  0.000  0.000  0.000         0.000       0\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// Times of a table have one unit: seconds if its largest value has ten and more of them.
func TestUnitOfLongEvents(t *testing.T) {
	t.Parallel()
	for longest, want := range map[int64][]string{
		9_999_000_000:  {"took, ms", "withdraw  128 B      3  1.000  2.000  9,999.000 ", "announce  128 B      3  4.000  5.000      6.000 "},
		83_456_789_000: {"took, s", "withdraw  128 B      3  0.001  0.002  83.457 ", "announce  128 B      3  0.004  0.005   0.006 "},
	} {
		d := flapped()
		d.Rows[0].RouteFlap.Withdraw.MaxNs = longest
		text := d.Text()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
}

// Charts of rates are as wide as two others.
func TestChartsOfRatesAreWide(t *testing.T) {
	t.Parallel()
	d := flapped()
	row := d.Rows[0]
	row.Series = seriesOf(1000, 70)
	c := d.byTest()[0].ratesOverTime("rates", row)[0]
	if c.Width != layout.WideChart || c.Right-c.Left < 0.8*layout.WideChart {
		t.Errorf("%v wide, with %v for the data", c.Width, c.Right-c.Left)
	}
	if page, err := render("chart", c); err != nil || !strings.HasPrefix(string(page), `<figure class="wide">`) {
		t.Errorf("%v\n%s", err, page)
	}
}

// A method that measures nothing but events has no column in the main table, and its
// finished row says the times.
func TestRowsOfEventsAlone(t *testing.T) {
	t.Parallel()
	d := flapped()
	d.Rows = d.Rows[:1]
	row := &d.Rows[0]
	row.Method, row.RouteFlap, row.Latency = v1alpha1.MethodConvergence, nil, &v1alpha1.LatencySummary{AvgNs: 1000, P50Ns: 1}
	row.Convergence = &v1alpha1.ConvergenceSummary{Cycles: 2, Routes: 8, Announce: v1alpha1.EventTimes{MinNs: 1_000_000, AvgNs: 2_000_000, MaxNs: 3_000_000, LossDerivedAvgNs: 1_500_000}}
	text := d.Text()
	if !strings.Contains(text, "announce  128 B      2  1.000  2.000  3.000         1.500       0\n") || strings.Contains(text, "latency") {
		t.Errorf("\n%s", text)
	}
	if line := RowLine(*row); !strings.Contains(line, "announce avg 2.000 ms") {
		t.Error(line)
	}
	var kinds []string
	for _, line := range d.byTest()[0].events().grid.Rows {
		kinds = append(kinds, line[0])
	}
	if !slices.Equal(kinds, []string{"announce", "withdraw"}) {
		t.Errorf("%q", kinds)
	}
}

// seriesOf is a series of so many points of a second each.
func seriesOf(rate int64, points int) *v1alpha1.RateSeries {
	s := &v1alpha1.RateSeries{Samples: int32(points), PointMilliseconds: 1000, DurationMilliseconds: 1000 * int64(points)}
	for range points {
		s.Points.SentFramesPerSecond = append(s.Points.SentFramesPerSecond, rate)
		s.Points.ReceivedFramesPerSecond = append(s.Points.ReceivedFramesPerSecond, rate)
	}
	return s
}

// Each withdrawal and announcement is a labelled line at its time, and the stable networks
// have a chart of their own.
func TestEventsAreDrawn(t *testing.T) {
	t.Parallel()
	d := flapped()
	row := d.Rows[0]
	row.Series, row.RouteFlap.Stable = seriesOf(1000, 70), seriesOf(3000, 70)
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	test := v1alpha1.RouteFlapTest{Flaps: 3, LeadTime: seconds(10), WithdrawnTime: seconds(10), AnnouncedTime: seconds(10)}
	d.Spec.Tests = []v1alpha1.Test{{Name: "flap", RouteFlap: &test}}
	charts := d.byTest()[0].ratesOverTime("rates", row)
	if len(charts) != 2 {
		t.Fatalf("%d charts, want one of the flapping and one of the stable networks", len(charts))
	}
	c, stable := charts[0], charts[1]
	var labels []string
	for _, e := range c.Events {
		labels = append(labels, e.Label)
	}
	if want := []string{"withdraw", "announce", "withdraw", "announce", "withdraw", "announce"}; !slices.Equal(labels, want) {
		t.Errorf("%q", labels)
	}
	if len(c.Series) != 2 || len(stable.Series) != 1 || len(stable.Events) != 6 || !strings.Contains(stable.Description, "received: 3,000 to 3,000 frames/s") || !strings.Contains(c.Description, "withdraw at 30s.") {
		t.Errorf("%d and %d series: %s %s", len(c.Series), len(stable.Series), c.Description, stable.Description)
	}
	// 10 s of the axis, which ends with the data at 70 s.
	if at := layout.Coordinate(c.Left + (c.Right-c.Left)/7); c.Events[0].At != at || c.Series[1].EndX != c.Right {
		t.Errorf("the first line is at %s, want %s; the data end at %v, want %v", c.Events[0].At, at, c.Series[1].EndX, c.Right)
	}
	page, err := render("chart", c)
	if err != nil || strings.Count(string(page), `class="event"`) != 6 || !strings.Contains(string(page), "rotate(-90)\">withdraw</text>") {
		t.Errorf("%v\n%s", err, page)
	}
	// Labels that would cover each other are left out, and no line is.
	test.Flaps, test.LeadTime, test.WithdrawnTime, test.AnnouncedTime = 30, seconds(1), seconds(1), seconds(1)
	if c := d.byTest()[0].ratesOverTime("rates", row)[0]; len(c.Events) != 60 || c.Events[1].Label != "" || c.Events[0].Label == "" {
		t.Errorf("%+v", c.Events)
	}
	row.Series = nil
	if c := d.byTest()[0].ratesOverTime("rates", row); c != nil {
		t.Errorf("%+v of nothing", c)
	}
}

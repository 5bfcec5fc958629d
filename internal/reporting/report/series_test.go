package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// dipping is a soak of ten minutes that received nothing in one minute of them.
func dipping() *Document {
	series := &v1alpha1.RateSeries{Samples: 600, MaxReceivedFramesPerSecond: 1_500_000, AvgReceivedFramesPerSecond: 1_350_000}
	series.PointMilliseconds, series.DurationMilliseconds = 60_000, 600_000
	p := &series.Points
	for minute := range 10 {
		lowest := int64(1_500_000)
		if minute == 3 {
			lowest = 0
		}
		p.SentFramesPerSecond = append(p.SentFramesPerSecond, 1_500_000)
		p.ReceivedFramesPerSecond = append(p.ReceivedFramesPerSecond, max(lowest, 10))
		p.MinReceivedFramesPerSecond = append(p.MinReceivedFramesPerSecond, lowest)
	}
	row := v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Test: "soak", Method: v1alpha1.MethodSoak, FrameSize: 64, Load: "50%"},
		Frames: &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: 1_500_000, Sent: 1, Received: 1}, Validity: v1alpha1.ValidityContended, Series: series,
	}
	return &Document{Rows: []v1alpha1.ResultRow{row}}
}

func TestRatesOverTimeAreDrawn(t *testing.T) {
	c := dipping().byTest()[0].ratesOverTime("rates", dipping().Rows[0])[0]
	if c == nil || len(c.Series) != 3 || c.XTitle != "time, min" || c.YTitle != "million frames/s" || c.Title != "Rates over time, 64 B at 50%" {
		t.Fatalf("%+v", c)
	}
	for i, want := range []string{"sent", "received", "lowest"} {
		s := c.Series[i]
		if s.Label != want || strings.Count(s.Path, "L") != 9 || !strings.HasPrefix(s.Path, "M") || s.Key == "" {
			t.Errorf("%+v, want the line of %s", s, want)
		}
	}
	// The fourth minute lies on the axis.
	if points := strings.Split(c.Series[2].Path, "L"); !strings.HasSuffix(points[3], " 296.0") || strings.HasSuffix(points[2], " 296.0") {
		t.Errorf("path %s", c.Series[2].Path)
	}
	if want := "received: 10 to 1,500,000 frames/s, 1,500,000 at the end. lowest: 0 to 1,500,000 frames/s"; !strings.Contains(c.Description, want) {
		t.Errorf("description %q", c.Description)
	}
	if !strings.Contains(c.Caption, "600 sampling intervals") || !strings.Contains(c.Caption, "in doubt") {
		t.Errorf("caption %q", c.Caption)
	}
	row := dipping().Rows[0]
	row.Series.Points.MinReceivedFramesPerSecond = nil
	row.Series.PointMilliseconds, row.Series.DurationMilliseconds = 60, 600
	if c := dipping().byTest()[0].ratesOverTime("rates", row)[0]; len(c.Series) != 2 || c.XTitle != "time, ms" {
		t.Errorf("%+v", c)
	}
	row.Series = nil
	if c := dipping().byTest()[0].ratesOverTime("rates", row); c != nil {
		t.Errorf("%+v of nothing", c)
	}
}

func TestSeriesInEveryFormat(t *testing.T) {
	d := dipping()
	for format, want := range map[Format]string{
		FormatTable:    "64 B: receive rate of 0 to 1,500,000 frames/s in 600 sampling intervals, 1,350,000 on average",
		FormatMarkdown: "- 64 B: receive rate of 0 to 1,500,000 frames/s in 600 sampling intervals, 1,350,000 on average",
		FormatHTML:     `aria-labelledby="test-1-rates-1-title test-1-rates-1-text"`,
		FormatJSON:     `"pointMilliseconds": 60000`,
	} {
		var b bytes.Buffer
		if err := d.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: no %q in\n%s", format, want, &b)
		}
	}
	var b bytes.Buffer
	if err := d.Write(&b, FormatCSV); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for i, name := range lines[0] {
		cells[name] = lines[1][i]
	}
	for name, want := range map[string]string{
		"series_samples": "600", "series_min_received_frames_per_second": "0",
		"series_avg_received_frames_per_second": "1350000", "series_max_received_frames_per_second": "1500000",
	} {
		if cells[name] != want {
			t.Errorf("%s is %q, want %s", name, cells[name], want)
		}
	}
}

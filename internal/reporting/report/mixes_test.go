package report

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// mixes is a result over two frame sizes and two mixes, one with a long name, in
// which the last row is missing.
func mixes() *Document {
	d := curves()
	d.Benchmark.Name = "mixes"
	d.Phase, d.Message, d.Notes = v1alpha1.PhaseAborted, "the benchmark was aborted", nil
	d.Profile.FrameSizes = []int32{64, 9216}
	d.Profile.FrameMixes = []v1alpha1.FrameMix{
		{Name: "imix-simple", IMIX: v1alpha1.IMIXSimple},
		{Name: "genome-of-core", Genome: "aaafgz", MTU: 9000},
	}
	name := func(row v1alpha1.ResultRow, mix string, fps, bits int64) v1alpha1.ResultRow {
		row.Frames = row.Frames.DeepCopy()
		row.FrameSize, row.FrameMix, row.Frames.FramesPerSecond, row.Frames.BitsPerSecond = 0, mix, fps, bits
		row.Frames.OfferedFramesPerSecond = fps
		return row
	}
	var rows []v1alpha1.ResultRow
	for _, row := range d.Rows {
		row.Frames.Lost, row.Frames.Received = row.Frames.Lost/1_000_000_000, row.Frames.Sent-row.Frames.Lost/1_000_000_000
		// What the others have at 1518 bytes is that of the mixes here.
		if row.FrameSize != 1518 {
			rows = append(rows, row)
			continue
		}
		row.Frames.Reordered = new(int64(17))
		rows = append(rows, name(row, "imix-simple", 8_559_442_550, 24_228_928_766_800),
			name(row, "genome-of-core", 1_644_000_000, 26_000_000_000_000))
	}
	order := func(row v1alpha1.ResultRow) int {
		return slices.Index([]string{"", "imix-simple", "genome-of-core"}, row.FrameMix)
	}
	slices.SortStableFunc(rows, func(a, b v1alpha1.ResultRow) int {
		if a.Test != b.Test {
			return -strings.Compare(a.Test, b.Test)
		}
		return order(a) - order(b)
	})
	d.Rows = rows[:len(rows)-1]
	return d
}

// A mix has no size of its own: its name stands wherever that of a size does.
func TestMixesAreNamed(t *testing.T) {
	d := mixes()
	plain := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	texts := map[Format][]string{
		FormatTable:    {"\n     imix-simple  ", "mix imix-simple (7:4:1 of 64, 570, 1518 B)", "mix genome-of-core (genome aaafgz, 3:1:1:1 of 64, 1280, 1518, 9018 B)", "  mix imix-simple, mix genome-of-core: 17 of"},
		FormatMarkdown: {"\n| imix-simple |"},
		FormatHTML:     {">imix-simple</th>", ">imix-simple</text>", ">genome-of-core</text>", "genome-of-core: 99.9940% of line rate"},
		FormatCSV:      {",Throughput,0,imix-simple,"},
		FormatJUnit:    {`name="mix imix-simple"`, `name="mix imix-simple at 50%"`, `<testcase name="mix genome-of-core at throughput" classname="team-routing.mixes.latency" time="0.000">` + "\n      <skipped type=\"NotMeasured\""},
		FormatJSON:     {"\"method\": \"Throughput\",\n      \"frameMix\": \"imix-simple\""},
	}
	for format, wants := range texts {
		var b strings.Builder
		if err := d.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) && !strings.Contains(plain(b.String()), want) {
				t.Errorf("%s has no %q", format, want)
			}
		}
		if strings.Contains(b.String(), "0 B ") || strings.Contains(b.String(), ">0 B") {
			t.Errorf("%s has frames of 0 bytes", format)
		}
	}
	if line := RowLine(d.Rows[2]); !strings.HasPrefix(line, "throughput mix imix-simple: 8,559,442,550 frames/s, 24.229 Tbit/s") {
		t.Errorf("%s", line)
	}
}

// Two mixes have a line each in the tables of jitter, and the rates of a mix over
// time its name.
func TestMixesHaveLinesAndCurvesOfTheirOwn(t *testing.T) {
	d := mixes()
	rows := d.byTest()[1].rows
	for _, table := range (testResults{rows: rows}).jitterByLoad() {
		var sizes []string
		for _, cells := range table.grid.Rows {
			sizes = append(sizes, cells[0])
		}
		if want := []string{"64", "9216", "imix-simple", "genome-of-core"}; !slices.Equal(sizes, want) {
			t.Errorf("%s of %v, not of %v", table.title, sizes, want)
		}
	}
	row := rows[len(rows)-1]
	row.Series = &v1alpha1.RateSeries{
		DurationMilliseconds: 1000, PointMilliseconds: 1000,
		Points: v1alpha1.RatePoints{SentFramesPerSecond: []int64{10}, ReceivedFramesPerSecond: []int64{10}},
	}
	if c := (testResults{rows: rows}).ratesOverTime("rates", row)[0]; !strings.HasPrefix(c.Title, "Rates over time, mix genome-of-core at ") {
		t.Errorf("%q", c.Title)
	}
}

// The sizes of a result that named none are those of RFC 2544.
func TestDefaultSizesAreShown(t *testing.T) {
	content := Content{Benchmark: objects.Benchmark("", ""), Profile: objects.TrafficProfile("", "")}
	profile := &content.Profile.Spec
	if d := New(content); len(d.Profile.FrameSizes) != 7 || profile.FrameSizes != nil {
		t.Errorf("%v, of %v", d.Profile.FrameSizes, profile.FrameSizes)
	}
	profile.FrameMixes = []v1alpha1.FrameMix{{Name: "only", Genome: "a"}}
	if d := New(content); len(d.Profile.FrameSizes) != 0 {
		t.Errorf("%v beside a mix", d.Profile.FrameSizes)
	}
}

package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

func TestCSVHasALinePerRow(t *testing.T) {
	for name, d := range allDocuments() {
		var b bytes.Buffer
		if err := d.Write(&b, FormatCSV); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Count(text, "\r\n") != strings.Count(text, "\n") {
			t.Errorf("%s: lines do not end as RFC 4180 says", name)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(lines) != 1+len(d.Rows) {
			t.Fatalf("%s: %d lines for %d rows", name, len(lines), len(d.Rows))
		}
		at := map[string]int{}
		for i, column := range lines[0] {
			at[column] = i
		}
		for i, row := range d.Rows {
			cell := func(column string) string { return lines[1+i][at[column]] }
			frames := row.Frames.OrZero()
			for column, want := range map[string]int64{
				"frame_size_bytes": int64(row.FrameSize), "intended_line_rate_ppm": frames.LineRatePPM, "intended_frames_per_second": frames.FramesPerSecond,
				"intended_bits_per_second": frames.BitsPerSecond, "offered_frames_per_second": frames.OfferedFramesPerSecond, "lost_frames": frames.Lost, "trial_milliseconds": frames.TrialMilliseconds,
			} {
				if got := cell(column); got != strconv.FormatInt(want, 10) {
					t.Errorf("%s row %d: %s is %q, want %d", name, i, column, got, want)
				}
			}
			if row.Latency == nil && cell("latency_min_ns")+cell("latency_jitter_max_ns") != "" {
				t.Errorf("%s row %d: latency that was not measured is written", name, i)
			}
			if row.Latency != nil && cell("latency_max_ns") != strconv.FormatInt(row.Latency.MaxNs, 10) {
				t.Errorf("%s row %d: latency_max_ns is %q", name, i, cell("latency_max_ns"))
			}
			if cell("benchmark") != d.Benchmark.Name || cell("test") != row.Test || cell("message") != row.Message {
				t.Errorf("%s row %d: %q", name, i, lines[1+i])
			}
		}
	}
}

const csvBegin, csvEnd = "<!-- columns: begin -->\n", "<!-- columns: end -->"

// The table of columns in docs is generated from the Go types and their comments.
func TestCSVColumnsAreDocumented(t *testing.T) {
	comments := describe(t).comments
	var b strings.Builder
	b.WriteString("\n| column | meaning |\n|---|---|\n")
	for _, c := range [][2]string{
		{"namespace", "namespace of the benchmark."}, {"benchmark", "name of the benchmark."},
		{"phase", "phase of the benchmark: Passed, Measured, Inconclusive, Failed, Invalid, Aborted or Error."}, {"test_bed", "the bed that was used."},
	} {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c[0], c[1])
	}
	for _, c := range append(csvColumns(reflect.TypeFor[v1alpha1.ResultRow](), ""), csvColumns(reflect.TypeFor[compare.Deltas](), csvDifference)...) {
		comment := comments[c.owner.Name()+"."+c.field.Name]
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.name, strings.ReplaceAll(comment, "|", `\|`))
	}
	b.WriteString("\n")
	path := filepath.Join(docs, "report-formats.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), csvBegin)
	_, behind, ends := strings.Cut(rest, csvEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the columns", path)
	}
	golden(t, path, before+csvBegin+b.String()+csvEnd+behind)
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"lineRatePPM": "line_rate_ppm", "p999Ns": "p999_ns", "sent": "sent", "bitsPerSecond": "bits_per_second"} {
		if got := snake(name); got != want {
			t.Errorf("snake(%s) = %s, want %s", name, got, want)
		}
	}
}

package runner_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// deltas is a published table of differences: per frame size those of the mean
// and of the highest latency, in microseconds as printed.
type deltas map[int32][2]string

func readDeltas(t *testing.T, text string) deltas {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines[0], ","); got != "frame_size_bytes,latency_avg_delta_us,latency_max_delta_us" {
		t.Fatalf("columns %s", got)
	}
	table := deltas{}
	for _, line := range lines[1:] {
		size, err := strconv.ParseInt(line[0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		table[int32(size)] = [2]string{line[1], line[2]}
	}
	return table
}

// nanoseconds reads a number of microseconds with three decimals.
func nanoseconds(t *testing.T, text string) int64 {
	t.Helper()
	ns, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if err != nil || len(text) < 5 || text[len(text)-4] != '.' {
		t.Fatalf("%q is not a number with three decimals", text)
	}
	return ns
}

func microseconds(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// models are a device without and with the differences: latencies that the
// differences leave in order, whatever they are.
func models(t *testing.T, table deltas) map[v1alpha1.VariantName]string {
	t.Helper()
	const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us\n"
	off, on := header, header
	for size, delta := range table {
		avg, highest := nanoseconds(t, delta[0]), nanoseconds(t, delta[1])
		low := int64(1500)
		mean := low + 900 + max(0, -avg)
		top := mean + 2000 + max(0, avg) + max(0, -highest)
		line := func(mean, top int64) string {
			return fmt.Sprintf("%d,69.6875,%s,%s,%s,0.129,1.720\n", size, microseconds(low), microseconds(mean), microseconds(top))
		}
		off += line(mean, top)
		on += line(mean+avg, top+highest)
	}
	return map[v1alpha1.VariantName]string{"fec-off": off, "fec-on": on}
}

// measure runs one benchmark on both models, and returns its report.
func measure(t *testing.T, table deltas, ports int32) *report.Document {
	t.Helper()
	var cfg runner.Config
	cfg.Bed.Name = "chassis"
	model := v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "models", Key: "off.csv"}}
	other := v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "models", Key: "on.csv"}}
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{Model: model}
	cfg.Bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{
		{Name: "fec-off"}, {Name: "fec-on", Simulated: &v1alpha1.SimulatedVariant{Model: &other}},
	}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: ports, Speed: "100G"}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{
		Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
	}
	for size := range int32(frame.MaxSize + 1) {
		if _, there := table[size]; there {
			cfg.Profile.Spec.FrameSizes = append(cfg.Profile.Spec.FrameSizes, size)
		}
	}
	cfg.Benchmark.Name, cfg.Benchmark.Namespace = "fec", "team-routing"
	cfg.Benchmark.Spec.Variants = []v1alpha1.VariantName{"fec-off", "fec-on"}
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed, Resolution: "0.0001%"}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%", "throughput"}}},
	}
	if err := manifest.Default(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		t.Fatal(err)
	}
	texts := models(t, table)
	var prepared []runner.Prepared
	for _, variant := range cfg.Benchmark.Spec.Variants {
		one := cfg
		one.Variant, one.Model = variant, texts[variant]
		engine, err := runner.NewSim(one)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.Close() })
		prepared = append(prepared, runner.Prepared{Config: one, Generator: engine})
	}
	state := runner.RunVariants(context.Background(), prepared)
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 2*3*len(table) {
		t.Fatalf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	b := cfg.Benchmark
	b.Status = v1alpha1.BenchmarkStatus{Phase: state.Outcome, Message: state.Message}
	return report.New(report.Content{Benchmark: &b, Rows: state.Rows, Environment: state.Environment, Profile: &cfg.Profile})
}

// check looks for every difference of the table in the report as it is printed:
// in the differences of the throughput test, and in those of the latency at the
// throughput.
func check(t *testing.T, table deltas, d *report.Document) {
	t.Helper()
	written := map[report.Format]string{}
	for _, format := range []report.Format{report.FormatTable, report.FormatMarkdown, report.FormatHTML, report.FormatCSV} {
		var b bytes.Buffer
		if err := d.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		written[format] = b.String()
	}
	for size, delta := range table {
		mean, top := printed(delta[0]), printed(delta[1])
		minus := strings.NewReplacer("-", "−")
		for format, want := range map[report.Format][2][]string{
			report.FormatTable: {
				{fmt.Sprint(size), "0", "0.0000", "0.000", mean, top, "0.000", "0.000"},
				{fmt.Sprint(size), "throughput", "0.000", mean, top, "0.000", "0.000"}},
			report.FormatMarkdown: {
				{fmt.Sprint(size), "0", "0.0000", "0.000", mean, top, "0.000", "0.000"},
				{fmt.Sprint(size), "throughput", "0.000", mean, top, "0.000", "0.000"}},
			report.FormatHTML: {
				{fmt.Sprint(size), "0", "0.0000", "0.000", minus.Replace(mean), minus.Replace(top), "0.000", "0.000"},
				{fmt.Sprint(size), "throughput", "0.000", minus.Replace(mean), minus.Replace(top), "0.000", "0.000"}},
		} {
			for i, cells := range want {
				if after := section(t, written[format], []string{"throughput", "latency"}[i]); !hasLine(after, cells) {
					t.Errorf("%s: no line %q among the differences", format, cells)
				}
			}
		}
	}
	lines, err := csv.NewReader(strings.NewReader(written[report.FormatCSV])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range lines[0] {
		at[name] = i
	}
	found := 0
	for _, line := range lines[1:] {
		size, _ := strconv.ParseInt(line[at["frame_size_bytes"]], 10, 32)
		mean, top := line[at["difference_latency_avg_ns"]], line[at["difference_latency_max_ns"]]
		switch {
		case line[at["variant"]] == "fec-off":
			if mean+top != "" {
				t.Errorf("the first variant differs from itself: %q", line)
			}
		case line[at["load"]] != "50%":
			found++
			want := table[int32(size)]
			if mean != fmt.Sprint(nanoseconds(t, want[0])) || top != fmt.Sprint(nanoseconds(t, want[1])) {
				t.Errorf("csv: %d B: %s and %s ns, want %s and %s us", size, mean, top, want[0], want[1])
			}
		}
	}
	if found != 2*len(table) {
		t.Errorf("csv: %d lines with differences, want %d", found, 2*len(table))
	}
}

// printed is a published difference with the sign that a report gives it.
func printed(delta string) string {
	if strings.HasPrefix(delta, "-") || delta == "0.000" {
		return delta
	}
	return "+" + delta
}

// section is the table of differences of a test.
func section(t *testing.T, text, test string) string {
	t.Helper()
	title := "Difference of fec-on from fec-off: test " + test
	at := strings.LastIndex(text, title) // Contents name it before.
	if at < 0 {
		t.Fatalf("no table %q in\n%s", title, text)
	}
	rest, _, _ := strings.Cut(text[at+len(title):], "\nDifference")
	rest, _, _ = strings.Cut(rest, "\n## ")
	rest, _, _ = strings.Cut(rest, "</section>")
	return rest
}

var markup = strings.NewReplacer("</th>", " ", "</td>", " ", "|", " ", "&#43;", "+")

// hasLine reports whether a line of a table has just these cells.
func hasLine(table string, cells []string) bool {
	for line := range strings.Lines(table) {
		var got []string
		line = markup.Replace(line)
		for line != "" {
			var text string
			text, line, _ = strings.Cut(line, "<")
			got = append(got, strings.Fields(text)...)
			if _, rest, inTag := strings.Cut(line, ">"); inTag {
				line = rest
			}
		}
		if strings.Join(got, " ") == strings.Join(cells, " ") {
			return true
		}
	}
	return false
}

// The published differences of forward error correction come back from a
// benchmark that measures a chassis of 256 ports with it and without: one by one,
// the negative maxima too.
func TestVariantsGiveThePublishedDifferencesBack(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "nexus9508_fec_latency_delta.csv"))
	if err != nil {
		t.Fatal(err)
	}
	table := readDeltas(t, string(text))
	if len(table) != 8 {
		t.Fatalf("%d frame sizes, want 8", len(table))
	}
	check(t, table, measure(t, table, 256))
}

// So do those of any other table with the same columns.
func TestVariantsGiveAnyDifferencesBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 33))
	for range 20 {
		text := "frame_size_bytes,latency_avg_delta_us,latency_max_delta_us\n"
		signed := func() string {
			ns := rng.Int64N(100_000) - 50_000
			if ns < 0 {
				return "-" + microseconds(-ns)
			}
			return microseconds(ns)
		}
		for size := 64 + rng.IntN(500); size <= frame.MaxSize; size += 1 + rng.IntN(2000) {
			text += fmt.Sprintf("%d,%s,%s\n", size, signed(), signed())
		}
		table := readDeltas(t, text)
		check(t, table, measure(t, table, 4))
	}
}

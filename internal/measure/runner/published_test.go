package runner

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// table is a CSV table by frame size and column.
type table map[string]map[string]string

// readPublished reads a published table, whose first column is the frame size.
func readPublished(t *testing.T, text string) table {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%d lines of a published table: %v", len(lines), err)
	}
	out := table{}
	for _, line := range lines[1:] {
		out[line[0]] = map[string]string{}
		for i, name := range lines[0] {
			out[line[0]][name] = line[i]
		}
	}
	return out
}

// rendered is a finished benchmark as a reader gets it.
type rendered struct {
	// rows of the report in CSV, by column.
	rows []map[string]string
	// tables of the report in Markdown by their headings, a row by column.
	tables map[string][]map[string]string
	html   string
}

// render writes a state as the reports that people are given, and reads them
// back.
func render(t *testing.T, cfg Config, state State) rendered {
	t.Helper()
	b := cfg.Benchmark.DeepCopy()
	b.Status.Phase, b.Status.Message, b.Status.TestBedName = state.Outcome, state.Message, cfg.Bed.Name
	d := report.New(report.Content{Benchmark: b, Rows: state.Rows, Environment: state.Environment, Profile: &cfg.Profile})
	text := func(format report.Format) string {
		var out bytes.Buffer
		if err := d.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	lines, err := csv.NewReader(strings.NewReader(text(report.FormatCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	r := rendered{tables: markdownTables(text(report.FormatMarkdown)), html: text(report.FormatHTML)}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		r.rows = append(r.rows, row)
	}
	return r
}

// markdownTables reads all tables with a heading of their own.
func markdownTables(text string) map[string][]map[string]string {
	tables := map[string][]map[string]string{}
	heading := ""
	var names []string
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
			heading, names = strings.TrimLeft(line, "# "), nil
		case !strings.HasPrefix(line, "|"):
		case names == nil:
			names = cells
		case !strings.HasPrefix(cells[0], "-"):
			row := map[string]string{}
			for i, name := range names {
				row[name] = cells[i]
			}
			tables[heading] = append(tables[heading], row)
		}
	}
	return tables
}

// comesBack holds a benchmark against the published tables that its device is
// modelled from.
func comesBack(t *testing.T, cfg Config) {
	t.Helper()
	state := runSim(t, cfg)
	if state.Outcome != v1alpha1.PhaseMeasured {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	r := render(t, cfg, state)
	published := readPublished(t, cfg.Model)
	sizes := 0
	for _, row := range r.tables["Test throughput"] {
		sizes++
		want := published[row["frame bytes"]]
		near(t, row, offered(row, "% of line rate"), want["line_rate_percent"], 0.0001, 0)
		// What is published as frames/s was measured, with a clock of the tester's own;
		// the report prints whole frames.
		near(t, row, offered(row, "frames/s"), want["frames_per_second"], 0.5, 1e-6)
		delaysComeBack(t, row, want)
		r.inHTML(t, want)
	}
	for _, row := range r.tables["Test latency"] {
		if row["intended load"] == string(v1alpha1.LoadThroughput) {
			want := published[row["frame bytes"]]
			near(t, row, offered(row, "% of line rate"), want["line_rate_percent"], 0.0001, 0)
			delaysComeBack(t, row, want)
			sizes++
		}
	}
	if sizes != 2*len(published) {
		t.Errorf("%d rows at the throughput, want two for each of %d frame sizes", sizes, len(published))
	}
	for _, row := range r.rows {
		cellsComeBack(t, row, published[row["frame_size_bytes"]])
	}
	jitterComesBack(t, r, "Average", cfg.JitterAverageByLoad)
	jitterComesBack(t, r, "Maximum", cfg.JitterMaximumByLoad)
}

// offered is the column of an offered load: of multicast it is that of all receivers.
func offered(row map[string]string, unit string) string {
	if column := "offered to all receivers " + unit; row[column] != "" {
		return column
	}
	return "offered " + unit
}

// near compares two printed numbers, by an absolute or a relative distance.
func near(t *testing.T, row map[string]string, column, want string, absolute, relative float64) {
	t.Helper()
	got, err := strconv.ParseFloat(strings.ReplaceAll(row[column], ",", ""), 64)
	exact, published := strconv.ParseFloat(want, 64)
	if off := got - exact; err != nil || published != nil || off > absolute*1.001+exact*relative || -off > absolute*1.001+exact*relative {
		t.Errorf("%s B %s: %s is %q, want %q", row["frame bytes"], row["intended load"], column, row[column], want)
	}
}

// delaysComeBack compares latency and jitter to the printed digit.
func delaysComeBack(t *testing.T, row, want map[string]string) {
	t.Helper()
	for printed, column := range map[string]string{
		"latency min, us": "latency_min_us", "latency avg, us": "latency_avg_us", "latency max, us": "latency_max_us",
		"jitter avg, us": "jitter_avg_us", "jitter max, us": "jitter_max_us",
	} {
		if strings.ReplaceAll(row[printed], ",", "") != want[column] {
			t.Errorf("%s B %s: %s is %q, want %q", row["frame bytes"], row["intended load"], printed, row[printed], want[column])
		}
	}
	if row["frames lost"] != "0" || row["validity"] != string(v1alpha1.ValiditySimulated) {
		t.Errorf("%s B %s: %s lost, %s", row["frame bytes"], row["intended load"], row["frames lost"], row["validity"])
	}
}

// inHTML looks for the figures of a row in the table of the report for people.
func (r rendered) inHTML(t *testing.T, want map[string]string) {
	t.Helper()
	for _, column := range []string{"latency_avg_us", "latency_max_us", "jitter_avg_us", "jitter_max_us"} {
		figure, ok := new(big.Rat).SetString(want[column])
		if !ok {
			t.Fatalf("%s: %q", column, want[column])
		}
		if figure.Cmp(big.NewRat(1000, 1)) < 0 && !strings.Contains(r.html, ">"+want[column]+"</td>") {
			t.Errorf("%s B: no %s %s in the HTML", want["frame_size_bytes"], column, want[column])
		}
	}
}

// cellsComeBack compares a row in CSV: bit rate to every digit that is published,
// and at the throughput latency and jitter in whole nanoseconds.
func cellsComeBack(t *testing.T, row, want map[string]string) {
	t.Helper()
	name := fmt.Sprintf("%s %s B %s", row["test"], row["frame_size_bytes"], row["load"])
	if row["lost_frames"] == "0" && row["message"] != "" {
		t.Errorf("%s: %s", name, row["message"])
	}
	if n := row["multicast_receivers"]; n != "" && row["lost_frames"] == "0" {
		receivers, _ := new(big.Int).SetString(n, 10)
		sent, _ := new(big.Int).SetString(row["sent_frames"], 10)
		if got := receivers.Mul(receivers, sent).String(); row["received_frames"] != got || n == "0" {
			t.Errorf("%s: %s frames were received by %s ports, want %s", name, row["received_frames"], n, got)
		}
	}
	if row["load"] != "" && row["load"] != string(v1alpha1.LoadThroughput) {
		return
	}
	bits, ok := new(big.Rat).SetString(row["intended_bits_per_second"])
	if !ok {
		t.Fatalf("%s: intended_bits_per_second %q", name, row["intended_bits_per_second"])
	}
	if row["offered_frames_per_second"] != row["intended_frames_per_second"] {
		t.Errorf("%s: offered %s of %s frames/s", name, row["offered_frames_per_second"], row["intended_frames_per_second"])
	}
	if got := bits.Quo(bits, big.NewRat(1_000_000_000_000, 1)).FloatString(3); got != want["tbit_per_second"] {
		t.Errorf("%s: %s Tbit/s, want %s", name, got, want["tbit_per_second"])
	}
	for _, column := range []string{"latency_min", "latency_avg", "latency_max", "jitter_avg", "jitter_max"} {
		cell := "latency_" + strings.TrimPrefix(column, "latency_") + "_ns"
		us, _ := new(big.Rat).SetString(want[column+"_us"])
		if ns := us.Mul(us, big.NewRat(1000, 1)).FloatString(0); row[cell] != ns {
			t.Errorf("%s: %s is %s, want %s", name, cell, row[cell], ns)
		}
	}
}

// jitterComesBack compares a table of jitter by load, NA included.
func jitterComesBack(t *testing.T, r rendered, what, text string) {
	t.Helper()
	if text == "" {
		return
	}
	rows := r.tables[what+" jitter by load"]
	published := readPublished(t, text)
	if len(rows) != len(published) {
		t.Errorf("%s jitter of %d frame sizes, want %d", what, len(rows), len(published))
	}
	for _, row := range rows {
		for column, want := range published[row["frame bytes"]] {
			load := strings.TrimSuffix(strings.TrimPrefix(column, "load_"), "_percent_us") + "%"
			switch column {
			case "frame_size_bytes":
				continue
			case "throughput_rate_us":
				load = string(v1alpha1.LoadThroughput)
			}
			if got := row["at load "+load+", us"]; strings.ReplaceAll(got, ",", "") != want {
				t.Errorf("%s B: %s jitter at %s is %q, want %q", row["frame bytes"], what, load, got, want)
			} else if !strings.Contains(r.html, ">"+got+"</td>") {
				t.Errorf("%s B: %s jitter at %s, %s, is not in the HTML", row["frame bytes"], what, load, got)
			}
		}
	}
}

package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

const jitterHeader = "frame_size_bytes,load_10_percent_us,load_50_percent_us,load_90_percent_us,throughput_rate_us"

func TestParseJitterErrorsNameLineColumnAndValue(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":           {"", "the jitter table is empty"},
		"header only":     {jitterHeader + "\n", "a header and no row"},
		"no frame size":   {"load_10_percent_us\n0.1\n", `line 1: the first column is "load_10_percent_us": it must be frame_size_bytes`},
		"no load":         {"frame_size_bytes\n64\n", "line 1: there is no column of a load: add one, such as load_10_percent_us or throughput_rate_us"},
		"unknown column":  {"frame_size_bytes,load_ten_percent_us\n64,1\n", `line 1: "load_ten_percent_us" is not a column`},
		"in milliseconds": {"frame_size_bytes,load_10_percent_ms\n64,1\n", `line 1: "load_10_percent_ms" is not a column`},
		"no load at all":  {"frame_size_bytes,load_0_percent_us\n64,1\n", `line 1: "load_0_percent_us" is not a column`},
		"over 100 %":      {"frame_size_bytes,load_101_percent_us\n64,1\n", `line 1: "load_101_percent_us" is not a column`},
		"load twice":      {"frame_size_bytes,load_10_percent_us,load_10.0_percent_us\n64,1,1\n", "line 1: column load_10.0_percent_us stands there twice"},
		"not a number":    {jitterHeader + "\n64,much,1,1,1\n", `line 2, column load_10_percent_us: "much" is not a number of 0 to 3600000000 with at most 3 decimals`},
		"negative":        {jitterHeader + "\n64,1,-1,1,1\n", `line 2, column load_50_percent_us: "-1"`},
		"too exact":       {jitterHeader + "\n# a comment\n64,1,1,1,0.0001\n", `line 3, column throughput_rate_us: "0.0001"`},
		"size too small":  {jitterHeader + "\n63,1,1,1,1\n", `line 2, column frame_size_bytes: "63" is not a frame size of 64 to 9216 bytes`},
		"size NA":         {jitterHeader + "\nNA,1,1,1,1\n", `line 2, column frame_size_bytes: "NA"`},
		"size twice":      {jitterHeader + "\n64,1,1,1,1\n64,1,1,1,1\n", "line 3, column frame_size_bytes: 64 stands in line 2 already"},
		"cell missing":    {jitterHeader + "\n64,1\n", "wrong number of fields"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseJitter(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func jitterTable(t *testing.T, text string) *JitterTable {
	t.Helper()
	table, err := ParseJitter(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTablesThatContradictEachOther(t *testing.T) {
	average := jitterTable(t, jitterHeader+"\n64,0.1,0.2,NA,0.4\n128,0.1,0.9,0.3,0.4\n")
	maximum := jitterTable(t, "frame_size_bytes,load_50_percent_us,throughput_rate_us\n64,0.2,0.4\n128,0.8,1\n")
	want := "line 3, column load_50_percent_us: 900 ns at 128 bytes is above the 800 ns in line 3 of the table of the maximum"
	if err := CheckJitter(average, maximum); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
	if err := CheckJitter(maximum, nil); err != nil {
		t.Error(err)
	}
}

// The jitter of a load comes exactly from its column; between two columns and at the edges the
// trial names what was used.
func TestJitterByLoad(t *testing.T) {
	const model = header + "\n64,70,1.000,2.000,5.000,0.129,1.720\n"
	const averages = "frame_size_bytes,throughput_rate_us,load_50_percent_us,load_10_percent_us,load_12.5_percent_us,load_60_percent_us,load_90_percent_us\n" +
		"64,0.129,0.097,0.010,0.020,NA,NA\n"
	const maxima = "frame_size_bytes,load_10_percent_us,load_50_percent_us\n64,0.750,1.200\n"
	tests := map[string]struct {
		ppm              int64
		average, maximum uint64
		remark           string
	}{
		"a column":                     {100_000, 10, 750, ""},
		"a column with decimals":       {125_000, 20, 778, "maximum jitter at 12.5% of line rate was interpolated between 10% and 50%"},
		"half way":                     {300_000, 56, 975, ""},
		"the throughput":               {700_000, 129, 1720, "maximum jitter at the throughput, 70% of line rate, is not in the table: that of the device model was used"},
		"up to the throughput":         {650_000, 121, 1590, "average and maximum jitter at 65% of line rate was interpolated between 50% and the throughput"},
		"below the lowest":             {50_000, 10, 750, "average and maximum jitter at 5% of line rate is not in the table: that at 10%, its lowest load, was used"},
		"NA below the throughput":      {600_000, 111, 1460, "average jitter at 60% of line rate is NA in the table: that of the device model was used"},
		"NA above the throughput":      {900_000, 129, 1720, "average jitter at 90% of line rate is NA in the table"},
		"no column above it":           {800_000, 129, 1720, "average and maximum jitter at 80% of line rate, above the throughput, is not in the table: that at the throughput was used"},
		"one part in a million beside": {100_001, 10, 750, "average jitter at 10.0001% of line rate was interpolated between 10% and 12.5%"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, model, 4, WithJitter(jitterTable(t, averages), jitterTable(t, maxima)))
			m := trial(t, e, streams, load(t, 64, tc.ppm, 1), time.Second)
			for key, rx := range m.Rx {
				l := rx.Latency
				if l.JitterSumNs != tc.average*l.JitterCount || l.JitterMaxNs != tc.maximum {
					t.Errorf("stream %d: jitter %d of %d frames at most %d, want %d at most %d", key.Stream, l.JitterSumNs, l.JitterCount, l.JitterMaxNs, tc.average, tc.maximum)
				}
			}
			said := ""
			for _, n := range m.Notes {
				said += n.Text
			}
			if !strings.Contains(said, tc.remark) || len(m.Notes) > 1 {
				t.Errorf("notes %q, want one with %q", m.Notes, tc.remark)
			}
			if tc.remark == "" && tc.ppm == 100_000 && said != "" {
				t.Errorf("a column was used, and the trial says %q", said)
			}
		})
	}
}

// A size that has no row keeps the jitter of the model, and a maximum never falls
// below the average when only one table is given.
func TestJitterOfOneTableAlone(t *testing.T) {
	const model = header + "\n64,50,1,2,5,0.1,0.2\n128,50,1,2,5,0.1,0.2\n"
	e, streams := pairs(t, model, 2, WithJitter(jitterTable(t, "frame_size_bytes,load_25_percent_us\n64,0.3\n"), nil))
	m := trial(t, e, streams, load(t, 64, 250_000, 1), time.Second)
	if l := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}].Latency; l.JitterSumNs != 300*l.JitterCount || l.JitterMaxNs != 300 {
		t.Errorf("64 B: %+v", l)
	}
	for i := range streams {
		streams[i].FrameSize = 128
	}
	m = trial(t, e, streams, load(t, 128, 250_000, 1), time.Second)
	if l := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}].Latency; l.JitterSumNs != 50*l.JitterCount || l.JitterMaxNs != 100 {
		t.Errorf("128 B: %+v", l)
	}
	want := []traffic.Note{{Kind: traffic.NoteModel, Text: "average jitter of 128 B is not in the table: that of the device model was used"}}
	if !slices.Equal(m.Notes, want) {
		t.Errorf("notes %q", m.Notes)
	}
}

func TestRemarksOnManyPortsStayShort(t *testing.T) {
	var m traffic.Measurement
	for _, text := range []string{"a", "", "a", "b", "c", "d", "e", "f"} {
		remark(&m, text)
	}
	if len(m.Notes) != maxRemarks+1 || !strings.Contains(m.Notes[maxRemarks].Text, "further ports") {
		t.Errorf("notes %q", m.Notes)
	}
}

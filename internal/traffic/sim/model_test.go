package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

func TestParseModelErrorsNameLineColumnAndValue(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":           {"", "the device model is empty"},
		"header only":     {header + "\n", "a header and no row"},
		"unknown column":  {"frame_size_bytes,lost\n", `line 1: "lost" is not a column`},
		"missing column":  {"frame_size_bytes,line_rate_percent\n64,1\n", "column latency_min_us is missing"},
		"column twice":    {header + ",jitter_avg_us\n", "column jitter_avg_us stands there twice"},
		"not a number":    {header + "\n64,much,1,2,3,0,0\n", `line 2, column line_rate_percent: "much" is not a number of 0 to 100 with at most 4 decimals`},
		"over 100 %":      {header + "\n64,100.0001,1,2,3,0,0\n", `column line_rate_percent: "100.0001"`},
		"too exact":       {header + "\n64,99.99999,1,2,3,0,0\n", `"99.99999"`},
		"negative":        {header + "\n64,50,-1,2,3,0,0\n", `column latency_min_us: "-1"`},
		"point alone":     {header + "\n64,.,1,2,3,0,0\n", `"."`},
		"too small":       {header + "\n63,50,1,2,3,0,0\n", "63 is below the smallest frame, 64"},
		"too large":       {header + "\n9217,50,1,2,3,0,0\n", `"9217" is not a number of 0 to 9216`},
		"no capacity":     {header + "\n64,NA,1,2,3,0,0\n", `column line_rate_percent: "NA"`},
		"size twice":      {header + "\n64,50,1,2,3,0,0\n64,50,1,2,3,0,0\n", "line 3, column frame_size_bytes: 64 stands there twice"},
		"mean below low":  {header + "\n64,50,2,1,3,0,0\n", "line 2, columns latency_min_us, latency_avg_us, latency_max_us: 2000, 1000, 3000 ns are not in rising order"},
		"jitter the same": {header + "\n# a comment\n64,50,1,2,3,5,4\n", "line 3, columns jitter_avg_us"},
		"cell missing":    {header + "\n64,50,1\n", "wrong number of fields"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseModel(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestParseModelReadsExactly(t *testing.T) {
	m, err := ParseModel("# published\n" + header + ",loss_ppm\n9216,99.9940,2.650,6.828,15.650,NA,\"\",7\n64,69.6875,1.51,2.377,4.24,0.129,1.72,\n")
	if err != nil {
		t.Fatal(err)
	}
	small, err := m.at(64)
	if err != nil || small.capacityPPM != 696_875 || small.latencyMin != 1510 || small.latencyAvg != 2377 || small.latencyMax != 4240 || small.jitterAvg != 129 || small.jitterMax != 1720 || small.generatorPPM != whole {
		t.Errorf("64 B: %+v, %v", small, err)
	}
	large, err := m.at(9216)
	if err != nil || large.capacityPPM != 999_940 || large.jitterMax != 0 || large.lossPPM != 7 {
		t.Errorf("9216 B: %+v, %v", large, err)
	}
}

func TestSizesBetweenTheRows(t *testing.T) {
	model := header + "\n64,50,1,2,3,0,0\n128,90,2,4,7,1,2\n"
	m, err := ParseModel(model)
	if err != nil {
		t.Fatal(err)
	}
	// 50 % of line rate at 64 B are 69.0476 % of it at 96 B, as 116 bytes on the
	// wire are to 84.
	r, err := m.at(96)
	if err != nil || r.capacityPPM != 690_476 || r.latencyMin != 1500 || r.latencyAvg != 3000 || r.latencyMax != 5000 || r.jitterMax != 1000 {
		t.Errorf("96 B: %+v, %v", r, err)
	}
	// At 127 B the frame rate would allow 87.5 %; at 120 B 83.3 %.
	if r, _ := m.at(127); r.capacityPPM != 875_000 {
		t.Errorf("127 B: capacity %d, want 875000", r.capacityPPM)
	}
	for _, size := range []int{63, 129} {
		if _, err := m.at(size); !errors.Is(err, traffic.ErrUnsupported) || !strings.Contains(err.Error(), "64 to 128 bytes") {
			t.Errorf("%d B: error %v, want a refusal with the sizes that are known", size, err)
		}
	}
	e, streams := pairs(t, model, 2)
	for i := range streams {
		streams[i].FrameSize = 96
	}
	measured := trial(t, e, streams, load(t, 96, 100_000, 1), time.Second)
	if len(measured.Notes) != 1 || measured.Notes[0].Kind != traffic.NoteModel || !strings.Contains(measured.Notes[0].Text, "between 64 B and 128 B") {
		t.Errorf("notes %+v, want one about the interpolation", measured.Notes)
	}
	streams[1].FrameSize = 129
	if err := e.Configure(context.Background(), streams); !errors.Is(err, traffic.ErrUnsupported) {
		t.Errorf("one of two sizes outside of the table: %v", err)
	}
}

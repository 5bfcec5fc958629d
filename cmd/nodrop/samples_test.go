package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/report"
)

const samplesDir = "../../config/samples"

// Every sample on a simulated bed runs from its manifest to its report.
func TestSamplesOnTheSimulatedEngine(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samplesDir, "*", "*benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if !simulatedSample(t, dir) {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			p := start(t, "run", "-f", file, "-o", "json")
			p.wants(exitPassed, "", "")
			var document report.Document
			if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
				t.Fatalf("%v\n%s", err, &p.stdout)
			}
			if len(document.Rows) == 0 {
				t.Fatal("no row was measured")
			}
			if check := sampleChecks[name]; check != nil {
				check(t, document.Rows)
			}
			if name == "variants" {
				publishedDifferences(t, document.Differences)
			}
		})
	}
	if ran < len(sampleChecks) {
		t.Errorf("%d samples ran, want at least the %d that are checked", ran, len(sampleChecks))
	}
}

func simulatedSample(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kind: sim\n") {
			return true
		}
	}
	return false
}

// sampleChecks hold what each sample says in its first lines.
var sampleChecks = map[string]func(*testing.T, []v1alpha1.ResultRow){
	"frame-loss": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 45 of 100 parts pass: of 90 half are lost. After two loads without loss the
		// test is over.
		want := []struct {
			size int32
			load v1alpha1.Load
			loss int64
		}{
			{64, "100%", 550_000}, {64, "90%", 500_000}, {64, "80%", 437_500}, {64, "70%", 357_143},
			{64, "60%", 250_000}, {64, "50%", 100_000}, {64, "40%", 0}, {64, "30%", 0}, {1518, "100%", 0}, {1518, "90%", 0},
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i, w := range want {
			if r := rows[i]; r.FrameSize != w.size || r.Load != w.load || r.LossPPM == nil || *r.LossPPM != w.loss {
				t.Errorf("row %d: %+v, want %+v", i, r, w)
			}
		}
	},
	"back-to-back": func(t *testing.T, rows []v1alpha1.ResultRow) {
		burst := rows[2].BackToBack
		if burst == nil || burst.Repetitions != 50 || burst.MinFrames < 3968 || burst.MaxFrames > 4033 || burst.AvgFrames < burst.MinFrames || burst.StddevFrames == 0 {
			t.Fatalf("bursts %+v, want about 4000 frames in 50 repetitions", burst)
		}
		// 1,000 frames are 67.2 us; the throughput of the noisy device is a little low.
		if burst.CorrectedBufferNs == nil || *burst.CorrectedBufferNs < 67_000 || *burst.CorrectedBufferNs > 68_000 || burst.BufferNs < 266_000 || burst.BufferNs > 271_000 {
			t.Errorf("buffer %+v", burst)
		}
		if r := rows[3]; r.BackToBack != nil || !strings.Contains(r.Message, "line rate") {
			t.Errorf("at line rate: %+v", r)
		}
	},
	"soak": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if r := rows[0]; *r.LossPPM != 1 || r.TrialMilliseconds != 12*3600*1000 || *r.ReceivedFramesPerSecond != 29_761_875 {
			t.Errorf("soak: %+v", r)
		}
		// 69.6875 % of 4 ports of 10G, less one frame in a million of those sent.
		if r := rows[1]; *r.ReceivedFramesPerSecond != 41_480_595 || r.LineRatePPM != v1alpha1.PPM {
			t.Errorf("mrr: %+v", r)
		}
	},
	"forwarding-rate": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if f := rows[0].ForwardingRate; f == nil || *f != (v1alpha1.ForwardingRateSummary{AtMaxLoad: 29_761_905, Max: 47_619_048, MaxLoadPPM: 800_000}) {
			t.Errorf("64 B: %+v", f)
		}
		// No lower load can forward more than everything: one trial is enough.
		if f := rows[1].ForwardingRate; f == nil || f.AtMaxLoad != f.Max || f.MaxLoadPPM != v1alpha1.PPM || rows[1].Trials != 1 {
			t.Errorf("512 B: %+v in %d trials", f, rows[1].Trials)
		}
	},
	"recovery": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// At 33 % of line rate, frames of 64 bytes on 10G leave every 204 ns.
		if r := rows[3].Recovery; r == nil || r.Repetitions != 3 || r.OverloadPPM != 660_000 || r.ReducedPPM != 330_000 ||
			r.MinNs < 1_499_000 || r.MaxNs > 1_501_000 || r.AvgNs < r.MinNs || r.AvgNs > r.MaxNs {
			t.Errorf("64 B: %+v", r)
		}
		if r := rows[4]; r.Recovery == nil || r.Recovery.MaxNs != 0 || r.Recovery.OverloadPPM != v1alpha1.PPM || r.Lost == 0 {
			t.Errorf("512 B: %+v", r)
		}
		if r := rows[5]; r.Recovery != nil || !strings.Contains(r.Message, "line rate") {
			t.Errorf("1518 B: %+v", r)
		}
	},
	"ordering": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 20 {
			t.Fatalf("%d rows, want 20", len(rows))
		}
		for i, r := range rows {
			want := v1alpha1.OrderingSummary{InOrderPPM: r.LineRatePPM}
			if i >= 4 && i < 10 {
				want = v1alpha1.OrderingSummary{ReorderedPPM: 5100, OutOfSequencePPM: 15_300, InOrderPPM: 432_031, OnsetPPM: 432_812}
			}
			if r.Ordering == nil || *r.Ordering != want {
				t.Errorf("%d B at %s: %+v, want %+v", r.FrameSize, r.Load, r.Ordering, want)
			}
		}
	},
}

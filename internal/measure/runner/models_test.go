package runner

import (
	"context"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func TestADeviceThatForwardsNothing(t *testing.T) {
	cfg := small(header + "\n64,40,1,2,3,0,0\n128,0,,,,,\n")
	state := runSim(t, cfg)
	if state.Outcome != v1alpha1.PhaseFailed || state.Reason != v1alpha1.ReasonNothingForwarded {
		t.Fatalf("%s %s: %s", state.Outcome, state.Reason, state.Message)
	}
	if want := "the device forwarded nothing: test throughput, 128 B: no test frame came back on p1, p2, p3 and 1 more ports in 10s"; !strings.HasPrefix(state.Message, want) {
		t.Errorf("message %q, want %q", state.Message, want)
	}
	if len(state.Rows) != 6 || state.Rows[0].Frames.LineRatePPM == 0 || state.Rows[1].Frames.LineRatePPM != 0 || state.Rows[1].Frames.Received != 0 || state.Rows[1].Frames.Sent == 0 || state.Rows[1].Latency != nil {
		t.Errorf("rows %+v", state.Rows)
	}

	// A device that is off does not answer either.
	state = Run(context.Background(), complete(cfg), engine(t, cfg, sim.WithMuteNeighbours()))
	if !strings.Contains(state.Message, "ARP for 198.18.0.1 was not answered on p1") {
		t.Errorf("message %q has no unanswered neighbour", state.Message)
	}
}

func TestAGeneratorBoundModel(t *testing.T) {
	state := runSim(t, small(header+",generator_limit_percent\n64,40,1,2,3,0,0,20\n128,80,1,2,3,0,0,100\n"))
	if state.Outcome != v1alpha1.PhaseMeasured {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	slow, device := state.Rows[0], state.Rows[1]
	if slow.Validity != v1alpha1.ValidityGeneratorBound || slow.Frames.LineRatePPM > 200_000 || slow.Frames.LineRatePPM < 199_000 || slow.Frames.Lost != 0 {
		t.Errorf("row %+v, want the tester's limit of 20 %%", slow)
	}
	if len(slow.ValidityReasons) != 2 || !strings.Contains(slow.ValidityReasons[0], "frames that 20.") || !strings.Contains(slow.ValidityReasons[0], "fell behind most on p1") {
		t.Errorf("reasons %q", slow.ValidityReasons)
	}
	if device.Validity != v1alpha1.ValiditySimulated || device.Frames.LineRatePPM < 799_000 {
		t.Errorf("row %+v, want the device's limit of 80 %%", device)
	}

	nothing := small(header + ",generator_limit_percent\n64,40,1,2,3,0,0,0\n128,80,1,2,3,0,0,0\n")
	state = runSim(t, nothing)
	if state.Outcome != v1alpha1.PhaseInvalid || state.Reason != v1alpha1.ReasonGeneratorBound || !strings.Contains(state.Message, "too slow to measure anything") {
		t.Errorf("%s %s: %s", state.Outcome, state.Reason, state.Message)
	}
}

func TestReorderedAndDuplicateFramesAreNotLoss(t *testing.T) {
	state := runSim(t, small(header+",reordered_ppm,reorder_onset_percent,duplicate_ppm\n64,40,1,2,3,0,0,1000,30,10\n128,80,1,2,3,0,0,0,0,0\n"))
	if state.Outcome != v1alpha1.PhaseMeasured {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	for _, row := range state.Rows {
		// Below 30 % of line rate nothing is reordered; counts are floors per stream.
		reordered, duplicate := int64(0), int64(0)
		if row.FrameSize == 64 {
			perStream := row.Frames.Received / 4
			duplicate = 4 * (perStream * 10 / 1_000_000)
			if row.Frames.LineRatePPM >= 300_000 {
				reordered = 4 * (perStream * 1000 / 1_000_000)
			}
		}
		if row.Frames.Lost != 0 || *row.Frames.Reordered != reordered || *row.Frames.Duplicate != duplicate || row.Frames.Sent != row.Frames.Received {
			t.Errorf("%s %d B %s: lost %d, reordered %d of %d, duplicate %d of %d", row.Test, row.FrameSize, row.Load, row.Frames.Lost, *row.Frames.Reordered, reordered, *row.Frames.Duplicate, duplicate)
		}
	}
	if row := state.Rows[0]; row.Frames.LineRatePPM < 399_000 || *row.Frames.Reordered == 0 {
		t.Errorf("row %+v, want 40 %% with reordered frames", row)
	}
}

func TestLossBelowTheCapacity(t *testing.T) {
	state := runSim(t, small(header+",loss_ppm,loss_onset_percent\n64,90,1,2,3,0,0,100,25\n128,90,1,2,3,0,0,100,0\n"))
	if row := state.Rows[0]; row.Frames.LineRatePPM >= 250_000 || row.Frames.LineRatePPM < 249_000 {
		t.Errorf("64 B: %d ppm, want the onset of loss at 25 %%", row.Frames.LineRatePPM)
	}
	row := state.Rows[1]
	if row.Frames.LineRatePPM != 0 || row.Frames.Received == 0 || row.Frames.Lost == 0 || !strings.Contains(row.Message, "lower minLoad") {
		t.Errorf("128 B: %+v, want a throughput of 0", row)
	}
	// A device that forwards, but never without loss, was measured.
	if state.Outcome != v1alpha1.PhaseMeasured {
		t.Errorf("%s: %s", state.Outcome, state.Message)
	}
	if last := state.Rows[5]; last.Load != "throughput" || !strings.Contains(last.Message, "not measured") {
		t.Errorf("latency at a throughput of 0: %+v", last)
	}
}

func TestASizeThatTheModelDoesNotHave(t *testing.T) {
	cfg := small(header + "\n64,40,1,2,3,0,0\n256,80,1,2,3,0,0\n")
	state := runSim(t, cfg)
	if row := state.Rows[1]; !strings.Contains(row.Message, "128 B is not in the device model: its behavior was interpolated between 64 B and 256 B") {
		t.Errorf("row %+v does not say so", row)
	}
}

// An error in a table is reported with its key, line, column and value, and a missing value
// with its row.
func TestTablesOfJitter(t *testing.T) {
	source := func(key string) *v1alpha1.ModelSource {
		return &v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "tables", Key: key}}
	}
	cfg := small(good)
	device := cfg.Bed.Spec.Device.Simulated
	device.JitterAverageByLoad, device.JitterMaximumByLoad = source("average.csv"), source("maximum.csv")
	cfg.JitterAverageByLoad = "frame_size_bytes,load_20_percent_us,throughput_rate_us\n64,0.05,0.1\n128,0.01,0.1\n"
	cfg.JitterMaximumByLoad = "frame_size_bytes,load_20_percent_us,throughput_rate_us\n64,often,0.2\n"
	want := `device.simulated.jitterMaximumByLoad: ConfigMap tables, key maximum.csv: jitter table line 2, column load_20_percent_us: "often" is not a number`
	if _, err := NewSim(cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	cfg.JitterMaximumByLoad = strings.Replace(cfg.JitterMaximumByLoad, "often", "0.01", 1)
	want = `jitterAverageByLoad: ConfigMap tables, key average.csv: jitter table of the average line 2, column load_20_percent_us: 50 ns at 64 bytes is above the 10 ns`
	if _, err := NewSim(cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	cfg.JitterMaximumByLoad = strings.Replace(cfg.JitterMaximumByLoad, "0.01", "0.15", 1)
	state := runSim(t, cfg)
	if state.Outcome != v1alpha1.PhaseMeasured || !strings.Contains(state.Environment.EngineDetail, "maximum jitter by load from tables/maximum.csv") {
		t.Fatalf("%s: %s, %+v", state.Outcome, state.Message, state.Environment)
	}
	for _, row := range state.Rows {
		said := ""
		switch {
		case row.Load == "10%" && row.FrameSize == 64:
			said = "average and maximum jitter at 10% of line rate is not in the table: that at 20%, its lowest load, was used"
		case row.Load == "10%":
			said = "average jitter at 10% of line rate is not in the table: that at 20%, its lowest load, was used; maximum jitter of 128 B is not in the table: that of the device model was used"
		case row.FrameSize == 128:
			said = "maximum jitter of 128 B is not in the table: that of the device model was used"
		}
		if row.Message != said {
			t.Errorf("%s %d B %s: message %q, want %q", row.Test, row.FrameSize, row.Load, row.Message, said)
		}
	}
}

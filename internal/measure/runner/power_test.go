package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// fakeMeter has 100 W without frames, and the power of the present trial.
type fakeMeter struct {
	idle, begun, ended int
	trial              func(takes time.Duration) (*v1alpha1.PowerReading, error)
	takes              time.Duration
}

func (f *fakeMeter) Idle(context.Context) (*v1alpha1.PowerReading, error) {
	f.idle++
	return &v1alpha1.PowerReading{MeanMilliwatts: 100_000}, nil
}

func (f *fakeMeter) Begin(takes time.Duration) { f.begun, f.takes = f.begun+1, takes }

func (f *fakeMeter) End() (*v1alpha1.PowerReading, error) {
	f.ended++
	return f.trial(f.takes)
}

// TestPowerOfRows gives each row the power in the trial that decided it, and reads the meter without frames once.
func TestPowerOfRows(t *testing.T) {
	cfg := small(good)
	cfg.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Power: &v1alpha1.PowerMeter{SNMP: &v1alpha1.SNMPPowerMeter{Outlets: []v1alpha1.PowerOutlet{{MilliwattsPerUnit: 1}}}}}}
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%", "20%", "30%"}}},
	}
	load := int64(0)
	f := &fakeMeter{}
	f.trial = func(time.Duration) (*v1alpha1.PowerReading, error) {
		load++
		return &v1alpha1.PowerReading{MeanMilliwatts: 100_000 + load}, nil
	}
	state := runSim(t, cfg, WithPower(f))
	if len(state.Rows) != 8 {
		t.Fatalf("%d rows, %s: %s", len(state.Rows), state.Outcome, state.Message)
	}
	if f.idle != 1 || f.begun != f.ended || f.begun < 10 {
		t.Errorf("%+v", f)
	}
	seen := int64(0)
	for _, row := range state.Rows {
		p := row.Power
		if p == nil || p.Trial == nil || p.Idle == nil || p.Idle.MeanMilliwatts != 100_000 || p.BitsPerSecond <= 0 {
			t.Fatalf("%s: %+v", row.Name(), p)
		}
		first, decided := row.TrialRecords.Trials[0], 0
		for i, trial := range row.TrialRecords.Trials {
			if trial.Decides {
				decided = i
			}
		}
		if want := 100_000 + seen + int64(decided) + 1; p.Trial.MeanMilliwatts != want {
			t.Errorf("%s has the power %d, and that of its trial %d is %d: %+v", row.Name(), p.Trial.MeanMilliwatts, decided, want, first)
		}
		seen += int64(len(row.TrialRecords.Trials))
		if rows := map[v1alpha1.Load]int32{"20%": 2, "30%": 3}[row.Load]; (p.Fit != nil) != (rows > 0) || rows > 0 && p.Fit.Rows != rows {
			t.Errorf("%s: %+v, want a line through %d rows", row.Name(), p.Fit, rows)
		}
	}
	f.trial = func(time.Duration) (*v1alpha1.PowerReading, error) {
		return nil, errors.New("the time was too short")
	}
	for _, row := range runSim(t, cfg, WithPower(f)).Rows {
		if row.Power == nil || row.Power.Trial != nil || row.Power.PicojoulesPerBit != nil || !strings.Contains(row.Message, "power: the time was too short") {
			t.Errorf("%s: %+v: %s", row.Name(), row.Power, row.Message)
		}
	}
}

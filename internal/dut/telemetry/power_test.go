package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// fakeMeter shows some power, or an error.
type fakeMeter struct {
	milliwatts atomic.Int64
	err        atomic.Pointer[error]
	reads      atomic.Int64
}

func (f *fakeMeter) Power(context.Context) (int64, error) {
	f.reads.Add(1)
	if err := f.err.Load(); err != nil {
		return 0, *err
	}
	return f.milliwatts.Load(), nil
}

func (f *fakeMeter) Close() {}

// TestPowerWatch reads a meter in trials and between them, after it has settled.
func TestPowerWatch(t *testing.T) {
	t.Parallel()
	f := &fakeMeter{}
	spec := &v1alpha1.PowerMeter{
		SNMP:   &v1alpha1.SNMPPowerMeter{Address: "192.0.2.9:161", Outlets: []v1alpha1.PowerOutlet{{MilliwattsPerUnit: 100}}},
		Settle: &metav1.Duration{Duration: 100 * time.Millisecond}, Interval: &metav1.Duration{Duration: time.Millisecond},
	}
	w := NewPowerWatch(f, spec)
	defer w.Close()
	f.milliwatts.Store(50_000)
	if r, err := w.Idle(t.Context()); err != nil || r.MeanMilliwatts != 50_000 || r.AccuracyMilliwatts != 50+500 || r.Readings < 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := w.End(); err == nil {
		t.Error("a trial ended that had not begun")
	}
	f.milliwatts.Store(60_000) // The meter still shows another power, until it settles.
	w.Begin(time.Hour)
	f.milliwatts.Store(70_000)
	for before := f.reads.Load(); f.reads.Load() < before+3; time.Sleep(time.Millisecond) {
	}
	if r, err := w.End(); err != nil || r.MinimumMilliwatts != 70_000 || r.MaximumMilliwatts != 70_000 || r.Readings < 2 {
		t.Errorf("%+v, %v", r, err)
	}
	w.Begin(time.Millisecond)
	for before := f.reads.Load(); f.reads.Load() == before; time.Sleep(time.Millisecond) {
	}
	if r, err := w.End(); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("%+v, %v: want that the trial was too short", r, err)
	}
	failure := errors.New("192.0.2.9:161 is away")
	f.err.Store(&failure)
	w.Begin(time.Hour)
	for before := f.reads.Load(); f.reads.Load() < before+2; time.Sleep(time.Millisecond) {
	}
	if r, err := w.End(); err == nil || err.Error() != "the meter could not be read: (hidden) is away" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestScatter is by how far the mean of readings may be off (Student's t distribution): twelve times the half of what two readings differ by, and
// less the more there are.
func TestScatter(t *testing.T) {
	t.Parallel()
	many := make([]int64, 1000)
	for i := range many {
		many[i] = 150_000 + 1000*int64(i%2)
	}
	for name, tc := range map[string]struct {
		readings []int64
		want     int64
	}{
		"one":        {[]int64{150_000}, 0},
		"the same":   {[]int64{150_000, 150_000, 150_000}, 0},
		"two":        {[]int64{150_000, 150_100}, 635},                                        // 12.706 x 70.7 / sqrt(2)
		"six":        {[]int64{157_800, 157_800, 157_800, 157_800, 156_400, 156_400}, 759},    // 2.571 x 722.96 / sqrt(6)
		"a thousand": {many, 32},                                                              // 2.0 x 500.25 / sqrt(1000)
		"large":      {[]int64{1_000_000_000_000, 1_000_000_000_100, 1_000_000_000_200}, 248}, // 4.303 x 100 / sqrt(3)
	} {
		var p powers
		for _, r := range tc.readings {
			p.add(r)
		}
		if r, err := p.reading(&v1alpha1.PowerMeter{}); err != nil || r.ScatterMilliwatts != tc.want {
			t.Errorf("%s: %+v, %v: want %d", name, r, err, tc.want)
		}
	}
}

package method

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func sampled(d, interval time.Duration) v1alpha1.Test {
	test := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}
	test.Soak.Duration.Duration, test.Soak.SamplingInterval = d, lasting(interval)
	return test
}

// resetAt is a generator whose device is reset when a sample is taken.
type resetAt struct {
	*sim.Engine
	sample int
	fail   func(sample int) error
}

func (r *resetAt) Sample(ctx context.Context) (traffic.Sample, error) {
	s, err := r.Engine.Sample(ctx)
	r.sample++
	if r.sample == 30 {
		err = r.Reset(ctx)
	}
	if r.fail != nil && err == nil {
		err = r.fail(r.sample)
	}
	return s, err
}

func seriesOf(t *testing.T, test v1alpha1.Test, fail func(int) error) *v1alpha1.RateSeries {
	t.Helper()
	lab, e, step := labFor(t, test, 400*time.Millisecond, nil)
	lab.gen = &resetAt{Engine: e, fail: fail}
	return rowOf(lab.plan, mustRun(t, lab, step)).Series
}

// In a soak of 10 s, sampled every 100 ms, the device forwards nothing from 3.0 s to
// 3.4 s: four of the hundred intervals.
func TestSoakHasASeries(t *testing.T) {
	s := seriesOf(t, sampled(10*time.Second, 100*time.Millisecond), nil)
	if s == nil || s.Samples != 100 || s.Points.Len() != 100 || s.MinReceivedFramesPerSecond != 0 {
		t.Fatalf("%+v", s)
	}
	const full = 4 * 7_440_476
	if s.MaxReceivedFramesPerSecond < full || s.MaxReceivedFramesPerSecond > full+40 || s.AvgReceivedFramesPerSecond < full*96/100-40 || s.AvgReceivedFramesPerSecond > full*96/100+40 {
		t.Errorf("from %d to %d, %d on average", s.MinReceivedFramesPerSecond, s.MaxReceivedFramesPerSecond, s.AvgReceivedFramesPerSecond)
	}
	if s.PointMilliseconds != 100 || s.DurationMilliseconds != 10_000 || s.Points.EndMilliseconds != nil || s.Points.MinReceivedFramesPerSecond != nil {
		t.Errorf("%+v", s)
	}
	for i := range s.Points.Len() {
		want := int64(full)
		if i >= 30 && i < 34 {
			want = 0
		}
		sent, received := s.Points.SentFramesPerSecond[i], s.Points.ReceivedFramesPerSecond[i]
		if s.EndMilliseconds(i) != int64(i+1)*100 || received < want-40 || received > want+40 || sent < full-40 || sent > full+40 {
			t.Errorf("point %d ends at %d ms: %d sent, %d received", i, s.EndMilliseconds(i), sent, received)
		}
	}
}

// A thousand intervals become 200 points of five each, and the dip stays in sight.
func TestALongSeriesIsThinned(t *testing.T) {
	s := seriesOf(t, sampled(10*time.Second, 10*time.Millisecond), nil)
	if s == nil || s.Samples != 1000 || s.Points.Len() != 200 || s.MinReceivedFramesPerSecond != 0 {
		t.Fatalf("%+v", s)
	}
	for i := range s.Points.Len() {
		// The device is reset at 0.3 s, after six points.
		dip := i >= 6 && i < 14
		lowest, received := s.Points.MinReceivedFramesPerSecond[i], s.Points.ReceivedFramesPerSecond[i]
		if s.EndMilliseconds(i) != int64(i+1)*50 || (lowest == 0) != dip || (received == 0) != dip {
			t.Errorf("point %d ends at %d ms: %d received, %d at least", i, s.EndMilliseconds(i), received, lowest)
		}
	}
}

func TestASeriesOfUnevenSamples(t *testing.T) {
	s := sampler{interval: time.Second, samples: []traffic.Sample{
		{At: time.Second, Sent: 1000, Received: 900}, {At: time.Second, Sent: 1000, Received: 900}, // the second is none
		{At: 3 * time.Second, Sent: 3000, Received: 2000}, {At: 4 * time.Second, Sent: 4000, Received: 2001},
		{At: 4500 * time.Millisecond, Sent: 4500, Received: 2001},
	}}
	got := s.series(2)
	if got.Samples != 4 || got.MinReceivedFramesPerSecond != 0 || got.MaxReceivedFramesPerSecond != 900 || got.AvgReceivedFramesPerSecond != 445 || got.PointMilliseconds != 0 || got.DurationMilliseconds != 4500 {
		t.Fatalf("%+v", got)
	}
	want := v1alpha1.RatePoints{
		EndMilliseconds: []int64{3000, 4500}, SentFramesPerSecond: []int64{1000, 1000},
		ReceivedFramesPerSecond: []int64{667, 1}, MinReceivedFramesPerSecond: []int64{550, 0},
	}
	if !reflect.DeepEqual(got.Points, want) {
		t.Errorf("%+v, want %+v", got.Points, want)
	}
	if s := (&sampler{}).series(2); s != nil {
		t.Errorf("%+v of nothing", s)
	}
}

// However long a trial and however high its rates, a series stays small: a chassis
// of 256 ports of 100G is sampled 100,000 times, unevenly.
func TestASeriesIsBounded(t *testing.T) {
	s := sampler{interval: 432 * time.Millisecond}
	const rate = 38_095_238_095
	at, total := time.Duration(0), uint64(0)
	for i := range 100_000 {
		at += 432*time.Millisecond + time.Duration(i%7)*10*time.Millisecond
		total = uint64(at.Seconds() * rate)
		s.samples = append(s.samples, traffic.Sample{At: at, Sent: total, Received: total})
	}
	got := s.series(maxPoints)
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Points.Len() > maxPoints || len(text) > 12_000 {
		t.Errorf("%d points take %d bytes", got.Points.Len(), len(text))
	}
	t.Logf("%d points take %d bytes", got.Points.Len(), len(text))
}

// A trial that is repeated begins its series anew.
func TestASeriesOfARepeatedTrial(t *testing.T) {
	failed := false
	s := seriesOf(t, sampled(time.Second, 100*time.Millisecond), func(sample int) error {
		if sample == 5 && !failed {
			failed = true
			return errors.New("connection lost")
		}
		return nil
	})
	if !failed || s == nil || s.Samples != 10 || s.EndMilliseconds(0) != 100 || s.EndMilliseconds(9) != 1000 {
		t.Errorf("%+v", s)
	}
}

// A trial is left when the run is, also between two samples.
func TestASeriesEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	lab, e, step := labFor(t, sampled(time.Hour, time.Second), 0, nil)
	lab.gen = &resetAt{Engine: e, fail: func(sample int) error {
		if sample == 3 {
			cancel(enough)
		}
		return nil
	}}
	if _, err := Run(ctx, lab, step); !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
	if n := lab.gen.(*resetAt).sample; n != 3 {
		t.Errorf("%d samples were taken", n)
	}
}

func TestSamplingIsValidated(t *testing.T) {
	for want, test := range map[string]v1alpha1.Test{
		`"5ms": give 10ms to 1h`:                           sampled(time.Second, 5*time.Millisecond),
		`"2s": the trial takes 1s: lower samplingInterval`: sampled(time.Second, 2*time.Second),
		`"100ms": a trial of 12h would have more than 100000 intervals: raise samplingInterval to 432ms, or lower duration`: sampled(12*time.Hour, 100*time.Millisecond),
	} {
		if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), "spec.tests[0].soak.samplingInterval: Invalid value: "+want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := planOf(t, sampled(12*time.Hour, 432*time.Millisecond)); err != nil {
		t.Error(err)
	}
}

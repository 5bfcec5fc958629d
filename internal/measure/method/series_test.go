package method

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func sampled(d, interval time.Duration) v1alpha1.Test {
	test := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}
	test.Soak.Duration.Duration, test.Soak.SamplingInterval = d, lasting(interval)
	return test
}

// resetAt is a generator whose device is reset after its 30th sample. Fail, when
// set, is asked before each sample is taken.
type resetAt struct {
	*sim.Engine
	sample int
	fail   func(sample int) error
}

func (r *resetAt) Sample(ctx context.Context, sampling traffic.Sampling, take func(traffic.Sample)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return r.Engine.Sample(ctx, sampling, func(s traffic.Sample) {
		r.sample++
		if r.fail != nil {
			if err := r.fail(r.sample); err != nil {
				cancel(err)
				return
			}
		}
		take(s)
		if r.sample == 30 {
			if err := r.Device().Reset(ctx); err != nil {
				cancel(err)
			}
		}
	})
}

// soaked runs a test with a series; the lab's engine is wrapped in resetAt.
func soaked(t *testing.T, test v1alpha1.Test, fail func(int) error) (trials.Outcome, v1alpha1.ResultRow) {
	t.Helper()
	tester, e, step := labFor(t, test, 400*time.Millisecond, nil)
	r := &resetAt{Engine: e, fail: fail}
	tester.Generator.Generator, tester.Generator.Sampler = r, r
	out := mustRun(t, tester, step)
	return out, rowOf(tester.Plan, out)
}

func seriesOf(t *testing.T, test v1alpha1.Test) *v1alpha1.RateSeries {
	t.Helper()
	_, row := soaked(t, test, nil)
	return row.Series
}

// In a soak of 10 s, sampled every 100 ms, the device forwards nothing from 3.0 s to
// 3.4 s: four of the hundred intervals.
func TestSoakHasASeries(t *testing.T) {
	s := seriesOf(t, sampled(10*time.Second, 100*time.Millisecond))
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
	s := seriesOf(t, sampled(10*time.Second, 10*time.Millisecond))
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
	s := trials.Sampler{Interval: time.Second, Samples: []traffic.Sample{
		{At: time.Second, Sent: 1000, Received: 900}, {At: time.Second, Sent: 1000, Received: 900}, // the second is none
		{At: 3 * time.Second, Sent: 3000, Received: 2000}, {At: 4 * time.Second, Sent: 4000, Received: 2001},
		{At: 4500 * time.Millisecond, Sent: 4500, Received: 2001},
	}}
	got := s.Series(2)
	if got.Samples != 4 || got.MinReceivedFramesPerSecond != 0 || got.MaxReceivedFramesPerSecond != 900 || got.AvgReceivedFramesPerSecond != 445 || got.PointMilliseconds != 0 || got.DurationMilliseconds != 4500 {
		t.Fatalf("%+v", got)
	}
	want := v1alpha1.RatePoints{
		EndMilliseconds: []int64{3000, 4500}, SentFramesPerSecond: []int64{1000, 1000},
		ReceivedFramesPerSecond: []int64{667, 1}, MinReceivedFramesPerSecond: []int64{550, 0},
		EndNs: []int64{3e9, 4.5e9}, SentFrames: []int64{3000, 4500}, ReceivedFrames: []int64{2000, 2001},
		MinFrames: []int64{1100, 0}, MinNs: []int64{2e9, 5e8},
	}
	if !reflect.DeepEqual(got.Points, want) {
		t.Errorf("%+v, want %+v", got.Points, want)
	}
	if s := (&trials.Sampler{}).Series(2); s != nil {
		t.Errorf("%+v of nothing", s)
	}
}

// However long a trial and however high its rates, a series stays small: a chassis
// of 256 ports of 100G is sampled 100,000 times, unevenly.
func TestASeriesIsBounded(t *testing.T) {
	s := trials.Sampler{Interval: 432 * time.Millisecond}
	const rate = 38_095_238_095
	at, total := time.Duration(0), uint64(0)
	for i := range 100_000 {
		at += 432*time.Millisecond + time.Duration(i%7)*10*time.Millisecond
		total = uint64(at.Seconds() * rate)
		s.Samples = append(s.Samples, traffic.Sample{At: at, Sent: total, Received: total})
	}
	got := s.Series(trials.MaxPoints)
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Points.Len() > trials.MaxPoints || len(text) > 28_000 {
		t.Errorf("%d points take %d bytes", got.Points.Len(), len(text))
	}
	t.Logf("%d points take %d bytes", got.Points.Len(), len(text))
}

// A sampling that fails is begun again. The trial goes on, and only the interval that
// was being sampled and the one until the next attempt are missing.
func TestALostSampleVoidsNoTrial(t *testing.T) {
	out, row := soaked(t, sampled(time.Second, 100*time.Millisecond), func(sample int) error {
		if sample == 5 {
			return errors.New("connection lost")
		}
		return nil
	})
	if out.Trials != 1 || row.Frames.Lost != 0 || out.Message != "2 of 10 intervals were not sampled: connection lost" {
		t.Errorf("%d trials, %d lost, %q", out.Trials, row.Frames.Lost, out.Message)
	}
	s := row.Series
	if s == nil || s.Samples != 8 {
		t.Fatalf("%+v", s)
	}
	if want := []int64{100, 200, 300, 400, 700, 800, 900, 1000}; !slices.Equal(s.Points.EndMilliseconds, want) {
		t.Errorf("points end at %v, want %v", s.Points.EndMilliseconds, want)
	}
}

// A trial that is repeated begins its series anew.
func TestASeriesOfARepeatedTrial(t *testing.T) {
	tester, e, step := labFor(t, sampled(time.Second, 100*time.Millisecond), 0, nil)
	gen := &forgetful{Generator: e, lost: 2} // the first reading is that of learning
	tester.Generator.Generator = gen
	out := mustRun(t, tester, step)
	s := rowOf(tester.Plan, out).Series
	if gen.reads != 4 || s == nil || s.Samples != 10 || s.EndMilliseconds(0) != 100 || s.EndMilliseconds(9) != 1000 {
		t.Errorf("%d readings: %+v", gen.reads, s)
	}
}

// An engine without counters that can be read while it sends is refused, at admission
// and where it was not known before.
func TestASeriesNeedsASampler(t *testing.T) {
	test := sampled(time.Second, 100*time.Millisecond)
	d, _ := DescribeTest(test)
	in := plan.Setting{Bed: objects.TestBed("")}
	in.Bed.Name, in.Bed.Spec.Engine.Kind = "frr", "plain"
	want := `soak.samplingInterval: Invalid value: "100ms": the engine plain of test bed frr cannot read counters while a trial runs: leave samplingInterval out, or choose a bed with another engine`
	if errs := d.Fits(test, in, field.NewPath("soak")); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("%v, want %s", errs, want)
	}
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	plain := struct{ traffic.Generator }{simulate(t, ideal, p)}
	_, err = Run(t.Context(), open(t, plain, p, nil), p.Steps[0])
	if missing := (*traffic.MissingError)(nil); !errors.As(err, &missing) || !errors.Is(err, traffic.ErrUnsupported) || !strings.Contains(err.Error(), "the engine sim cannot read counters while a trial runs, which samplingInterval needs") {
		t.Error(err)
	}
}

// A trial is left when the run is, also between two samples.
func TestASeriesEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	tester, e, step := labFor(t, sampled(time.Hour, time.Second), 0, nil)
	r := &resetAt{Engine: e, fail: func(sample int) error {
		if sample == 3 {
			cancel(enough)
		}
		return nil
	}}
	tester.Generator.Generator, tester.Generator.Sampler = r, r
	if _, err := Run(ctx, tester, step); !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
	if r.sample != 3 {
		t.Errorf("%d samples were taken", r.sample)
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

package telemetry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// fakeDevice answers with the next of its readings, and with the last one from then on.
type fakeDevice struct {
	answers []any
	reads   int
}

func (f *fakeDevice) Read(context.Context) (*Reading, error) {
	answer := f.answers[min(f.reads, len(f.answers)-1)]
	f.reads++
	if err, is := answer.(error); is {
		return nil, err
	}
	return answer.(*Reading), nil
}

func (f *fakeDevice) Facts(context.Context) (*Facts, error) {
	if f.reads++; f.reads == 1 {
		return nil, errors.New("the device is away")
	}
	return &Facts{Model: "leaf", SerialNumber: strings.Repeat("9", 300), Modules: slices.Repeat([]string{"Ethernet1/3: SFP"}, 70), Up: 90 * time.Second}, nil
}

func (f *fakeDevice) Close() {}

func reading(up time.Duration, discards uint64, watts float64) *Reading {
	r := &Reading{Up: up}
	r.Add("input discards of e1", Counter{discards, 32})
	r.Add("input discards of e2", Counter{7, 32})
	r.Sense("PSU 1", watts, "W")
	return r
}

// TestWatch compares the counters at the ends of a row, and sums sensors up in between.
func TestWatch(t *testing.T) {
	t.Parallel()
	away := errors.New("dial udp 192.0.2.9:161 (192.0.2.9): the device is away")
	for name, tc := range map[string]struct {
		answers                []any
		lost                   uint64
		counted, unexplained   int64
		failed                 int32
		message                string
		mean, maximum          int64
		countersAreNotCompared bool
	}{
		"all drops counted":   {answers: []any{reading(1, 5, 100), reading(2, 30, 300), reading(3, 47, 200)}, lost: 42, counted: 42, mean: 200_000, maximum: 300_000},
		"some drops counted":  {answers: []any{reading(1, 5, 100), reading(2, 30, 100), reading(3, 30, 100)}, lost: 42, counted: 25, unexplained: 17, mean: 100_000, maximum: 100_000},
		"more drops counted":  {answers: []any{reading(1, 5, 100), reading(2, 30, 100), reading(3, 55, 100)}, lost: 42, counted: 50, message: "8 frames more", mean: 100_000, maximum: 100_000},
		"a counter of 32 bit": {answers: []any{reading(1, 1<<32-10, 100), reading(2, 1<<32-1, 100), reading(3, 32, 100)}, lost: 42, counted: 42, mean: 100_000, maximum: 100_000},
		"away for a moment":   {answers: []any{away, away, reading(1, 5, 100), away, reading(2, 47, 100)}, lost: 42, counted: 42, failed: 3, mean: 100_000, maximum: 100_000},
		"away at the end":     {answers: []any{reading(1, 5, 100), away}, lost: 42, failed: 4, message: "are not known: dial udp (hidden) ((hidden)): the device is away", mean: 100_000, maximum: 100_000, countersAreNotCompared: true},
		"restarted":           {answers: []any{reading(9, 5, 100), reading(1, 0, 100), reading(2, 3, 100)}, lost: 42, message: "it has restarted", mean: 100_000, maximum: 100_000, countersAreNotCompared: true},
		"no counters":         {answers: []any{&Reading{Up: 1}, &Reading{Up: 2}}, lost: 42, message: "no counters of dropped frames", countersAreNotCompared: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWatch(&fakeDevice{answers: tc.answers}, &v1alpha1.DeviceTelemetry{
					SNMP: &v1alpha1.SNMPTelemetry{Address: "192.0.2.9:161"}, Interval: metav1.Duration{Duration: 4 * time.Second}, CounterDelay: &metav1.Duration{Duration: time.Second},
				})
				w.Begin(t.Context())
				time.Sleep(5 * time.Second)
				got := w.End(t.Context(), tc.lost)
				if got.Lost != int64(tc.lost) || got.Counted != tc.counted || got.Failed != tc.failed || !strings.Contains(got.Message, tc.message) || (got.Message == "") != (tc.message == "") {
					t.Errorf("%+v", got)
				}
				if tc.countersAreNotCompared != (got.Unexplained == nil) || got.Unexplained != nil && *got.Unexplained != tc.unexplained {
					t.Errorf("%v frames are unexplained, want %d", got.Unexplained, tc.unexplained)
				}
				if tc.counted > 0 && !slices.Equal(got.Counters, []v1alpha1.DeviceCounter{{Name: "input discards of e1", Frames: tc.counted}}) {
					t.Errorf("%+v", got.Counters)
				}
				if tc.mean > 0 && !slices.Equal(got.Sensors, []v1alpha1.DeviceSensor{{Name: "PSU 1", Unit: "W", MeanThousandths: tc.mean, MaximumThousandths: tc.maximum}}) {
					t.Errorf("%+v", got.Sensors)
				}
			})
		})
	}
}

// TestLongNames cuts what a device sends to what a result may have.
func TestLongNames(t *testing.T) {
	t.Parallel()
	r := &Reading{}
	r.Add(strings.Repeat("é", 200), Counter{1, 64})
	r.Sense(strings.Repeat("s", 300), 1, strings.Repeat("u", 20))
	for name := range r.Counters {
		if len(name) > 253 || !utf8.ValidString(name) || !strings.HasSuffix(name, "é...") {
			t.Errorf("%q has %d bytes", name, len(name))
		}
	}
	for name, s := range r.Sensors {
		if len(name) != 253 || len(s.Unit) != 16 {
			t.Errorf("%q has %d bytes, and %q has %d", name, len(name), s.Unit, len(s.Unit))
		}
	}
}

// TestFacts asks a device until it answers, and not again.
func TestFacts(t *testing.T) {
	t.Parallel()
	device := &fakeDevice{}
	w := NewWatch(device, &v1alpha1.DeviceTelemetry{SNMP: &v1alpha1.SNMPTelemetry{}})
	for range 2 {
		f := w.Facts(t.Context())
		if f == nil || f.Model != "leaf" || len(f.SerialNumber) != 253 || len(f.Modules) != 64 || f.UpSeconds != 90 {
			t.Errorf("%+v", f)
		}
	}
	if device.reads != 2 {
		t.Errorf("the device was asked %d times, want 2", device.reads)
	}
}

// TestWatchEnds ends a row at once when the run is aborted.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := NewWatch(&fakeDevice{answers: []any{reading(1, 5, 100)}}, &v1alpha1.DeviceTelemetry{SNMP: &v1alpha1.SNMPTelemetry{}})
		w.Begin(ctx)
		cancel()
		began := time.Now()
		if got := w.End(ctx, 1); got.Unexplained != nil || time.Since(began) > 0 {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
	})
}

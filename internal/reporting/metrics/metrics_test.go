package metrics

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
)

var began = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// small is a bed of four simulated ports, two frame sizes, and a throughput and a latency
// test.
func small(t *testing.T) runner.Config {
	t.Helper()
	cfg := runner.Config{Model: "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us\n64,40,1,2,3,0.1,0.2\n128,80,1,2,3,0.1,0.2\n"}
	cfg.Bed.Name = "bed, with a comma"
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "10G"}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64, 128}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
	}
	cfg.Benchmark.Name, cfg.Benchmark.Namespace, cfg.Benchmark.UID = "small", "team-a", "1"
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%", "throughput"}}},
	}
	if err := manifest.Default(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func newRun(t *testing.T, cfg runner.Config) *Run {
	t.Helper()
	r, err := NewRun(&cfg.Benchmark, &cfg.Profile, &cfg.Bed, began)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// measured are the result of a run of small, and its trials and intervals.
func measured(t *testing.T, cfg runner.Config) (state runner.State, events []trials.Event, intervals []trials.Interval) {
	t.Helper()
	state = run(t, cfg, runner.WithEvents(func(e trials.Event) {
		if e.Finished != nil {
			events = append(events, e)
		}
	}), runner.WithIntervals(time.Second, func(i trials.Interval) { intervals = append(intervals, i) }))
	if state.Outcome != v1alpha1.PhaseMeasured || len(state.Rows) != 6 {
		t.Fatalf("%s with %d rows: %s", state.Outcome, len(state.Rows), state.Message)
	}
	return state, events, intervals
}

// run measures with the engine sim.
func run(t *testing.T, cfg runner.Config, options ...runner.Option) runner.State {
	t.Helper()
	engine, err := runner.NewSim(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	return runner.Run(t.Context(), cfg, engine, options...)
}

// The points of a result equal those that were made row by row, whatever the order.
func TestRowsOfAResult(t *testing.T) {
	cfg := small(t)
	state, _, _ := measured(t, cfg)
	r := newRun(t, cfg)
	var want []Point
	for i := range state.Rows {
		state.Rows[i].ElapsedMilliseconds = int64(1000 * (i + 1))
		want = append(want, row(t, r, state.Rows[i]))
	}
	slices.Reverse(state.Rows)
	slices.Reverse(want)
	got, err := newRun(t, cfg).Rows(state.Rows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	state.Rows[0].Test = "another"
	if _, err := newRun(t, cfg).Rows(state.Rows); err == nil {
		t.Error("a row that is not planned has a point")
	}
}

func row(t *testing.T, r *Run, of v1alpha1.ResultRow) Point {
	t.Helper()
	p, err := r.Row(of)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decode reads one line of the line protocol.
func decode(t *testing.T, p Point) (tags map[string]string, fields map[string]any, at time.Time) {
	t.Helper()
	line, err := p.AppendLine(nil)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(line, []byte("\n")) != 1 {
		t.Errorf("more than one line: %s", line)
	}
	tags, fields = map[string]string{}, map[string]any{}
	d := lineprotocol.NewDecoderWithBytes(line)
	if !d.Next() {
		t.Fatalf("no line in %s", line)
	}
	name, err := d.Measurement()
	if err != nil || string(name) != p.Measurement {
		t.Fatalf("measurement %q, %v", name, err)
	}
	for {
		key, value, err := d.NextTag()
		if err != nil {
			t.Fatal(err)
		}
		if key == nil {
			break
		}
		tags[string(key)] = string(value)
	}
	for {
		key, value, err := d.NextField()
		if err != nil {
			t.Fatal(err)
		}
		if key == nil {
			break
		}
		fields[string(key)] = value.Interface()
	}
	at, err = d.Time(lineprotocol.Nanosecond, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return tags, fields, at
}

// A point has what the archived row has: every number, text and flag of it by its path,
// and the digest of the whole.
func TestARowIsEqualToTheArchivedOne(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	state, _, _ := measured(t, cfg)
	r := newRun(t, cfg)
	for _, of := range state.Rows {
		archived, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		tags, fields, _ := decode(t, row(t, r, of))
		digest, err := canonical.Digest(json.RawMessage(archived))
		if err != nil || fields["digest"] != digest {
			t.Errorf("%s: digest %v, want %s (%v)", of.Name(), fields["digest"], digest, err)
		}
		delete(fields, "digest")
		want := map[string]any{
			"run": "1", "benchmark": "small", "inputs": r.inputs, "trials": int64(of.Trials), "elapsedMilliseconds": of.ElapsedMilliseconds,
			"frames_sent": of.Frames.Sent, "frames_received": of.Frames.Received, "frames_lost": of.Frames.Lost, "frames_lineRatePPM": of.Frames.LineRatePPM,
			"frames_framesPerSecond": of.Frames.FramesPerSecond, "frames_bitsPerSecond": of.Frames.BitsPerSecond,
			"frames_offeredFramesPerSecond": of.Frames.OfferedFramesPerSecond, "frames_trialMilliseconds": of.Frames.TrialMilliseconds,
			"latency_minNs": of.Latency.MinNs, "latency_avgNs": of.Latency.AvgNs, "latency_maxNs": of.Latency.MaxNs, "latency_p99Ns": of.Latency.P99Ns,
			"latency_jitterAvgNs": *of.Latency.JitterAvgNs, "latency_jitterMaxNs": *of.Latency.JitterMaxNs,
		}
		for name, value := range want {
			if fields[name] != value {
				t.Errorf("%s: %s is %v, want %v", of.Name(), name, fields[name], value)
			}
		}
		// Nothing is in the point that the archived row does not have.
		for name, value := range fields {
			if name == "run" || name == "benchmark" || name == "inputs" {
				continue
			}
			if got, known := member(t, archived, name); !known || got != value {
				t.Errorf("%s: %s is %v, and the archived row has %v", of.Name(), name, value, got)
			}
		}
		wantTags := map[string]string{
			"bed": "bed, with a comma", "device": "simulated", "frame_size": strings.TrimSuffix(of.SizeName(), " B"), "method": string(of.Method),
			"team": "team-a", "test": of.Test, "validity": string(of.Validity),
		}
		if diff := cmp.Diff(wantTags, tags); diff != "" {
			t.Errorf("%s: tags differ (-want +got)\n%s", of.Name(), diff)
		}
	}
}

// member finds a member of a JSON document by its path with "_".
func member(t *testing.T, document []byte, path string) (any, bool) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var in any
	if err := d.Decode(&in); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(path, "_") {
		object, is := in.(map[string]any)
		if !is {
			return nil, false
		}
		in = object[name]
	}
	switch v := in.(type) {
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case []any:
		return texts(v)
	}
	return in, in != nil
}

// Another runner that is given the rows of the first makes the same points, and no two
// points of a run have the time and tags in common.
func TestPointsOfARunAreIdempotent(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	state, trials, intervals := measured(t, cfg)
	first, second := newRun(t, cfg), newRun(t, cfg)
	for _, r := range state.Rows[:4] {
		second.Finished(r)
	}
	seen := map[string]bool{}
	unique := func(p Point) {
		t.Helper()
		key := p.Series() + " " + p.Time.String()
		if seen[key] {
			t.Errorf("two points have the identity %s", key)
		}
		seen[key] = true
	}
	for i, of := range state.Rows {
		p := row(t, first, of)
		unique(p)
		if i >= 4 {
			if diff := cmp.Diff(p, row(t, second, of)); diff != "" {
				t.Errorf("%s: a second runner makes another point\n%s", of.Name(), diff)
			}
		}
		if diff := cmp.Diff(p, row(t, first, of)); diff != "" {
			t.Errorf("%s: the point changes\n%s", of.Name(), diff)
		}
	}
	for _, e := range trials {
		unique(first.Trial(e, e.Began))
	}
	for _, i := range intervals {
		for _, p := range first.Interval(i, i.Began.Add(i.At)) {
			unique(p)
		}
	}
	if len(trials) == 0 || len(intervals) == 0 {
		t.Errorf("%d trials, %d intervals", len(trials), len(intervals))
	}
}

// The samples of a trial add up to the trial.
func TestSamplesAddUpToTheTrial(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	_, trials, intervals := measured(t, cfg)
	r := newRun(t, cfg)
	sent := map[time.Time]int64{}
	for _, i := range intervals {
		for _, p := range r.Interval(i, i.Began.Add(i.At)) {
			_, fields, _ := decode(t, p)
			if n, sends := fields["sent"].(int64); sends {
				sent[i.Began] += n
			}
			if fields["received"].(int64) > 0 && (fields["latency_p99_ns"].(int64) < fields["latency_min_ns"].(int64) || fields["latency_p99_ns"].(int64) > fields["latency_max_ns"].(int64)) {
				t.Errorf("the percentile lies outside of the latency: %v", fields)
			}
		}
	}
	for _, e := range trials {
		_, fields, _ := decode(t, r.Trial(e, e.Began))
		if fields["sent"] == int64(0) || fields["sent"] != sent[e.Began] {
			t.Errorf("trial at %d ppm: %v frames sent, and %d in its samples", e.LoadPPM, fields["sent"], sent[e.Began])
		}
	}
}

// What a person writes in a name breaks no line.
func TestTextsBreakNoLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"N9K C9508": "N9K C9508", "a,b=c": "a,b=c", "two\nlines": "two lines", `back\`: "back", "\x00": "", "\xff": "?", `"`: `"`,
	} {
		p := newPoint("m", began, []Tag{{"bed", text}}, []Field{{"f", text + strings.Repeat("é", maxText)}})
		tags, fields, at := decode(t, p)
		if tags["bed"] != want || len(fields["f"].(string)) > maxText || !at.Equal(began) {
			t.Errorf("%q: %q %v", text, tags, at)
		}
	}
}

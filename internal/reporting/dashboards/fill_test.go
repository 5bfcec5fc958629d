package dashboards

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/metrics/stream"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
)

// order describes a run.
type order struct {
	name, team, bed string
	// device of the bed in the points; with none it is simulated.
	device v1alpha1.Device
	// model is the device that is measured.
	model string
	began time.Time
	// trial and search are the lengths of trials.
	trial, search time.Duration
	gates         []v1alpha1.Gate
	// spoiled gives one row another validity.
	spoiled bool
	// sampled writes what ports and the device did in each interval.
	sampled bool
	// trials ends the run after so many of them, as if it went on; 0 is all.
	trials int
}

// measurement is a run whose points are in the database.
type measurement struct {
	order

	uid    string
	rows   []v1alpha1.ResultRow
	trials []trials.Trial
	gates  *gate.Judgement
}

// filled is a lab of some months in a real InfluxDB.
type filled struct {
	db   *testserver.Influx
	runs []measurement
	// regressions are the regressions of the history on bed one.
	regressions []metrics.Point
	// beds are the points of each bed, in the order of their times.
	beds map[string][]metrics.Bed
}

const (
	nights   = 26 // of the history
	upgraded = 16 // the first of them with another software
	useless  = v1alpha1.ValidityContended
	// usual is the validity of rows of the engine sim, which are never Valid.
	usual = string(v1alpha1.ValiditySimulated)
)

// model is a device that passes a share of the line rate, in percent.
func model(percent int) string {
	const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us\n"
	return header + fmt.Sprintf("64,%d,1,2,3,0.1,0.2\n512,%d,2,3,4,0.1,0.2\n", percent, percent+20)
}

// gates of the runs on bed one: with the worse software frames of 64 bytes fail the first two, and frames of
// 512 bytes always fail the third.
func gates() []v1alpha1.Gate {
	return []v1alpha1.Gate{
		{Name: "fast", Test: "throughput", FrameSizes: []int32{64}, Metric: "Throughput", Min: "10M"},
		{Name: "line-rate", Test: "throughput", Metric: "LineRate", Min: "35%"},
		{Name: "quick", Test: "throughput", Metric: "LatencyP99", Max: "3500ns"},
	}
}

// store writes to the database what fills a spool.
func (f *filled) store(t *testing.T, fill func(*spool.Spool)) {
	t.Helper()
	f.db = testserver.StartInflux(t, testserver.Influx113)
	to, err := sink.NewHTTP(sink.Config{API: sink.V2, URL: f.db.URL, Bucket: testserver.InfluxDatabase, Token: testserver.InfluxUser + ":" + testserver.InfluxPassword}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := spool.Open(filepath.Join(t.TempDir(), "spool.db"), 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	fill(kept)
	d := delivery.New(kept, to, slog.New(slog.DiscardHandler))
	metricstest.Drain(t.Context(), d.Run, func() int64 { return d.Stats().Points() })
	if s := d.Stats(); s.Points() != 0 || s.Refused.Points != 0 {
		t.Fatalf("not all points were written: %+v", s)
	}
}

// take puts points into a spool.
func take(t *testing.T, kept *spool.Spool, points []metrics.Point) {
	t.Helper()
	lines, err := metrics.Lines(points)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Take(t.Context(), lines, nil); err != nil {
		t.Fatal(err)
	}
}

// fill measures with the engine sim, and writes as nodrop run --metrics does: a benchmark
// each week on bed one, whose device gets a worse software, and two of another team on bed
// two. One row of those is not Valid.
func fill(t *testing.T) *filled {
	t.Helper()
	f := &filled{}
	f.store(t, func(kept *spool.Spool) { f.weekly(t, kept) })
	return f
}

func (f *filled) weekly(t *testing.T, kept *spool.Spool) {
	t.Helper()
	begin := time.Now().Add(-7 * 24 * time.Hour * (nights + 1)).Truncate(time.Hour)
	var past []history.Run
	for night := range nights {
		percent, software := 40, "1.0"
		if night >= upgraded {
			percent, software = 30, "2.0/rc"
		}
		m := f.measure(t, kept, order{
			name: "nightly", team: "team-a", bed: "one", device: device(software), model: model(percent), began: begin.Add(time.Duration(night) * 7 * 24 * time.Hour),
			trial: 10 * time.Second, search: 2 * time.Second, gates: gates(), sampled: true,
		})
		info := history.RunInfo{Time: metav1.NewTime(m.began), UID: m.uid}
		past = append(past, history.NewRun(info, m.team, "nightly", m.bed, "digest", m.rows))
	}
	for day := range 2 {
		f.measure(t, kept, order{
			name: "nightly", team: "team-b", bed: "two", model: model(60), began: begin.Add(time.Duration(day)*24*time.Hour + time.Hour),
			trial: 10 * time.Second, search: 2 * time.Second, spoiled: day == 1, sampled: true,
		})
	}
	h, err := history.Make(past)
	if err != nil {
		t.Fatal(err)
	}
	f.regressions = metrics.Regressions(h, f.runs[nights-1].uid, device("2.0/rc"))
	if len(f.regressions) == 0 {
		t.Fatal("the history shows no regression")
	}
	take(t, kept, append(f.lab(), f.regressions...))
}

// lab has the points of the beds, as the operator writes them: two in each run, and one
// after all but the last.
func (f *filled) lab() (points []metrics.Point) {
	f.beds = map[string][]metrics.Bed{}
	add := func(b metrics.Bed, at time.Time) {
		f.beds[b.Name] = append(f.beds[b.Name], b)
		points = append(points, b.Point(at))
	}
	for n, m := range f.runs {
		busy := metrics.Bed{
			Name: m.bed, Team: m.team, Holder: "nightly", Run: m.uid, Ready: true, Waiting: 1 + n%3, Oldest: m.began, Interval: 30 * time.Second,
			Used: time.Duration(n) * time.Second, Calibrated: m.began.Add(-time.Hour),
		}
		add(busy, m.began.Add(2*time.Second))
		busy.Used = busy.Interval
		add(busy, m.began.Add(4*time.Second))
		if n != nights-1 {
			add(metrics.Bed{Name: m.bed, Ready: true, Interval: 30 * time.Second}, m.began.Add(6*time.Second))
		}
	}
	return points
}

// Of the device in each interval of the runs.
const (
	deviceBusy   = 300_000 // ppm
	deviceMemory = 50 << 20
	deviceRoutes = 1007
)

// withDevice adds to an interval a device of software: it receives what the tester sends, and
// drops a hundredth of that.
func withDevice(i trials.Interval) trials.Interval {
	i.Device.Processors = &traffic.ProcessorSample{Busy: deviceBusy, SoftInterrupts: deviceBusy / 2, Total: 1_000_000}
	i.Device.Memory, i.Device.Routes = new(int64(deviceMemory)), new(int64(deviceRoutes))
	for _, p := range i.Ports {
		frames := traffic.InterfaceSample{RxFrames: p.Tx.Sent, RxDropped: p.Tx.Sent / 100}
		i.Device.Interfaces = append(i.Device.Interfaces, trials.InterfaceInterval{Port: p.Port, InterfaceSample: frames})
	}
	return i
}

// device returns the device that the points name.
func device(software string) v1alpha1.Device {
	return v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "x+1 (a/b)", Software: software}}
}

// measure runs a benchmark in simulated time that begins at a time.
func (f *filled) measure(t *testing.T, kept *spool.Spool, o order) measurement {
	t.Helper()
	m := measurement{order: o, uid: fmt.Sprintf("uid-%02d", len(f.runs))}
	c := runner.Config{Model: o.model}
	c.Bed.Name = o.bed
	c.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	c.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	c.Profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64, 512}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	c.Benchmark.Name, c.Benchmark.Namespace, c.Benchmark.UID = o.name, o.team, types.UID(m.uid)
	trial, search := metav1.Duration{Duration: o.trial}, metav1.Duration{Duration: o.search}
	c.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "1%", TrialDuration: trial, SearchTrialDuration: search}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%", "throughput"}, TrialDuration: trial}},
		{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{TrialDuration: trial}},
	}
	c.Benchmark.Spec.Gates = o.gates
	if err := manifest.Default(&c.Benchmark, &c.Profile, &c.Bed); err != nil {
		t.Fatal(err)
	}
	shown := c.Bed.DeepCopy()
	if o.device.Physical != nil {
		shown.Spec.Device = o.device
	}
	run, err := metrics.NewRun(&c.Benchmark, &c.Profile, shown, o.began)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := runner.NewSim(c)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	s := stream.Open(run, kept, slog.New(slog.DiscardHandler), func() time.Time { return o.began })
	s.Begin(v1alpha1.EngineSim)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	options := []runner.Option{
		runner.WithEvents(func(e trials.Event) {
			if ctx.Err() != nil {
				return
			}
			if s.Event(e); e.Finished != nil {
				m.trials = append(m.trials, *e.Finished)
			}
			if len(m.trials) == o.trials && o.trials > 0 {
				stop()
			}
		}),
		runner.WithLog(func(row v1alpha1.ResultRow) {
			if ctx.Err() != nil {
				return
			}
			if o.spoiled && row.FrameSize == 512 && row.Method == v1alpha1.MethodThroughput {
				row.Validity = useless
			}
			m.rows = append(m.rows, row)
			s.Row(row)
		}),
	}
	if o.sampled {
		options = append(options, runner.WithIntervals(time.Second, func(i trials.Interval) { s.Interval(withDevice(i)) }))
	}
	state := runner.Run(ctx, c, engine, options...)
	if o.trials == 0 {
		c.Benchmark.Status.Outcome = state.Outcome
		m.gates = report.Judge(report.Content{Benchmark: &c.Benchmark, Bed: &c.Bed, Rows: m.rows})
		s.Gates(m.gates, m.rows)
	}
	if counts := s.Close(t.Context()); !state.Done && o.trials == 0 || counts.Queued+counts.Dropped != 0 || len(m.rows) == 0 {
		t.Fatalf("%s: %s; %+v", state.Outcome, state.Message, counts)
	}
	f.runs = append(f.runs, m)
	return m
}

// settings of a dashboard in a test.
type settings struct {
	from, to  time.Time
	variables map[string][]string // without one, all
	step      time.Duration       // width of a window; 0 is the finest
}

// last is the newest run of bed one.
func (f *filled) last() measurement { return f.runs[nights-1] }

// long returns the simulated duration of a run, plus a margin of 10 s.
func (m measurement) long() time.Duration {
	var sum time.Duration
	for _, row := range m.rows {
		sum += time.Duration(row.ElapsedMilliseconds) * time.Millisecond
	}
	return sum + 10*time.Second
}

// settingsOf choose in a dashboard what the tests look at.
func (f *filled) settingsOf(name string) settings {
	last := f.last()
	s := settings{from: f.runs[0].began.Add(-time.Hour), to: last.began.Add(last.long()), variables: map[string][]string{}}
	switch name {
	case "live":
		s.from = last.began
		s.variables["bed"] = []string{"one"}
	case "results":
		s.variables["bed"], s.variables["run"] = []string{"one", "two"}, []string{last.uid}
		s.variables["validity"], s.variables["frame_size"] = []string{usual}, []string{"64"}
	case "trend":
		s.variables["test"], s.variables["device"] = []string{"throughput"}, []string{"acme x+1 (a/b)"}
		s.variables["validity"] = []string{usual}
	}
	return s
}

// ask asks a query as Grafana would, with the variables of a dashboard.
func (f *filled) ask(t *testing.T, d Dashboard, text string, l Language, s settings) []testserver.Row {
	t.Helper()
	text = interpolate(t, text, l, d, s)
	if l == Flux {
		return slices.DeleteFunc(f.db.Flux(text), func(r testserver.Row) bool { return len(r) == 0 })
	}
	return f.db.InfluxQL(text)
}

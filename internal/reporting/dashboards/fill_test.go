package dashboards

import (
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
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/metrics/stream"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
)

// measurement is a run whose points are in the database.
type measurement struct {
	began  time.Time
	uid    string
	team   string
	bed    string
	rows   []v1alpha1.ResultRow
	trials []trials.Trial
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

// fill measures with the engine sim, and writes as nodrop run --metrics does: a benchmark
// each week on bed one, whose device gets a worse software, and two of another team on bed
// two. One row of those is not Valid.
func fill(t *testing.T) *filled {
	t.Helper()
	f := &filled{db: testserver.StartInflux(t, testserver.Influx113)}
	to, err := sink.NewHTTP(sink.Config{API: sink.V2, URL: f.db.URL, Bucket: testserver.InfluxDatabase, Token: testserver.InfluxUser + ":" + testserver.InfluxPassword}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := spool.Open(filepath.Join(t.TempDir(), "spool.db"), 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	begin := time.Now().Add(-7 * 24 * time.Hour * (nights + 1)).Truncate(time.Hour)
	var past []history.Run
	for night := range nights {
		percent, software := 40, "1.0"
		if night >= upgraded {
			percent, software = 30, "2.0/rc"
		}
		m := f.measure(t, kept, "one", "team-a", software, percent, begin.Add(time.Duration(night)*7*24*time.Hour), false)
		info := history.RunInfo{Time: metav1.NewTime(m.began), UID: m.uid}
		past = append(past, history.NewRun(info, m.team, "nightly", m.bed, "digest", m.rows))
	}
	for day := range 2 {
		f.measure(t, kept, "two", "team-b", "", 60, begin.Add(time.Duration(day)*24*time.Hour+time.Hour), day == 1)
	}
	h, err := history.Make(past)
	if err != nil {
		t.Fatal(err)
	}
	f.regressions = metrics.Regressions(h, f.runs[nights-1].uid, device("2.0/rc"))
	if len(f.regressions) == 0 {
		t.Fatal("the history shows no regression")
	}
	lines, err := metrics.Lines(append(f.lab(), f.regressions...))
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Take(t.Context(), lines, nil); err != nil {
		t.Fatal(err)
	}
	d := delivery.New(kept, to, slog.New(slog.DiscardHandler))
	metricstest.Drain(t.Context(), d.Run, func() int64 { return d.Stats().Points() })
	if s := d.Stats(); s.Points() != 0 || s.Refused.Points != 0 {
		t.Fatalf("not all points were written: %+v", s)
	}
	return f
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
func (f *filled) measure(t *testing.T, kept *spool.Spool, bed, team, software string, percent int, began time.Time, spoiled bool) measurement {
	t.Helper()
	m := measurement{began: began, uid: fmt.Sprintf("uid-%02d", len(f.runs)), team: team, bed: bed}
	c := runner.Config{Model: model(percent)}
	c.Bed.Name = bed
	c.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	c.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	c.Profile.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64, 512}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	c.Benchmark.Name, c.Benchmark.Namespace, c.Benchmark.UID = "nightly", team, types.UID(m.uid)
	ten, two := metav1.Duration{Duration: 10 * time.Second}, metav1.Duration{Duration: 2 * time.Second}
	c.Benchmark.Spec.Tests = []v1alpha1.Test{
		{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "1%", TrialDuration: ten, SearchTrialDuration: two}},
		{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%", "throughput"}, TrialDuration: ten}},
		{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{TrialDuration: ten}},
	}
	if err := manifest.Default(&c.Benchmark, &c.Profile, &c.Bed); err != nil {
		t.Fatal(err)
	}
	shown := c.Bed.DeepCopy()
	if software != "" {
		shown.Spec.Device = device(software)
	}
	run, err := metrics.NewRun(&c.Benchmark, &c.Profile, shown, began)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := runner.NewSim(c)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	s := stream.Open(run, kept, slog.New(slog.DiscardHandler), func() time.Time { return began })
	s.Begin(v1alpha1.EngineSim)
	state := runner.Run(t.Context(), c, engine,
		runner.WithEvents(func(e trials.Event) {
			if s.Event(e); e.Finished != nil {
				m.trials = append(m.trials, *e.Finished)
			}
		}),
		runner.WithIntervals(time.Second, func(i trials.Interval) { s.Interval(withDevice(i)) }),
		runner.WithLog(func(row v1alpha1.ResultRow) {
			if spoiled && row.FrameSize == 512 && row.Method == v1alpha1.MethodThroughput {
				row.Validity = useless
			}
			m.rows = append(m.rows, row)
			s.Row(row)
		}))
	if counts := s.Close(t.Context()); !state.Done || counts.Queued+counts.Dropped != 0 || len(m.rows) == 0 {
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

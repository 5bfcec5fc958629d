package dashboards

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// checks compare answers with the rows and trials that the runs had.
var checks = map[string]func(t *testing.T, f *filled, rows []testserver.Row){
	"live/trials":        liveTrials,
	"live/offered":       liveOffered,
	"live/latency":       liveLatency,
	"results/throughput": resultsThroughput,
	"results/latency":    resultsLatency,
	"results/rows":       resultsRows,
	"trend/throughput":   trendThroughput,
	"trend/shift":        trendShift,

	"trend/throughput-limits": trendThroughputLimits,
	"trend/throughput-failed": trendThroughputFailed,
	"trend/line-rate-limits":  trendLineRateLimits,
	"trend/line-rate-failed":  trendLineRateFailed,
	"trend/latency-failed":    trendLatencyFailed,
	"results/gates":           resultsGates,

	"trend/regressions": trendRegressions,
	"lab/hours":         labHours,
	"lab/teams":         labTeams,
	"lab/validity":      labValidity,
	"lab/beds":          labBeds,
	"lab/waiting":       labWaiting,
	"lab/utilisation":   labUtilisation,

	"live/device-received": liveDeviceReceived,
	"live/device-dropped":  liveDeviceDropped,
	"live/device-cpu":      liveDeviceCPU,
	"live/device-memory":   liveDeviceMemory,
	"live/device-routes":   liveDeviceRoutes,
}

// number is the first of the columns that a row has.
func number(t *testing.T, row testserver.Row, columns ...string) float64 {
	t.Helper()
	for _, c := range columns {
		if v, there := row[c]; there {
			n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
			if err != nil {
				t.Fatalf("%s is %v: %v", c, v, err)
			}
			return n
		}
	}
	t.Fatalf("none of %v in %v", columns, row)
	return 0
}

// numbers of a column, sorted.
func numbers(t *testing.T, rows []testserver.Row, columns ...string) []float64 {
	t.Helper()
	var all []float64
	for _, row := range rows {
		all = append(all, number(t, row, columns...))
	}
	slices.Sort(all)
	return all
}

func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	slices.Sort(want)
	if len(want) == 0 || !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// percent converts a ratio in ppm to the percentage that the panel shows.
func percent(ppm int64) float64 { return float64(ppm) / 10_000 }

// of are figures of the rows of a method.
func of(rows []v1alpha1.ResultRow, m v1alpha1.Method, size int32, figure func(v1alpha1.ResultRow) int64) []float64 {
	var all []float64
	for _, row := range rows {
		if row.Method == m && (size == 0 || row.FrameSize == size) {
			all = append(all, float64(figure(row)))
		}
	}
	return all
}

func offered(r v1alpha1.ResultRow) int64 { return r.Frames.OfferedFramesPerSecond }

func liveTrials(t *testing.T, f *filled, rows []testserver.Row) {
	var sent, lost []float64
	for _, trial := range f.last().trials {
		sent, lost = append(sent, float64(trial.Sent)), append(lost, float64(trial.Lost))
	}
	same(t, "sent", numbers(t, rows, "sent"), sent)
	same(t, "lost", numbers(t, rows, "lost"), lost)
}

// The rate and the latency of each throughput are in the series: its trial was one of them.
func liveOffered(t *testing.T, f *filled, rows []testserver.Row) {
	contains(t, numbers(t, rows, "offered"), of(f.last().rows, v1alpha1.MethodThroughput, 0, offered), 1e-6)
}

func liveLatency(t *testing.T, f *filled, rows []testserver.Row) {
	contains(t, numbers(t, rows, "p99"), of(f.last().rows, v1alpha1.MethodThroughput, 0, func(r v1alpha1.ResultRow) int64 { return r.Latency.P99Ns }), 0.02)
}

func contains(t *testing.T, all, wanted []float64, share float64) {
	t.Helper()
	for _, want := range wanted {
		if want == 0 || !slices.ContainsFunc(all, func(v float64) bool { return math.Abs(v-want) <= share*want }) {
			t.Errorf("%v is not in %v", want, all)
		}
	}
}

func resultsThroughput(t *testing.T, f *filled, rows []testserver.Row) {
	for _, size := range []int32{64, 512} {
		here := slices.DeleteFunc(slices.Clone(rows), func(r testserver.Row) bool { return r["frame_size"] != fmt.Sprint(size) })
		same(t, fmt.Sprint(size), numbers(t, here, "throughput"), of(f.last().rows, v1alpha1.MethodThroughput, size, offered))
	}
}

func resultsLatency(t *testing.T, f *filled, rows []testserver.Row) {
	last := f.last().rows
	var loads []float64
	for _, ppm := range of(last, v1alpha1.MethodLatency, 64, func(r v1alpha1.ResultRow) int64 { return r.Frames.LineRatePPM }) {
		loads = append(loads, percent(int64(ppm)))
	}
	same(t, "load", numbers(t, rows, "load"), loads)
	for column, figure := range map[string]func(v1alpha1.ResultRow) int64{
		"mean": func(r v1alpha1.ResultRow) int64 { return r.Latency.AvgNs },
		"p99":  func(r v1alpha1.ResultRow) int64 { return r.Latency.P99Ns },
	} {
		same(t, column, numbers(t, rows, column), of(last, v1alpha1.MethodLatency, 64, figure))
	}
}

func resultsRows(t *testing.T, f *filled, rows []testserver.Row) {
	var lost []float64
	for _, row := range f.last().rows {
		ppm := int64(0)
		if row.Frames.LossPPM != nil {
			ppm = *row.Frames.LossPPM
		}
		lost = append(lost, percent(ppm))
	}
	var got []float64
	for _, row := range rows {
		if _, there := row["loss"]; !there {
			row["loss"] = "0" // Rows without loss have no such member.
		}
		got = append(got, number(t, row, "loss"))
	}
	slices.Sort(got)
	same(t, "loss", got, lost)
}

func trendThroughput(t *testing.T, f *filled, rows []testserver.Row) {
	var want []float64
	for _, m := range f.runs[:nights] {
		want = append(want, of(m.rows, v1alpha1.MethodThroughput, 0, offered)...)
	}
	same(t, "throughput", numbers(t, rows, "_value", "frames_offeredFramesPerSecond"), want)
}

// Most nights were before the upgrade: their throughput is the median.
func trendShift(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "newest", numbers(t, rows, "newest"), of(f.last().rows, v1alpha1.MethodThroughput, 0, offered))
	same(t, "median", numbers(t, rows, "median"), of(f.runs[0].rows, v1alpha1.MethodThroughput, 0, offered))
}

func trendRegressions(t *testing.T, f *filled, rows []testserver.Row) {
	if len(rows) != len(f.regressions) {
		t.Errorf("%d regressions, want %d", len(rows), len(f.regressions))
	}
}

func labHours(t *testing.T, f *filled, rows []testserver.Row) {
	hours := map[string]float64{}
	for _, m := range f.runs {
		for _, row := range m.rows {
			hours[m.team] += float64(row.ElapsedMilliseconds) / 3_600_000
		}
	}
	for _, row := range rows {
		same(t, fmt.Sprint(row["team"]), []float64{number(t, row, "hours")}, []float64{hours[fmt.Sprint(row["team"])]})
	}
	if len(rows) != len(hours) {
		t.Errorf("hours of %d teams, want %d", len(rows), len(hours))
	}
}

func labTeams(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "runs", numbers(t, rows, "runs"), []float64{nights, float64(len(f.runs) - nights)})
}

func labValidity(t *testing.T, f *filled, rows []testserver.Row) {
	count := 0
	for _, m := range f.runs {
		count += len(m.rows)
	}
	got := 0.0
	for _, row := range rows {
		if row["validity"] == string(useless) && number(t, row, "rows") != 1 {
			t.Errorf("%v", row)
		}
		got += number(t, row, "rows")
	}
	same(t, "rows", []float64{got}, []float64{float64(count)})
}

// What each port sent in a throughput trial is among what the device received at it.
func liveDeviceReceived(t *testing.T, f *filled, rows []testserver.Row) {
	for _, port := range []string{"p1", "p2"} {
		here := slices.DeleteFunc(slices.Clone(rows), func(r testserver.Row) bool { return r["port"] != port })
		want := of(f.last().rows, v1alpha1.MethodThroughput, 0, offered)
		for i := range want {
			want[i] /= 2
		}
		contains(t, numbers(t, here, "_value", "sum_sum"), want, 1e-6)
	}
}

func liveDeviceDropped(t *testing.T, f *filled, rows []testserver.Row) {
	want := of(f.last().rows, v1alpha1.MethodThroughput, 0, offered)
	for i := range want {
		want[i] /= 200
	}
	contains(t, numbers(t, rows, "_value", "sum_sum"), want, 1e-3)
}

// all checks that a column has the wanted number in every row, and that there are rows.
func all(t *testing.T, rows []testserver.Row, column string, want float64) {
	t.Helper()
	for _, got := range numbers(t, rows, column) {
		if got != want {
			t.Errorf("%s is %v, want %v", column, got, want)
		}
	}
}

func liveDeviceCPU(t *testing.T, _ *filled, rows []testserver.Row) {
	all(t, rows, "busy", deviceBusy/10_000)
	all(t, rows, "soft interrupts", deviceBusy/20_000)
}

func liveDeviceMemory(t *testing.T, _ *filled, rows []testserver.Row) {
	all(t, rows, "memory", deviceMemory)
}

func liveDeviceRoutes(t *testing.T, _ *filled, rows []testserver.Row) {
	all(t, rows, "routes", deviceRoutes)
}

// Bed one is in use at the end, and bed two is free.
func labBeds(t *testing.T, f *filled, rows []testserver.Row) {
	if len(rows) != len(f.beds) {
		t.Fatalf("%d beds, want %d: %v", len(rows), len(f.beds), rows)
	}
	for _, row := range rows {
		points := f.beds[fmt.Sprint(row["bed"])]
		last := points[len(points)-1]
		text := func(column string) string {
			if row[column] == nil {
				return ""
			}
			return fmt.Sprint(row[column])
		}
		if text("holder") != last.Holder || text("team") != last.Team || text("ready") != "true" || number(t, row, "waiting") != float64(last.Waiting) {
			t.Errorf("%v, want %+v", row, last)
		}
		if last.Holder != "" && number(t, row, "calibration_age_ns") < 3600e9 {
			t.Errorf("%v, want %+v", row, last)
		}
	}
}

func ofBeds(f *filled, figure func(metrics.Bed) float64) []float64 {
	var all []float64
	for _, points := range f.beds {
		for _, b := range points {
			all = append(all, figure(b))
		}
	}
	return all
}

func labWaiting(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "waiting", numbers(t, rows, "_value", "max"), ofBeds(f, func(b metrics.Bed) float64 { return float64(b.Waiting) }))
}

func labUtilisation(t *testing.T, f *filled, rows []testserver.Row) {
	same(t, "utilisation", numbers(t, rows, "_value", "mean"), ofBeds(f, func(b metrics.Bed) float64 {
		return math.Floor(float64(b.Used)/float64(b.Interval)*1e6) / 1e4
	}))
}

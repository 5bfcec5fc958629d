package dashboards

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
)

// busyDays is the length of the history of a busy lab.
const busyDays = 30

// busyBed is a bed of a busy lab.
type busyBed struct {
	name, vendor, model string
	// percent of line rate that frames of 64 bytes pass with the old software, and with the new one.
	percent, then int
	// old and new software, and the day of the upgrade; 0 is none.
	old, new string
	upgrade  int
	// nightly is the team whose benchmark runs each night, and others share the days.
	nightly string
	others  []string
	gates   []v1alpha1.Gate
}

func busyBeds() []busyBed {
	limits := func(rate, share, latency v1alpha1.GateBound) []v1alpha1.Gate {
		return []v1alpha1.Gate{
			{Name: "fast", Test: "throughput", FrameSizes: []int32{64}, Metric: "Throughput", Min: rate},
			{Name: "line-rate", Test: "throughput", Metric: "LineRate", Min: share},
			{Name: "quick", Test: "throughput", Metric: "LatencyP99", Max: latency},
		}
	}
	return []busyBed{
		{"core-1", "Acme", "R9000", 72, 61, "7.2.1", "7.3.0", 19, "core", []string{"security", "qualification"}, limits("20M", "65%", "22us")},
		{"core-2", "Acme", "R9000", 71, 71, "7.2.1", "", 0, "core", []string{"qualification"}, limits("20M", "65%", "22us")},
		{"edge-1", "Globex", "E40", 48, 52, "4.8", "5.0", 12, "edge", []string{"core", "qualification"}, limits("13M", "45%", "25us")},
		{"access-1", "Initech", "S24", 30, 30, "1.9.4", "", 0, "access", []string{"edge"}, nil},
		{"firewall-1", "Umbrella", "FW-2", 22, 22, "9.1", "", 0, "security", []string{"security", "edge"}, nil},
	}
}

// busyModel is a device whose capacity and latency differ a little from run to run.
func busyModel(percent int, random *rand.Rand) string {
	const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us,capacity_noise_ppm\n"
	low := 6 + random.Float64()
	of := func(size, percent int, by float64) string {
		return fmt.Sprintf("%d,%.1f,%.2f,%.2f,%.2f,0.3,1.2,1000\n", size, float64(percent)+2*random.Float64()-1, low*by, 1.5*low*by, 2.8*low*by+2*random.Float64())
	}
	return header + of(64, percent, 1) + of(512, percent+22, 1.1)
}

// fillBusy is a lab of five beds and five teams over a month, in which one benchmark runs. Runs and gates
// fail with a new software of one bed, some rows are in doubt, and two beds cannot be used at the end.
func fillBusy(t *testing.T) *filled {
	t.Helper()
	f := &filled{beds: map[string][]metrics.Bed{}}
	random := rand.New(rand.NewPCG(7, 11))
	now := time.Now().Truncate(time.Minute)
	f.store(t, func(kept *spool.Spool) {
		for _, b := range busyBeds() {
			f.month(t, kept, b, now, random)
		}
		one := busyBeds()[0]
		last := f.measure(t, kept, order{
			name: "nightly", team: one.nightly, bed: one.name, device: one.device(busyDays), model: busyModel(one.then, random), began: now.Add(-10 * time.Minute),
			trial: 20 * time.Second, search: 5 * time.Second, gates: one.gates, sampled: true, trials: 34,
		})
		take(t, kept, append(f.month30(now, last, random), f.regressions...))
	})
	return f
}

func (b busyBed) device(day int) v1alpha1.Device {
	software := b.old
	if b.upgrade > 0 && day >= b.upgrade {
		software = b.new
	}
	return v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: b.vendor, Model: b.model, Software: software}}
}

// month measures on a bed: a benchmark each night, and others on most days.
func (f *filled) month(t *testing.T, kept *spool.Spool, b busyBed, now time.Time, random *rand.Rand) {
	t.Helper()
	var past []history.Run
	last := ""
	for day := range busyDays {
		percent := b.percent
		if b.upgrade > 0 && day >= b.upgrade {
			percent = b.then
		}
		midnight := now.Truncate(24 * time.Hour).Add(time.Duration(day-busyDays) * 24 * time.Hour)
		o := order{
			name: "nightly", team: b.nightly, bed: b.name, device: b.device(day), model: busyModel(percent, random), began: midnight.Add(2 * time.Hour),
			trial: 10 * time.Minute, search: 2 * time.Minute, gates: b.gates, spoiled: random.IntN(9) == 0,
		}
		m := f.measure(t, kept, o)
		past = append(past, history.NewRun(history.RunInfo{Time: metav1.NewTime(m.began), UID: m.uid}, m.team, m.name, m.bed, "digest", m.rows))
		last = m.uid
		o.began, o.gates, o.trial = m.began.Add(m.long()), nil, 5*time.Minute
		for i, team := range b.others {
			o.began = o.began.Add(time.Duration(1+random.IntN(4)) * time.Hour / 2)
			if random.IntN(4) > 0 {
				o.team, o.name, o.spoiled = team, []string{"release", "bisect", "imix"}[(i+day)%3], random.IntN(12) == 0
				o.began = o.began.Add(f.measure(t, kept, o).long())
			}
		}
	}
	h, err := history.Make(past)
	if err != nil {
		t.Fatal(err)
	}
	f.regressions = append(f.regressions, metrics.Regressions(h, last, b.device(busyDays))...)
}

// month30 has the points of the beds, which are written all 10 minutes.
func (f *filled) month30(now time.Time, running measurement, random *rand.Rand) (points []metrics.Point) {
	const step = 10 * time.Minute
	for i, b := range busyBeds() {
		runs := slices.DeleteFunc(slices.Clone(f.runs), func(m measurement) bool { return m.bed != b.name || m.uid == running.uid })
		calibrated := now.Add(-busyDays * 24 * time.Hour)
		for at := calibrated; !at.After(now); at = at.Add(step) {
			if at.Sub(calibrated) > time.Duration(3+2*i)*24*time.Hour && i < 4 {
				calibrated = at
			}
			p := metrics.Bed{Name: b.name, Ready: true, Interval: step, Calibrated: calibrated}
			for _, m := range runs {
				from, to := m.began.Add(-2*time.Minute), m.began.Add(m.long())
				if begin, end := maxTime(from, at.Add(-step)), minTime(to, at); end.After(begin) {
					p.Used += end.Sub(begin)
				}
				if !at.Before(from) && at.Before(to) {
					p.Team, p.Holder, p.Run = m.team, m.name, m.uid
				}
				if wait := from.Sub(at); wait > 0 && wait < 3*time.Hour {
					p.Waiting++
					if p.Oldest.IsZero() {
						p.Oldest = at.Add(-time.Duration(1+random.IntN(50)) * time.Minute)
					}
				}
			}
			p.Used = min(p.Used, step)
			f.beds[b.name] = append(f.beds[b.name], p)
			points = append(points, p.Point(at))
		}
		last := metrics.Bed{Name: b.name, Ready: true, Interval: 30 * time.Second, Calibrated: calibrated}
		switch b.name {
		case running.bed:
			last.Team, last.Holder, last.Run, last.Used = running.team, running.name, running.uid, last.Interval
			last.Waiting, last.Oldest = 3, now.Add(-42*time.Minute)
		case "core-2":
			last.Unschedulable = true
		case "access-1":
			last.Ready, last.Quarantined, last.Waiting, last.Oldest = false, true, 2, now.Add(-3*time.Hour)
		}
		points = append(points, last.Point(now.Add(20*time.Second)))
	}
	return points
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// busySettings choose in a dashboard what its picture shows.
func (f *filled) busySettings(name string) settings {
	running := f.runs[len(f.runs)-1]
	end := running.began.Add(15 * time.Minute)
	s := settings{from: end.Add(-busyDays * 24 * time.Hour), to: end, variables: map[string][]string{}}
	failedLast := slices.IndexFunc(f.runs, func(m measurement) bool {
		return m.bed == running.bed && m.name == running.name && strings.HasPrefix(m.device.Physical.Software, "7.3") && !m.spoiled
	})
	switch name {
	case "live":
		s.from = running.began.Add(-time.Minute)
		s.to = s.from.Add(15 * time.Minute)
		s.variables["bed"] = []string{running.bed}
	case "results":
		s.variables["run"], s.variables["frame_size"] = []string{f.runs[failedLast].uid}, []string{"64"}
		s.variables["validity"] = []string{usual}
	case "trend":
		s.variables["bed"], s.variables["test"], s.variables["team"] = []string{"core-1", "edge-1"}, []string{"throughput"}, []string{"core", "edge"}
		s.variables["frame_size"], s.variables["validity"] = []string{"64"}, []string{usual}
	}
	return s
}

package opmetrics_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics/opmetricstest"
)

// fakeLab has the state that it is given.
type fakeLab struct {
	state opmetrics.State
	err   error
}

func (f fakeLab) State(context.Context) (opmetrics.State, error) { return f.state, f.err }

func at(seconds int64) time.Time { return time.Unix(seconds, 0) }

// busy is an operator with a value in every metric.
func busy() *opmetrics.Operator {
	o := opmetrics.NewOperator()
	o.Phase("Queued", 90*time.Second)
	o.Phase("Running", -time.Second) // A clock was set.
	o.Finished("Passed")
	o.CleanedUp(true)
	o.CleanedUp(false)
	o.Quarantined("b1")
	o.Archived(opmetrics.Unavailable)
	o.Judged("Benchmark", opmetrics.Refused, 3*time.Millisecond)
	o.Certificate(func() (time.Time, error) { return at(1000), nil })
	o.Lead(fakeLab{state: opmetrics.State{
		Beds: []opmetrics.Bed{
			{Name: "b1", Quarantined: true},
			{Name: "b2", Ready: true, Unschedulable: true, Leased: at(2), Waiting: 3, Oldest: at(1), Calibrated: at(4), CalibrationEnds: at(5)},
		},
		Teams:   []opmetrics.Team{{Name: "t1", Waiting: 3, Oldest: at(1)}, {Name: "t2", Pending: 1}},
		Archive: &opmetrics.Archive{Waiting: 2, Oldest: at(6)},
	}})
	return o
}

func TestOperator(t *testing.T) {
	o := busy()
	for _, tc := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "nodrop_benchmark_phase_duration_seconds", []string{"phase", "Queued"}},
		{1, "nodrop_benchmark_phase_duration_seconds", []string{"phase", "Running"}},
		{1, "nodrop_benchmarks_finished_total", []string{"outcome", "Passed"}},
		{1, "nodrop_clean_ups_total", []string{"result", "done"}},
		{1, "nodrop_clean_ups_total", []string{"result", "failed"}},
		{1, "nodrop_bed_quarantines_total", []string{"bed", "b1"}},
		{1, "nodrop_archive_writes_total", []string{"result", "unavailable"}},
		{1, "nodrop_admission_duration_seconds", []string{"kind", "Benchmark", "decision", "refused"}},
		{1000, "nodrop_webhook_certificate_expiration_timestamp_seconds", nil},
		{2, "nodrop_archive_waiting_benchmarks", nil},
		{6, "nodrop_archive_oldest_waiting_timestamp_seconds", nil},
	} {
		if got := opmetricstest.Value(t, o, tc.name, tc.labels...); got != tc.want {
			t.Errorf("%s%q is %v, want %v", tc.name, tc.labels, got, tc.want)
		}
	}
	// Of a bed or team, what it does not have is absent, and not 0.
	beds := map[string][2]string{
		"nodrop_bed_ready": {"0", "1"}, "nodrop_bed_unschedulable": {"0", "1"}, "nodrop_bed_quarantined": {"1", "0"}, "nodrop_bed_leased": {"0", "1"},
		"nodrop_bed_waiting_benchmarks": {"0", "3"}, "nodrop_bed_lease_timestamp_seconds": {"", "2"}, "nodrop_bed_oldest_waiting_timestamp_seconds": {"", "1"},
		"nodrop_bed_calibration_timestamp_seconds": {"", "4"}, "nodrop_bed_calibration_expiration_timestamp_seconds": {"", "5"},
		"nodrop_team_waiting_benchmarks": {"3", ""}, "nodrop_team_oldest_waiting_timestamp_seconds": {"1", ""}, "nodrop_team_pending_benchmarks": {"", "1"},
	}
	for name, want := range beds {
		var lines []string
		for i, label := range []string{`bed="b1"`, `bed="b2"`} {
			if strings.HasPrefix(name, "nodrop_team") {
				label = strings.ReplaceAll(label, "bed=\"b", "team=\"t")
			}
			if want[i] != "" {
				lines = append(lines, name+"{"+label+"} "+want[i]+"\n")
			}
		}
		header := "# HELP " + name + " " + help(t, name) + "\n# TYPE " + name + " gauge\n"
		if err := testutil.CollectAndCompare(o, strings.NewReader(header+strings.Join(lines, "")), name); err != nil {
			t.Error(err)
		}
	}
}

func help(t *testing.T, name string) string {
	t.Helper()
	for _, d := range opmetrics.Definitions() {
		if d.Name == name {
			return d.Help
		}
	}
	t.Fatalf("%s is not defined", name)
	return ""
}

// An operator that does not lead, and one that stopped leading, export what happened in
// them and nothing of the lab.
func TestOnlyTheLeaderHasTheStateOfTheLab(t *testing.T) {
	o := busy()
	o.Lead(nil)
	for name := range opmetricstest.Gather(t, o) {
		if strings.HasPrefix(name, "nodrop_team") || strings.HasPrefix(name, "nodrop_bed") && name != "nodrop_bed_quarantines_total" {
			t.Errorf("%s is exported", name)
		}
	}
	if opmetricstest.Value(t, busy(), "nodrop_operator_leading") != 1 || opmetricstest.Value(t, o, "nodrop_operator_leading") != 0 {
		t.Error("it does not say who leads")
	}
	if opmetricstest.Value(t, o, "nodrop_benchmarks_finished_total") != 1 {
		t.Error("what happened is not exported any more")
	}
}

// A state that cannot be read fails the request: with 0 beds every alert would end.
func TestStateThatCannotBeRead(t *testing.T) {
	o := opmetrics.NewOperator()
	o.Lead(fakeLab{err: errors.New("the cache is not filled")})
	registry := prometheus.NewRegistry()
	registry.MustRegister(o)
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "the cache is not filled") {
		t.Errorf("error %v", err)
	}
}

func TestNobodyCounts(t *testing.T) {
	var o *opmetrics.Operator
	o.Phase("Queued", 0)
	o.Finished("Passed")
	o.CleanedUp(true)
	o.Quarantined("b")
	o.Archived(opmetrics.Stored)
	o.Judged("TestBed", opmetrics.Allowed, 0)
	o.Lead(fakeLab{})
	o.Certificate(nil)
}

// Every metric that is defined is exported as it is defined, and no other.
func TestDefinitions(t *testing.T) {
	collectors := map[opmetrics.Component]prometheus.Collector{
		opmetrics.ComponentOperator: busy(),
		opmetrics.ComponentRecorder: opmetrics.NewRecorder(func() delivery.Stats { return delivery.Stats{Last: at(1)} }, 1),
	}
	kinds := map[string]dto.MetricType{"Gauge": dto.MetricType_GAUGE, "Counter": dto.MetricType_COUNTER, "Histogram": dto.MetricType_HISTOGRAM}
	for component, c := range collectors {
		exported := opmetricstest.Gather(t, c)
		for _, d := range opmetrics.Definitions() {
			if d.Component != component {
				continue
			}
			family := exported[d.Name]
			delete(exported, d.Name)
			if family == nil {
				t.Errorf("%s is defined, and not exported", d.Name)
				continue
			}
			var labels []string
			for _, l := range family.GetMetric()[0].GetLabel() {
				labels = append(labels, l.GetName())
			}
			if family.GetHelp() != d.Help || family.GetType() != kinds[d.Type] || !slices.Equal(labels, slices.Sorted(slices.Values(d.Labels))) {
				t.Errorf("%s is defined as %s with labels %q, and exported as %s with %q: %s", d.Name, d.Type, d.Labels, family.GetType(), labels, family.GetHelp())
			}
		}
		if len(exported) > 0 {
			t.Errorf("the %s exports %q, which are not defined", component, slices.Sorted(maps.Keys(exported)))
		}
		problems, err := testutil.CollectAndLint(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

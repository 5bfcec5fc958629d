package metrics

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/traffic"
)

var update = flag.Bool("update", false, "write the documentation anew")

// budget is the maximum number of series of a lab with 200 beds after five years.
const budget = 100_000

// Every point has the tags and fields of the schema, and every column of it occurs.
func TestPointsAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	cfg := small(t)
	cfg.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one", Software: "1.2"}}
	r := newRun(t, cfg)
	sim := small(t)
	state, trials, intervals := measured(t, sim)
	points := []Point{r.Point(v1alpha1.EngineSim, "v1")}
	for _, of := range state.Rows {
		points = append(points, row(t, r, of))
	}
	for _, e := range trials {
		e.Step.Variant = "fec-on"
		points = append(points, r.Trial(e, e.Began))
	}
	for _, i := range intervals {
		i.Event.Step.Variant = "fec-on"
		i.Gaps, i.Ordering = true, true
		i.Device = forwarding()
		points = append(points, r.Interval(i, i.Began)...)
	}
	points = append(points, Regressions(worse(t), "uid", cfg.Bed.Spec.Device)...)
	points = append(points, busyBed().Point(began))
	points = append(points, r.Readings(began, []telemetry.Sample{{Name: "power", Unit: "W", Value: 421_500}})...)
	judged := gated(t)
	verdict, _ := verdicts(t, judged, newRun(t, judged), state.Rows)
	points = append(points, verdict...)
	ofVariant := v1alpha1.RowID{Test: "throughput", Variant: "fec-on"}
	points = append(points, r.verdict(&gate.JudgedGate{Name: "fast", Rows: []gate.JudgedRow{{RowID: ofVariant}}}, 0, v1alpha1.ValidityValid, began))
	known, seen := map[string]Measurement{}, map[string]bool{}
	for _, m := range Schema() {
		known[m.Name] = m
	}
	for _, p := range points {
		m := known[p.Measurement]
		for _, tag := range p.Tags {
			if !slices.ContainsFunc(m.Tags, func(c Column) bool { return c.Name == tag.Key }) {
				t.Errorf("%s has the tag %s, which the schema does not have", p.Measurement, tag.Key)
			}
			seen[p.Measurement+" "+tag.Key] = true
		}
		for _, f := range p.Fields {
			i := slices.IndexFunc(m.Fields, func(c Column) bool { return c.Name == f.Key })
			if i < 0 && p.Measurement != MeasurementRow {
				t.Errorf("%s has the field %s, which the schema does not have", p.Measurement, f.Key)
			}
			if i >= 0 && typeOf(m.Fields[i].Unit) != fmt.Sprintf("%T", f.Value) {
				t.Errorf("%s: field %s is %T, and its unit is %s", p.Measurement, f.Key, f.Value, m.Fields[i].Unit)
			}
			seen[p.Measurement+" "+f.Key] = true
		}
	}
	for _, m := range Schema() {
		for _, c := range append(m.Tags, m.Fields...) {
			if !seen[m.Name+" "+c.Name] {
				t.Errorf("no point of %s has %s", m.Name, c.Name)
			}
		}
	}
}

func typeOf(unit string) string {
	switch unit {
	case unitText:
		return "string"
	case unitBool:
		return "bool"
	}
	return "int64"
}

// labBed describes the events of a kind of beds in five years.
type labBed struct {
	beds, ports, classes int
}

// The lab of the budget: 200 beds, of which ten have 256 ports. Each bed gets another
// device once in five years, and each device another software every quarter. Three teams
// run the same suite on each bed with every software: four tests of nine frame sizes and
// mixes, one of them at three loads, and two tests without frames. Each port of a device drops in both directions. One row in a hundred is
// not Valid, and one in twenty becomes worse once on a device. One team has a gate on each row of its throughput.
var lab = []labBed{{10, 256, 1}, {40, 32, 2}, {150, 8, 2}}

const (
	labDevices  = 2
	labReleases = 10 // of each device
	labTeams    = 3
	labSensors  = 20 // of each device
)

var (
	labTests   = []v1alpha1.Method{v1alpha1.MethodThroughput, v1alpha1.MethodLatency, v1alpha1.MethodFrameLoss, v1alpha1.MethodBackToBack}
	labSizes   = []v1alpha1.RowID{{FrameSize: 64}, {FrameSize: 128}, {FrameSize: 256}, {FrameSize: 512}, {FrameSize: 1024}, {FrameSize: 1280}, {FrameSize: 1518}, {FrameSize: 9216}, {FrameMix: "imix"}}
	labRouting = []v1alpha1.Method{"RouteCapacity", "Convergence"}
)

// rowsOfASuite are the identities of the rows that a suite makes.
func rowsOfASuite() []v1alpha1.RowID {
	var ids []v1alpha1.RowID
	for _, m := range labTests {
		for _, id := range labSizes {
			id.Test, id.Method = strings.ToLower(string(m)), m
			ids = append(ids, id)
			if m == v1alpha1.MethodLatency {
				ids = append(ids, id, id) // at three loads
			}
		}
	}
	for _, m := range labRouting {
		ids = append(ids, v1alpha1.RowID{Test: strings.ToLower(string(m)), Method: m})
	}
	return ids
}

// seriesOfABed counts the series of one bed after five years by measurement. With is called
// with the tags of each row, and returns those that are counted.
func seriesOfABed(b labBed, random *rand.Rand, with func(*Run, []Tag) []Tag) map[string]int {
	seen := map[string]bool{}
	count := map[string]int{}
	add := func(p Point) {
		if key := p.Series(); !seen[key] {
			seen[key] = true
			count[p.Measurement]++
		}
	}
	for d := range labDevices {
		for release := range labReleases {
			for team := range labTeams {
				r := &Run{bed: "bed", device: fmt.Sprint("device ", d), software: fmt.Sprint(d, ".", release), team: fmt.Sprint("team-", team)}
				add(r.Point(v1alpha1.EngineTRex, "v1"))
				for _, id := range rowsOfASuite() {
					validity := v1alpha1.ValidityValid
					if random.IntN(100) == 0 {
						validity = v1alpha1.ValidityContended
					}
					add(newPoint(MeasurementRow, began, with(r, r.rowTags(v1alpha1.ResultRow{RowID: id, Validity: validity})), nil))
					if team == 0 && id.Method == labTests[0] {
						add(r.verdict(&gate.JudgedGate{Name: "limit", Metric: "LineRate", Rows: []gate.JudgedRow{{RowID: id}}}, 0, validity, began))
					}
					e := trials.Event{Finished: &trials.Trial{}}
					e.Step.Method, e.Step.Size.Bytes, e.Step.Test.Name = id.Method, int(id.FrameSize), id.Test
					add(r.Trial(e, began))
				}
			}
		}
	}
	for d := range labDevices {
		device := v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: fmt.Sprint(d)}}
		for team := range labTeams {
			h := history.History{TestBed: "bed", Namespace: fmt.Sprint("team-", team), Runs: []history.RunInfo{{}}}
			for _, id := range rowsOfASuite() {
				if random.IntN(20) == 0 {
					h.Lines = append(h.Lines, history.Line{RowID: id, Metric: compare.LatencyAvg, Changes: []history.Change{{Regression: true}}})
				}
			}
			for _, p := range Regressions(&h, "1", device) {
				add(p)
			}
		}
	}
	r := &Run{bed: "bed"}
	for port := range b.ports {
		for class := range b.classes {
			at := trials.PortInterval{ClassAt: traffic.ClassAt{Port: fmt.Sprint("p", port), Class: fmt.Sprint("class ", class)}, Sends: true}
			device := forwarding()
			device.Interfaces[0].Port = at.Port
			for _, p := range r.Interval(trials.Interval{Ports: []trials.PortInterval{at}, Device: device}, began) {
				add(p)
			}
		}
	}
	for sensor := range labSensors {
		add(r.Readings(began, []telemetry.Sample{{Name: fmt.Sprint("sensor ", sensor)}})[0])
	}
	for port := range b.ports {
		for _, what := range []string{"input discards", "output discards"} {
			add(r.Readings(began, []telemetry.Sample{{Name: fmt.Sprintf("%s of p%d", what, port)}})[0])
		}
	}
	for team := range labTeams {
		add(Bed{Name: "bed", Team: fmt.Sprint("team-", team), Holder: "b"}.Point(began))
	}
	add(Bed{Name: "bed"}.Point(began))
	return count
}

// seriesOfTheLab sums up the beds: all series have the bed as a tag, so that none is of two.
func seriesOfTheLab(with func(*Run, []Tag) []Tag) (sum int, by map[string]int) {
	random := rand.New(rand.NewPCG(1, 2))
	by = map[string]int{}
	for _, kind := range lab {
		for name, n := range seriesOfABed(kind, random, with) {
			by[name] += kind.beds * n
			sum += kind.beds * n
		}
	}
	return sum, by
}

func TestSeriesStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	sum, by := seriesOfTheLab(func(_ *Run, tags []Tag) []Tag { return tags })
	t.Logf("%d series: %v", sum, by)
	if sum > budget {
		t.Errorf("%d series, and the budget is %d: %v", sum, budget, by)
	}
	for _, m := range Schema() {
		if by[m.Name] == 0 {
			t.Errorf("the lab has no series of %s", m.Name)
		}
		if !slices.ContainsFunc(m.Tags, func(c Column) bool { return c.Name == tagBed }) {
			t.Errorf("%s has no tag %s, by which the series of the lab are summed", m.Name, tagBed)
		}
	}
	// Why the software of the device is a field of rows, and a tag of runs only.
	sum, by = seriesOfTheLab(func(r *Run, tags []Tag) []Tag { return append(tags, Tag{tagSoftware, r.software}) })
	t.Logf("with the software as a tag of rows: %d series: %v", sum, by)
	if sum <= budget {
		t.Errorf("with the software as a tag of rows there are %d series only: make it one", sum)
	}
}

// The documentation has the tables of the schema.
func TestSchemaIsDocumented(t *testing.T) {
	const path, begin, end = "../../../docs/metrics.md", "<!-- schema -->\n", "<!-- end of schema -->\n"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the schema", path)
	}
	want := before + begin + describe() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s does not have the tables of the schema: run this test with -update", path)
	}
}

func describe() string {
	var b strings.Builder
	for _, m := range Schema() {
		fmt.Fprintf(&b, "\n### %s\n\nA point is %s. Its time is %s.\n\n| tag or field | | unit | meaning |\n|---|---|---|---|\n", m.Name, m.About, m.Time)
		for _, c := range m.Tags {
			fmt.Fprintf(&b, "| `%s` | tag | | %s |\n", c.Name, c.About)
		}
		for _, c := range m.Fields {
			fmt.Fprintf(&b, "| `%s` | field | %s | %s |\n", c.Name, c.Unit, c.About)
		}
	}
	b.WriteString("\n")
	return b.String()
}

package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
)

// filled sets every number, flag and section of a row that a method may fill.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i))
			}
		}
	case reflect.Int32, reflect.Int64:
		v.SetInt(1_234_567)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// Each method of the catalogue has a tile with a figure and a name of its own.
func TestEachMethodHasATile(t *testing.T) {
	t.Parallel()
	names := map[string]v1alpha1.Method{}
	for _, own := range method.All() {
		row := v1alpha1.ResultRow{}
		filled(reflect.ValueOf(&row).Elem())
		row.RowID = v1alpha1.RowID{Test: "one", Method: own.Name, FrameSize: 64}
		row.Validity, row.LossRatioPPM, row.Variant = v1alpha1.ValidityValid, 0, ""
		row.Frames.Lost = 0
		d := &Document{Rows: []v1alpha1.ResultRow{row}}
		tiles := d.tiles()
		if len(tiles) != 1 || tiles[0].Unknown || !strings.ContainsAny(tiles[0].Value, "0123456789") && !strings.Contains(tiles[0].Value, "none lost") && !strings.Contains(tiles[0].Value, "yes") {
			t.Errorf("%s: %+v has no figure", own.Name, tiles)
			continue
		}
		if _, ok := keyFigures[own.Name]; !ok {
			t.Errorf("%s has no key figure: name it in keyFigures", own.Name)
		}
		if other, twice := names[tiles[0].Name]; twice && tiles[0].Name != "lost frames" {
			t.Errorf("%s and %s have the tile %q", other, own.Name, tiles[0].Name)
		}
		names[tiles[0].Name] = own.Name
		if page := written(t, d, FormatHTML); !strings.Contains(page, `<dd class="value">`) {
			t.Errorf("%s: the page has no tile", own.Name)
		}
	}
}

// The key figures of control planes answer the question of a customer.
func TestKeyFigures(t *testing.T) {
	t.Parallel()
	row := func(m v1alpha1.Method) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "t", Method: m}, Validity: v1alpha1.ValidityValid}
	}
	converged, flapped, full, soaked := row(v1alpha1.MethodConvergence), row(v1alpha1.MethodRouteFlap), row(v1alpha1.MethodRouteCapacity), row(v1alpha1.MethodSoak)
	converged.Convergence = &v1alpha1.ConvergenceSummary{Announce: v1alpha1.EventTimes{AvgNs: 10_300_000_000}}
	flapped.RouteFlap = &v1alpha1.RouteFlapSummary{Withdraw: v1alpha1.EventTimes{MaxNs: 2_700_000_000}, Announce: v1alpha1.EventTimes{MaxNs: 900_000_000}}
	full.RouteCapacity = &v1alpha1.RouteCapacitySummary{Routes: 500_000, Full: true}
	soaked.Load, soaked.Frames = "50%", &v1alpha1.FrameSection{Sent: 1000, Received: 999, Lost: 1, LossPPM: new(int64(1000)), LineRatePPM: 500_000, FramesPerSecond: 1, OfferedFramesPerSecond: 1}
	for want, r := range map[string]v1alpha1.ResultRow{
		"10.300 s until announced routes carry traffic, average": converged,
		"2.700 s longest dip":               flapped,
		"500,000 routes held by the device": full,
		"0.1% lost at 50% lost frames":      soaked,
	} {
		d := &Document{Rows: []v1alpha1.ResultRow{r}}
		if tile := d.tiles()[0]; tile.Value+" "+tile.Name != want {
			t.Errorf("%q, not %q", tile.Value+" "+tile.Name, want)
		}
	}
}

// A tile has the range of its conclusive rows.
func TestTilesOfSeveralRows(t *testing.T) {
	t.Parallel()
	d := flapped()
	other := d.Rows[0]
	other.FrameSize, other.RouteFlap = 256, new(*other.RouteFlap)
	other.RouteFlap.Withdraw.MaxNs = d.Rows[0].RouteFlap.Withdraw.MaxNs + d.Rows[0].RouteFlap.Announce.MaxNs + 5_000_000_000
	doubtful := other
	doubtful.FrameSize, doubtful.Validity = 512, v1alpha1.ValidityInvalid
	d.Rows = []v1alpha1.ResultRow{d.Rows[0], other, doubtful}
	tiles := d.tiles()
	if len(tiles) != 1 || !strings.Contains(tiles[0].Value, " – ") || tiles[0].Rows != "2 rows, without 1 row in doubt" {
		t.Errorf("the report begins with %+v", tiles)
	}
	d.Rows = d.Rows[2:]
	if got := d.tiles()[0]; !got.Unknown || got.Value != "Not known" || got.Rows != "1 row in doubt" {
		t.Errorf("the report begins with %+v", got)
	}
}

// Sentences are of conclusive rows, and name what bounds them as their validity allows.
func TestSummary(t *testing.T) {
	t.Parallel()
	rates := func(validity v1alpha1.Validity, ppm ...int64) *Document {
		d := chassis()
		d.Environment.Engine, d.Rows = v1alpha1.EngineXDP, slices.Clone(d.Rows[:1])
		first := d.Rows[0]
		d.Rows = nil
		for i, load := range ppm {
			row := *first.DeepCopy()
			row.FrameSize, row.Validity, row.Latency = 64<<i, validity, nil
			row.Frames.OfferedFramesPerSecond = row.Frames.OfferedFramesPerSecond * load / row.Frames.LineRatePPM
			row.Frames.LineRatePPM, row.Frames.FramesPerSecond = load, row.Frames.OfferedFramesPerSecond
			d.Rows = append(d.Rows, row)
		}
		return d
	}
	doubt := rates(v1alpha1.ValidityValid, 314_000, 1_000_000, 1_000_000, 1_000_000)
	doubt.Rows[2].Validity = v1alpha1.ValidityGeneratorBound
	all := rates(v1alpha1.ValidityGeneratorBound, 314_000, 1_000_000)
	for name, tc := range map[string]struct {
		d    *Document
		want string
	}{
		"valid":     {rates(v1alpha1.ValidityValid, 314_000, 600_000, 1_000_000, 1_000_000), "Line rate from 256 B. 64 B reaches 31.4% of line rate, limited by the device. All 4 rows are valid measurements."},
		"full":      {rates(v1alpha1.ValidityValid, 1_000_000, 1_000_000), "Line rate at every size. All 2 rows are valid measurements."},
		"none":      {rates(v1alpha1.ValidityValid, 300_000, 200_000), "128 B reaches 20% of line rate, limited by the device. All 2 rows are valid measurements."},
		"virtual":   {rates(v1alpha1.ValidityVirtual, 300_000, 1_000_000), "Line rate at 128 B. 64 B reaches 30% of line rate, limited by the virtual device and the processors that it shares. The device is software on shared processors: the figures are no claim about hardware."},
		"simulated": {rates(v1alpha1.ValiditySimulated, 300_000, 1_000_000), "Line rate at 128 B. 64 B reaches 30% of line rate, limited by the modelled device. Every figure was computed from a model, and nothing was measured."},
		"in doubt":  {doubt, "Line rate at 128 B, 512 B. 64 B reaches 31.4% of line rate, limited by the device. 1 of 4 rows are in doubt (GeneratorBound), and left out here."},
		"all":       {all, "Test throughput has no row that can be judged by. 2 of 2 rows are in doubt (GeneratorBound), and left out here."},
	} {
		if got := strings.Join(tc.d.summary(), " "); got != tc.want {
			t.Errorf("%s: %q, not\n%q", name, got, tc.want)
		}
	}
	if got := aborted().summary(); got != nil {
		t.Errorf("%q of nothing", got)
	}
}

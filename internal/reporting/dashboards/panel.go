package dashboards

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/trend"
)

// kind is the visualization of a panel.
type kind int

const (
	lines  kind = iota // values against time
	dots               // single measured values against time
	bars               // a bar for each value of x
	curve              // values against x
	grid               // a table
	heat               // how many series had which value, against time
	stacks             // counts against time, as bars
)

// Panel is a panel of a dashboard.
type Panel struct {
	// Title and About are for the reader.
	Title, About string
	// Queries are the names of the queries.
	Queries []string

	kind kind
	// unit of the values, of Grafana.
	unit string
	// width in 24ths of the dashboard, and height in rows of 30 pixels.
	width, height uint32
	// x is the column that bars and curves are drawn against.
	x string
	// most is the maximum number of points of a series; 0 is one for each pixel.
	most int
	// gap is the longest time without a value that a line bridges; 0 is any.
	gap time.Duration
	// words color the bars of values of x.
	words []word
	// legend are the tags that name a series; empty where columns do.
	legend []string
	// columns are arranged in this order; of a table they are all that it has.
	columns []column
	// gates are the queries with the limits of gates, and with values that failed one.
	gates []gateQuery
	// empty is the text of a panel without data; without one it is Grafana's.
	empty string
	// summary are columns that a table is grouped by, and those that are summarized.
	summary, of []string
}

// column of an answer.
type column struct {
	// name in the answer.
	name string
	// label is the displayed name; empty uses name.
	label string
	// unit of the values; empty uses the unit of the panel.
	unit string
	// width in pixels; 0 shares what the others leave.
	width int
	// color of a series; empty is the next one of the palette.
	color string
	// levels color the values of a table from a value on, in ascending order.
	levels []level
	// words color the words of a table.
	words []word
	// links lead from the cells of a table to pages.
	links []pageLink
	// unconnected draws the values of a series without a line between them.
	unconnected bool
}

// when is the column of time in a table.
var when = column{name: "_time", label: "Time", unit: "dateTimeAsIso", width: 170}

// times are the names of the time column in the languages and versions of Grafana.
var times = []string{"_time", "Time", "time"}

const (
	unitRate    = "si: frames/s" // after the space Grafana reads no f as femto
	unitNs      = "ns"
	unitPercent = "percent"
	unitHours   = "suffix:h" // in hours, also above a day
	unitShare   = "percentunit"
	unitNumber  = "locale" // with all digits
	unitSize    = "bytes"
)

// tables reports whether the panel shows rows, and no series.
func (p Panel) tables() bool { return p.kind == grid || p.kind == bars || p.kind == curve }

// interval is the shortest step between values against time: ports are sampled each second.
const interval = "1s"

// refID names a query within its panel.
func refID(i int) string { return string(rune('A' + i)) }

// targets are the queries of a panel.
func (p Panel) targets(dashboard string, l Language) []cog.Builder[variants.Dataquery] {
	all := make([]cog.Builder[variants.Dataquery], 0, len(p.Queries))
	for i, name := range p.Queries {
		t := Target{RefID: refID(i), Datasource: source(), Query: query(dashboard, name, l)}
		if l == InfluxQL {
			t.RawQuery, t.ResultFormat, t.Alias = true, "time_series", "$col"
			if p.tables() {
				t.ResultFormat, t.Alias = "table", ""
			}
			if len(p.legend) > 0 {
				t.Alias = "$tag_" + strings.Join(p.legend, ", $tag_") + p.gateOf(name).alias
			}
		}
		all = append(all, t)
	}
	return all
}

// displayName names the series of Flux as alias does those of InfluxQL.
func (p Panel) displayName() string {
	names := make([]string, len(p.legend))
	for i, tag := range p.legend {
		names[i] = fmt.Sprintf("${__field.labels.%s}", tag)
	}
	return strings.Join(names, ", ")
}

func transformation(id string, options any) sdk.DataTransformerConfig {
	return sdk.DataTransformerConfig{Id: id, Options: options}
}

// transformations arrange rows. Only tables show the column of time as one.
func (p Panel) transformations() []sdk.DataTransformerConfig {
	var all []sdk.DataTransformerConfig
	hidden := map[string]bool{}
	if p.tables() && !slices.ContainsFunc(p.columns, func(c column) bool { return c.name == when.name }) {
		for _, name := range times {
			hidden[name] = true
		}
	}
	if len(p.summary) > 0 {
		fields := map[string]any{}
		for _, by := range p.summary {
			fields[by] = map[string]any{"operation": "groupby", "aggregations": []string{}}
		}
		for _, of := range p.of {
			fields[of] = map[string]any{"operation": "aggregate", "aggregations": []string{"min", "mean", "max"}}
		}
		all = append(all, transformation("groupBy", map[string]any{"fields": fields}))
	}
	if len(hidden)+len(p.columns) > 0 {
		all = append(all, p.organize(hidden))
	}
	if p.kind == curve {
		all = append(all, transformation("sortBy", map[string]any{"sort": []any{map[string]any{"field": p.x}}}))
	}
	return all
}

// organize puts columns into their order, names them, and leaves hidden ones out.
func (p Panel) organize(hidden map[string]bool) sdk.DataTransformerConfig {
	order, labels := map[string]int{}, map[string]string{}
	for i, c := range p.columns {
		names := []string{c.name}
		if c.name == when.name {
			names = times
		}
		for _, name := range names {
			order[name] = i
			if c.label != "" && c.label != name {
				labels[name] = c.label
			}
		}
	}
	return transformation("organize", map[string]any{"excludeByName": hidden, "indexByName": order, "renameByName": labels})
}

// overrides returns the settings of a column that differ from the panel.
func (c column) overrides(l Language) []sdk.DynamicConfigValue {
	all := c.emphasis(l)
	if c.unit != "" {
		all = append(all, sdk.DynamicConfigValue{Id: "unit", Value: c.unit})
	}
	if c.width != 0 {
		all = append(all, sdk.DynamicConfigValue{Id: "custom.width", Value: c.width})
	}
	if c.color != "" {
		all = append(all, sdk.DynamicConfigValue{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": c.color}})
	}
	if c.unconnected {
		all = append(all, sdk.DynamicConfigValue{Id: "custom.drawStyle", Value: common.GraphDrawStylePoints})
	}
	return all
}

// general contains the methods that all panel builders of the SDK have.
type general[T any] interface {
	Title(string) T
	Description(string) T
	Datasource(common.DataSourceRef) T
	Targets([]cog.Builder[variants.Dataquery]) T
	Transformations([]sdk.DataTransformerConfig) T
	Span(uint32) T
	Height(uint32) T
	Unit(string) T
	DisplayName(string) T
	Interval(string) T
	MaxDataPoints(float64) T
	NoValue(string) T
	OverrideByName(string, []sdk.DynamicConfigValue) T
	OverrideByQuery(string, []sdk.DynamicConfigValue) T
	cog.Builder[sdk.Panel]
}

func describe[T general[T]](b T, p Panel, dashboard string, l Language) cog.Builder[sdk.Panel] {
	b.Title(p.Title).Description(p.About).Datasource(source()).Targets(p.targets(dashboard, l)).Span(p.width).Height(p.height).Unit(p.unit)
	if t := p.transformations(); len(t) > 0 {
		b.Transformations(t)
	}
	if name := p.displayName(); name != "" && l == Flux && !p.tables() {
		b.DisplayName(name)
	}
	if p.most > 0 {
		b.MaxDataPoints(float64(p.most))
	}
	if p.kind == lines || p.kind == heat {
		b.Interval(interval)
	}
	if p.empty != "" {
		b.NoValue(p.empty)
	}
	for i, name := range p.Queries {
		if set := p.gateOf(name).overrides(p.displayName(), l); len(set) > 0 {
			b.OverrideByQuery(refID(i), set)
		}
	}
	for _, c := range p.columns {
		if set := c.overrides(l); len(set) > 0 {
			b.OverrideByName(cmp.Or(c.label, c.name), set)
		}
	}
	return b
}

// charted contains the methods that all chart builders have.
type charted[T any] interface {
	general[T]
	Legend(cog.Builder[common.VizLegendOptions]) T
	Tooltip(cog.Builder[common.VizTooltipOptions]) T
}

// chart describes a chart. Without a word the SDK hides legend and tooltip. A single series
// needs no legend: the title says what it is.
func chart[T charted[T]](b T, p Panel, dashboard string, l Language) cog.Builder[sdk.Panel] {
	series := len(p.columns)
	if p.kind == curve {
		series-- // the one that it is drawn against
	}
	b.Legend(common.NewVizLegendOptionsBuilder().ShowLegend(p.kind != bars && series != 1))
	b.Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderNone))
	return describe(b, p, dashboard, l)
}

// builder makes the panel for the SDK.
func (p Panel) builder(dashboard string, l Language) cog.Builder[sdk.Panel] {
	switch p.kind {
	case bars:
		blue := sdk.NewFieldColorBuilder().Mode("fixed").FixedColor("blue")
		b := barchart.NewPanelBuilder().XField(p.x).ColorScheme(blue)
		if p.unit == unitNumber {
			b.Decimals(0)
		}
		if len(p.words) > 0 {
			b.ColorByField(p.x).OverrideByName(p.x, []sdk.DynamicConfigValue{mappings(p.words)})
		}
		return chart(b, p, dashboard, l)
	case curve:
		return chart(trend.NewPanelBuilder().XField(p.x).ShowPoints(common.VisibilityModeAlways), p, dashboard, l)
	case grid:
		return describe(table.NewPanelBuilder(), p, dashboard, l)
	case heat:
		b := heatmap.NewPanelBuilder().Calculate(true).YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.unit))
		return describe(b.Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle)), p, dashboard, l)
	case dots:
		return chart(timeseries.NewPanelBuilder().ShowPoints(common.VisibilityModeAlways), p, dashboard, l)
	case stacks:
		b := timeseries.NewPanelBuilder().DrawStyle(common.GraphDrawStyleBars).FillOpacity(80)
		b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
		return chart(b.Min(0).Decimals(0), p, dashboard, l)
	default:
		b := timeseries.NewPanelBuilder().Min(0)
		if p.gap != 0 {
			longest := float64(p.gap.Milliseconds())
			b.InsertNulls(common.BoolOrFloat64{Float64: &longest})
		}
		return chart(b, p, dashboard, l)
	}
}

package dashboards

import (
	"fmt"
	"strings"

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

// kind is how a panel draws.
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
	// legend are the tags that name a series; empty where columns do.
	legend []string
	// units of columns that have another one, by column.
	units map[string]string
	// summary are columns that a table is grouped by, and those that are summarised.
	summary, of []string
}

const (
	unitRate   = "pps"
	unitNs     = "ns"
	unitPPM    = "ppm"
	unitHours  = "h"
	unitShare  = "percentunit"
	unitNumber = "short"
)

// tables says that the panel shows rows, and no series.
func (p Panel) tables() bool { return p.kind == grid || p.kind == bars || p.kind == curve }

// interval is the shortest step between values against time: ports are sampled each second.
const interval = "1s"

// targets are the queries of a panel.
func (p Panel) targets(dashboard string, l Language) []cog.Builder[variants.Dataquery] {
	all := make([]cog.Builder[variants.Dataquery], 0, len(p.Queries))
	for i, name := range p.Queries {
		t := Target{RefID: string(rune('A' + i)), Datasource: source(), Query: query(dashboard, name, l)}
		if l == InfluxQL {
			t.RawQuery, t.ResultFormat, t.Alias = true, "time_series", "$col"
			if p.tables() {
				t.ResultFormat, t.Alias = "table", ""
			}
			if len(p.legend) > 0 {
				t.Alias = "$tag_" + strings.Join(p.legend, " $tag_")
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
	return strings.Join(names, " ")
}

func transformation(id string, options any) sdk.DataTransformerConfig {
	return sdk.DataTransformerConfig{Id: id, Options: options}
}

// transformations arrange rows. The two languages name the column of time differently.
func (p Panel) transformations() []sdk.DataTransformerConfig {
	var all []sdk.DataTransformerConfig
	if p.kind == bars || p.kind == curve || len(p.summary) > 0 {
		hidden := map[string]bool{"Time": true, "time": true, "_time": true}
		all = append(all, transformation("organize", map[string]any{"excludeByName": hidden}))
	}
	if p.kind == curve {
		all = append(all, transformation("sortBy", map[string]any{"sort": []any{map[string]any{"field": p.x}}}))
	}
	if len(p.summary) > 0 {
		fields := map[string]any{}
		for _, by := range p.summary {
			fields[by] = map[string]any{"operation": "groupby", "aggregations": []string{}}
		}
		for _, of := range p.of {
			fields[of] = map[string]any{"operation": "aggregate", "aggregations": []string{"count", "min", "mean", "max"}}
		}
		all = append(all, transformation("groupBy", map[string]any{"fields": fields}))
	}
	return all
}

// common is what all builders of the SDK have.
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
	OverrideByName(string, []sdk.DynamicConfigValue) T
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
	if p.kind == lines || p.kind == heat {
		b.Interval(interval)
	}
	for _, column := range sorted(p.units) {
		b.OverrideByName(column, []sdk.DynamicConfigValue{{Id: "unit", Value: p.units[column]}})
	}
	return b
}

// builder makes the panel for the SDK.
func (p Panel) builder(dashboard string, l Language) cog.Builder[sdk.Panel] {
	switch p.kind {
	case bars:
		return describe(barchart.NewPanelBuilder().XField(p.x), p, dashboard, l)
	case curve:
		return describe(trend.NewPanelBuilder().XField(p.x).ShowPoints(common.VisibilityModeAlways), p, dashboard, l)
	case grid:
		return describe(table.NewPanelBuilder(), p, dashboard, l)
	case heat:
		return describe(heatmap.NewPanelBuilder().Calculate(true).YAxis(heatmap.NewYAxisConfigBuilder().Unit(p.unit)), p, dashboard, l)
	case dots:
		return describe(timeseries.NewPanelBuilder().ShowPoints(common.VisibilityModeAlways), p, dashboard, l)
	case stacks:
		b := timeseries.NewPanelBuilder().DrawStyle(common.GraphDrawStyleBars).FillOpacity(80)
		return describe(b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)), p, dashboard, l)
	default:
		return describe(timeseries.NewPanelBuilder(), p, dashboard, l)
	}
}

package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// gateQuery is a query of what gates say about the figure of a panel.
type gateQuery struct {
	query string
	// alias and label are appended to the name of a series, in InfluxQL and in Flux.
	alias, label string
	// look of the series.
	look []sdk.DynamicConfigValue
}

// gated returns the queries of a panel: its own, the limits of gates, and the values that failed one.
func gated(name string) []string { return []string{name, name + "-limits", name + "-failed"} }

// gatesOn describes the queries of gated: limits are dashed lines, and values beyond one are large points.
func gatesOn(name string) []gateQuery {
	red := sdk.DynamicConfigValue{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": bad}}
	return []gateQuery{
		{
			query: name + "-limits", alias: ": $col of gate $tag_gate", label: ": ${__field.labels.limit} of gate ${__field.labels.gate}",
			look: []sdk.DynamicConfigValue{
				red,
				{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 6}}},
				{Id: "custom.lineInterpolation", Value: common.LineInterpolationStepAfter},
				{Id: "custom.showPoints", Value: common.VisibilityModeNever},
			},
		},
		{
			query: name + "-failed", alias: ": failed gate $tag_gate", label: ": failed gate ${__field.labels.gate}",
			look: []sdk.DynamicConfigValue{red, {Id: "custom.drawStyle", Value: common.GraphDrawStylePoints}, {Id: "custom.pointSize", Value: 9}},
		},
	}
}

// gateOf returns the gate query of a name; an empty one for other queries.
func (p Panel) gateOf(query string) gateQuery {
	for _, g := range p.gates {
		if g.query == query {
			return g
		}
	}
	return gateQuery{}
}

// overrides name and color the series of a gate query. Name is the display name of other series.
func (g gateQuery) overrides(name string, l Language) []sdk.DynamicConfigValue {
	if g.query == "" || l != Flux {
		return g.look
	}
	return append([]sdk.DynamicConfigValue{{Id: "displayName", Value: name + g.label}}, g.look...)
}

package dashboards

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The colors of outcomes, as in reports and on the lab page.
const (
	good     = "green"
	bad      = "red"
	doubtful = "orange"
	modeled  = "blue"
)

// level is a color of values from a value on, of the first one also from minus infinity on.
type level struct {
	from  float64
	color string
}

// lossLevels color each value above 0: a benchmark of throughput allows no loss.
var lossLevels = []level{{1e-9, bad}}

// ageLevels color the age of a calibration in nanoseconds, from a week on.
var ageLevels = []level{{7 * 24 * 3600 * 1e9, doubtful}}

// changeLevels color a change of throughput of more than 1 percent.
var changeLevels = []level{{math.Inf(-1), bad}, {-1, ""}, {1, good}}

// word is a color of a word.
type word struct{ text, color string }

// validities are the colors of validities: only Valid rows are about the device.
var validities = []word{
	{string(v1alpha1.ValidityValid), good}, {string(v1alpha1.ValidityVirtual), modeled}, {string(v1alpha1.ValiditySimulated), modeled},
	{string(v1alpha1.ValidityUncalibrated), doubtful}, {string(v1alpha1.ValidityContended), doubtful},
	{string(v1alpha1.ValidityGeneratorBound), doubtful}, {string(v1alpha1.ValidityInvalid), bad},
}

// verdicts are the colors of verdicts of gates.
var verdicts = []word{{string(v1alpha1.GatePassed), good}, {string(v1alpha1.GateFailed), bad}, {string(v1alpha1.GateInconclusive), doubtful}}

// yes colors one of the two values of a truth.
func yes(whenTrue, whenFalse string) []word { return []word{{"true", whenTrue}, {"false", whenFalse}} }

// pageLink leads from a cell to a page. The path may contain {results}, the dashboard of results.
type pageLink struct{ title, url string }

// PageVariable is the variable with the address of the lab page.
const PageVariable = "page"

// NoPage is the address of the lab page where the chart, or the reader, gave none.
const NoPage = "https://lab-page.invalid"

// onPage are the links from a run to the lab page.
func onPage(team, benchmark string) []pageLink {
	of := fmt.Sprintf("/${__data.fields[%q]}/${__data.fields[%q]}", team, benchmark)
	return []pageLink{{"Benchmark on the lab page", "${page:raw}/benchmarks" + of}, {"Report", "${page:raw}/results" + of}}
}

// resultsOf are the links from a run to the dashboard of its results.
func resultsOf(run string) []pageLink {
	return []pageLink{{"Results of the run", fmt.Sprintf("{results}?var-run=${__data.fields[%q]}&var-datasource=${datasource}&${__url_time_range}", run)}}
}

// emphasis returns the colors and links of a column.
func (c column) emphasis(l Language) []sdk.DynamicConfigValue {
	var all []sdk.DynamicConfigValue
	add := func(id string, value any) { all = append(all, sdk.DynamicConfigValue{Id: id, Value: value}) }
	if len(c.levels) > 0 {
		var steps []any
		levels := c.levels
		if !math.IsInf(levels[0].from, -1) {
			levels = append([]level{{math.Inf(-1), ""}}, levels...)
		}
		for _, s := range levels {
			var from any // none is minus infinity
			if !math.IsInf(s.from, -1) {
				from = s.from
			}
			steps = append(steps, map[string]any{"value": from, "color": cmp.Or(s.color, "text")})
		}
		add("thresholds", map[string]any{"mode": "absolute", "steps": steps})
		add("color", map[string]string{"mode": "thresholds"})
	}
	if len(c.words) > 0 {
		all = append(all, mappings(c.words))
	}
	if len(c.levels)+len(c.words) > 0 {
		add("custom.cellOptions", map[string]string{"type": "color-text"})
	}
	if len(c.links) > 0 {
		var links []any
		for _, link := range c.links {
			results := "/d/" + Dashboard{Name: "results"}.UID(l)
			links = append(links, map[string]any{"title": link.title, "url": strings.Replace(link.url, "{results}", results, 1), "targetBlank": false})
		}
		add("links", links)
	}
	return all
}

// mappings colors words.
func mappings(words []word) sdk.DynamicConfigValue {
	options := map[string]any{}
	for i, w := range words {
		options[w.text] = map[string]any{"color": w.color, "index": i}
	}
	return sdk.DynamicConfigValue{Id: "mappings", Value: []any{map[string]any{"type": "value", "options": options}}}
}

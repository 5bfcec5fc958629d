package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Variable is a choice at the top of a dashboard. Its query has its name.
type Variable struct {
	Name, Label string
	// All lets several values be chosen, and all of them, which is the default.
	All bool
	// Default is chosen at first, without All; empty is the first one.
	Default string
	// sort of the values; none keeps the order of the query.
	sort sdk.VariableSort
	// again asks again when the time range changes.
	again bool
}

// everything is the regular expression in the place of a variable of which all is chosen.
const everything = ".*"

func option(text string) sdk.VariableOption {
	value := text
	if text == "All" {
		value = "$__all"
	}
	return sdk.VariableOption{Text: sdk.StringOrArrayOfString{String: &text}, Value: sdk.StringOrArrayOfString{String: &value}}
}

func (v Variable) builder(l Language) cog.Builder[sdk.VariableModel] {
	refresh := sdk.VariableRefreshOnDashboardLoad
	if v.again {
		refresh = sdk.VariableRefreshOnTimeRangeChanged
	}
	text := query("variables", v.Name, l)
	b := sdk.NewQueryVariableBuilder(v.Name).Label(v.Label).Datasource(source()).
		Query(sdk.StringOrMap{String: &text}).Refresh(refresh).Sort(v.sort)
	switch {
	case v.All:
		b = b.Multi(true).IncludeAll(true).AllValue(everything).Current(option("All"))
	case v.Default != "":
		b = b.Current(option(v.Default))
	}
	return b
}

// sources chooses the data source.
func sources() cog.Builder[sdk.VariableModel] {
	return sdk.NewDatasourceVariableBuilder("datasource").Label("Data source").Type(sourceType)
}

func several(name, label string) Variable {
	return Variable{Name: name, Label: label, All: true, sort: sdk.VariableSortNaturalAsc}
}

func one(name, label string) Variable {
	return Variable{Name: name, Label: label, sort: sdk.VariableSortNaturalAsc}
}

// page is the address of the lab page. The chart writes it into the dashboards.
func page() cog.Builder[sdk.VariableModel] {
	address := NoPage
	return sdk.NewTextBoxVariableBuilder(PageVariable).Label("Lab page").DefaultValue(sdk.StringOrMap{String: &address}).Current(option(address)).Options([]sdk.VariableOption{option(address)})
}

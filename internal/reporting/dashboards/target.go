package dashboards

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
)

// sourceType is the type of the data source in Grafana. The SDK has no queries of it.
const sourceType = "influxdb"

// source is the data source that is chosen in the dashboard.
func source() common.DataSourceRef {
	kind, uid := sourceType, "${datasource}"
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}

// Target is a query to a data source of InfluxDB, of a panel or of an annotation.
type Target struct {
	RefID      string               `json:"refId"`
	Datasource common.DataSourceRef `json:"datasource"`
	Query      string               `json:"query"`

	// Of InfluxQL only: RawQuery says that Query is the whole query, ResultFormat is
	// time_series or table, and Alias names a series.
	RawQuery     bool   `json:"rawQuery,omitempty"`
	ResultFormat string `json:"resultFormat,omitempty"`
	Alias        string `json:"alias,omitempty"`

	// Of annotations of InfluxQL: names of columns.
	FromAnnotations bool   `json:"fromAnnotations,omitempty"`
	TextColumn      string `json:"textColumn,omitempty"`
	TitleColumn     string `json:"titleColumn,omitempty"`
	TagsColumn      string `json:"tagsColumn,omitempty"`
}

// Build makes a Target its own builder.
func (t Target) Build() (variants.Dataquery, error) { return t, nil }

// ImplementsDataqueryVariant makes a Target a query of the SDK.
func (t Target) ImplementsDataqueryVariant() {}

// DataqueryType is the type of its data source.
func (t Target) DataqueryType() string { return sourceType }

// Validate has nothing to add to the tests.
func (t Target) Validate() error { return nil }

// Equals compares all fields.
func (t Target) Equals(other variants.Dataquery) bool { return reflect.DeepEqual(t, other) }

// TargetVariant lets the SDK read Targets, and refuse what they do not have.
func TargetVariant() variants.DataqueryConfig {
	strict := func(raw []byte) (variants.Dataquery, error) {
		var t Target
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		return t, d.Decode(&t)
	}
	return variants.DataqueryConfig{Identifier: sourceType, DataqueryUnmarshaler: strict, StrictDataqueryUnmarshaler: strict}
}

package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// csvUnits are the columns whose unit is not in the name of the row's field.
var csvUnits = map[string]string{
	"frame_size": "frame_size_bytes",
	// That of the load which left the tester says so in the name of its field.
	"line_rate_ppm":     "intended_line_rate_ppm",
	"frames_per_second": "intended_frames_per_second",
	"bits_per_second":   "intended_bits_per_second",
	"sent":              "sent_frames",
	"received":          "received_frames",
	"lost":              "lost_frames",
	"lost_by_event":     "lost_by_event_frames",
	"duplicate":         "duplicate_frames",
	"reordered":         "reordered_frames",
	"truncated":         "truncated_frames",
	"corrupted":         "corrupted_frames",
	"fragmented":        "fragmented_frames",
	"late":              "late_frames",
	"stale":             "stale_frames",
}

// csvDifference begins the columns of the difference from the first variant.
const csvDifference = "difference_"

// csv writes a line per row: which benchmark it is from, every field of the row, and its
// differences from the first variant. Numbers are integers, with their unit in the column's name;
// texts of a list are joined with "; ". A field that is absent is an empty cell.
func (d *Document) csv() ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	header := []string{"namespace", "benchmark", "phase", "test_bed"}
	for _, c := range csvColumns(reflect.TypeFor[v1alpha1.ResultRow](), "") {
		header = append(header, c.name)
	}
	for _, c := range csvColumns(reflect.TypeFor[compare.Deltas](), csvDifference) {
		header = append(header, c.name)
	}
	flows := flowNames(d.Rows)
	header = append(header, flowHeader(flows)...)
	lines := [][]string{header}
	for _, row := range d.Rows {
		line := []string{d.Benchmark.Namespace, d.Benchmark.Name, string(d.Phase), d.TestBed}
		line = append(line, csvCells(reflect.ValueOf(row), nil)...)
		var deltas *compare.Deltas
		if x := deltasOf(d.Differences, &row); x != nil {
			deltas = &x.Deltas
		}
		line = csvCells(reflect.ValueOf(deltas), line)
		lines = append(lines, append(line, flowCells(row, flows)...))
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// csvColumn is a column and the field of the API that it shows.
type csvColumn struct {
	name  string
	owner reflect.Type
	field reflect.StructField
}

// csvColumns returns the fields of a row. The fields of a structure in it have the structure's name before
// their own. The counters of frames, which most rows have, stand without one. The trials of a row, and lists
// of structures and of numbers, have no column, but the flows, which flowHeader adds.
func csvColumns(t reflect.Type, prefix string) []csvColumn {
	var columns []csvColumn
	for i := range t.NumField() {
		f := t.Field(i)
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name := prefix + snake(jsonName)
		switch ft := pointed(f.Type); {
		case outsideCSV(t, f):
		case f.Anonymous || ft == reflect.TypeFor[v1alpha1.FrameSection]():
			columns = append(columns, csvColumns(ft, prefix)...)
		case ft.Kind() == reflect.Struct:
			columns = append(columns, csvColumns(ft, name+"_")...)
		case scalar(ft) || listOfTexts(ft):
			if unit, ok := csvUnits[name]; ok {
				name = unit
			}
			columns = append(columns, csvColumn{name, t, f})
		}
	}
	return columns
}

// outsideCSV reports whether a field has no column, as it is for nodrop verify: the trials of a row,
// and the counts from which the extremes of a series follow.
func outsideCSV(owner reflect.Type, f reflect.StructField) bool {
	return pointed(f.Type) == reflect.TypeFor[v1alpha1.TrialLog]() ||
		owner == reflect.TypeFor[v1alpha1.RateSeries]() && (f.Name == "MaxFrames" || f.Name == "MaxNs")
}

// csvCells are the values of a structure in the order of csvColumns. The
// structure may be absent.
func csvCells(v reflect.Value, cells []string) []string {
	t := pointed(v.Type())
	absent := v.Kind() == reflect.Pointer && v.IsNil()
	if !absent {
		v = reflect.Indirect(v)
	}
	for i := range t.NumField() {
		f := pointed(t.Field(i).Type)
		value := reflect.Zero(t.Field(i).Type)
		if !absent {
			value = v.Field(i)
		}
		missing := absent || value.Kind() == reflect.Pointer && value.IsNil()
		switch {
		case outsideCSV(t, t.Field(i)):
		case f.Kind() == reflect.Struct && missing:
			cells = csvCells(reflect.Zero(reflect.PointerTo(f)), cells)
		case f.Kind() == reflect.Struct:
			cells = csvCells(reflect.Indirect(value), cells)
		case scalar(f) && missing:
			cells = append(cells, "")
		case scalar(f):
			cells = append(cells, fmt.Sprint(reflect.Indirect(value).Interface()))
		case listOfTexts(f):
			texts := make([]string, value.Len())
			for j := range texts {
				texts[j] = value.Index(j).String()
			}
			cells = append(cells, strings.Join(texts, "; "))
		}
	}
	return cells
}

func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func scalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func listOfTexts(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// snake writes a JSON name with underscores: lineRatePPM is line_rate_ppm.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(letters[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// flowNames are the flows of rows, in the order in which they appear first.
func flowNames(rows []v1alpha1.ResultRow) []string {
	var names []string
	for _, row := range rows {
		for _, f := range row.Flows {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// flowHeader are the columns of flows, each with the name of its flow in front; they are
// the last, as there is one column for each flow.
func flowHeader(names []string) []string {
	var header []string
	for _, name := range names {
		for _, c := range csvColumns(reflect.TypeFor[v1alpha1.FlowSummary](), "flow_"+strings.ReplaceAll(name, "-", "_")+"_")[1:] { // without its name
			header = append(header, c.name)
		}
	}
	return header
}

// flowCells are the cells of a row in these columns.
func flowCells(row v1alpha1.ResultRow, names []string) []string {
	var cells []string
	for _, name := range names {
		var flow *v1alpha1.FlowSummary
		if i := slices.IndexFunc(row.Flows, func(f v1alpha1.FlowSummary) bool { return f.Name == name }); i >= 0 {
			flow = &row.Flows[i]
		}
		cells = append(cells, csvCells(reflect.ValueOf(flow), nil)[1:]...)
	}
	return cells
}

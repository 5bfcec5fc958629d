package report

import (
	"reflect"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

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
// the last, as their number is that of the flows.
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

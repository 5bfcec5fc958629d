package figures

import (
	"reflect"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// leftOut are the members of a document that no figure is in. They can be large.
var leftOut = []string{"message", "earlierRuns", "notes", "inputs", "files", "repetitions", "differences"}

// reduced is a result without what no figure is in, with all of its rows.
func reduced(d *report.Document) *report.Document {
	out := *d
	out.Benchmark.Annotations = nil
	if d.Environment != nil {
		out.Environment = &v1alpha1.ResultEnvironment{Device: d.Environment.Device, Engine: d.Environment.Engine}
	}
	if d.Gates != nil {
		out.Gates = &gate.Judgement{Verdict: d.Gates.Verdict, Gates: make([]gate.JudgedGate, 0, len(d.Gates.Gates))}
		for i := range d.Gates.Gates {
			out.Gates.Gates = append(out.Gates.Gates, reducedGate(&d.Gates.Gates[i]))
		}
	}
	return &out
}

// reducedGate is a gate with the values of a baseline that later runs are compared with, too.
func reducedGate(g *gate.JudgedGate) gate.JudgedGate {
	out := *g
	out.Message, out.Rows = "", []gate.JudgedRow{}
	if g.Baseline == nil || g.Baseline.From == nil {
		return out
	}
	for _, r := range g.Rows {
		if r.Baseline != nil {
			out.Rows = append(out.Rows, gate.JudgedRow{RowID: r.RowID, Verdict: r.Verdict, Baseline: r.Baseline})
		}
	}
	return out
}

// reducedRow is a copy of a row without its lists and the log of its trials, in which no metric
// is. The figures of repetitions remain.
func reducedRow(row *v1alpha1.ResultRow) v1alpha1.ResultRow {
	out := withoutLists(reflect.ValueOf(row).Elem()).Interface().(v1alpha1.ResultRow)
	report.RemoveLogs(&out)
	out.Repeated = row.Repeated
	return out
}

// withoutLists is a copy of a value without the lists in it.
func withoutLists(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(withoutLists(v.Elem()))
		}
	case reflect.Struct:
		out.Set(v) // with fields that are not exported
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(withoutLists(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/schedule"
)

const kindSchedule = "BenchmarkSchedule"

// Schedules are the schedules that were given, without those whose definition refuses them.
func (s *Set) Schedules() []*v1alpha1.BenchmarkSchedule {
	var all []*v1alpha1.BenchmarkSchedule
	for _, d := range s.documents.given {
		if d.kind != kindSchedule {
			continue
		}
		if of, err := s.schedule(d); err == nil {
			all = append(all, of)
		}
	}
	return all
}

func (s *Set) schedule(d *document) (*v1alpha1.BenchmarkSchedule, error) {
	if err := d.override(s.overrides); err != nil {
		return nil, err
	}
	of := &v1alpha1.BenchmarkSchedule{}
	if problems := d.into(of); problems != nil {
		return nil, &InvalidError{Problems: problems}
	}
	return of, nil
}

// scheduled are the benchmarks of a schedule, one for each cell of its matrix. What is wrong
// with the schedule itself comes as one that cannot be resolved.
func (s *Set) scheduled(d *document) []Given {
	of, err := s.schedule(d)
	if err != nil {
		return []Given{{Name: d.name, File: d.source.file, Schedule: d.name, err: err}}
	}
	var all []Given
	if problems := d.invalid(schedule.Validate(of)); problems != nil {
		all = append(all, Given{Name: d.name, File: d.source.file, Schedule: d.name, err: &InvalidError{Problems: problems}})
	}
	cells := schedule.Cells(&of.Spec)
	for i := range cells {
		b := cells[i].Benchmark(of, "", len(cells))
		b.Name = d.name
		if cells[i].Name != "" {
			b.Name += "-" + cells[i].Name
		}
		b.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Benchmark"))
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
		if err != nil {
			return append(all, Given{Name: b.Name, File: d.source.file, Schedule: d.name, err: err})
		}
		made := &document{
			source: source{file: d.source.file, index: d.source.index, of: d.source.of, text: d.source.text, line: d.source.line}, object: object,
			apiVersion: d.apiVersion, kind: "Benchmark", name: b.Name, namespace: d.namespace,
			asMeant: d.asMeant, schedule: d, cell: &cells[i],
		}
		all = append(all, Given{Name: b.Name, File: d.source.file, Schedule: d.name, of: made})
	}
	return all
}

// invalid turns problems of an object into those of its document.
func (d *document) invalid(errs field.ErrorList) []Problem {
	var problems []Problem
	for _, err := range errs {
		if !d.follows(err.Field) {
			problems = append(problems, d.problem(err.Field, err.ErrorBody(), ""))
		}
	}
	return problems
}

// inSchedule is the path in the schedule of a field of a benchmark that was made from it.
func (d *document) inSchedule(path string) string {
	if path == "" {
		return ""
	}
	return d.cell.Blame(&field.Error{Field: path}).Field
}

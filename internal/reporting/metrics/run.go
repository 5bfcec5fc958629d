package metrics

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/history"
)

// Run makes the points of one run. It is used by one goroutine at a time.
type Run struct {
	// id and began identify the run; both stay as they are when it is continued.
	id    string
	began time.Time
	// benchmark, team, bed, device and software are names; inputs is a digest.
	benchmark, team, bed, device, software, inputs string

	// order is the place of each row in the plan, and took how long the rows took that
	// are finished.
	order map[v1alpha1.RowID]int
	took  []time.Duration
}

// NewRun is the run of a benchmark that began at a time. The same arguments, also those
// of a runner that replaces another one, make equal points.
func NewRun(benchmark *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, began time.Time) (*Run, error) {
	p, err := plan.Build(benchmark, profile, bed)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	inputs, err := history.Inputs(&benchmark.Spec, &profile.Spec, bed.Name, &bed.Spec)
	if err != nil {
		return nil, err
	}
	r := &Run{
		id: string(benchmark.UID), began: began.UTC(), benchmark: benchmark.Name, team: benchmark.Namespace,
		bed: bed.Name, inputs: inputs, order: make(map[v1alpha1.RowID]int, len(p.Steps)), took: make([]time.Duration, len(p.Steps)),
	}
	if r.id == "" {
		r.id = r.began.Format(time.RFC3339Nano)
	}
	for i, step := range p.Steps {
		r.order[step.ID()] = i
	}
	r.device, r.software = device.Name(bed.Spec.Device)
	return r, nil
}

// Point describes the run. Engine sends and receives, and version is that of NoDrop.
func (r *Run) Point(engine v1alpha1.EngineKind, version string) Point {
	return newPoint(MeasurementRun, r.began,
		[]Tag{{tagBed, r.bed}, {tagDevice, r.device}, {tagSoftware, r.software}},
		[]Field{{"run", r.id}, {"benchmark", r.benchmark}, {tagTeam, r.team}, {"inputs", r.inputs}, {"engine", string(engine)}, {"nodrop_version", version}})
}

// of are the fields that lead from a point to its run.
func (r *Run) of(variant v1alpha1.VariantName) []Field {
	fields := []Field{{"run", r.id}, {"benchmark", r.benchmark}}
	if variant != "" {
		fields = append(fields, Field{"variant", string(variant)})
	}
	return fields
}

// sizeOf is the frame size or mix of a row.
func sizeOf(id v1alpha1.RowID) string {
	switch {
	case id.FrameMix != "":
		return id.FrameMix
	case id.FrameSize > 0:
		return fmt.Sprint(id.FrameSize)
	}
	return ""
}

// Package v1alpha1 holds the resources that people write to use the lab:
// TestBed (where), TrafficProfile (how the traffic looks), Benchmark (what to
// measure) and BenchmarkSchedule (when to measure it again).
//
// The package has almost no imports, and no floating point: loads are decimal
// percentages with a resolution of one part per million, speeds are bit rates
// in human form ("100G"), results are integers with their unit in the name.
//
// +kubebuilder:object:generate=true
// +groupName=nodrop.dev
package v1alpha1

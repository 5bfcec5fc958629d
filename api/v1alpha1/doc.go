// Package v1alpha1 holds the resources of the lab.
//
// Teams write Benchmark (what to measure), TrafficProfile (how the traffic looks),
// BenchmarkSchedule (when to measure it again), Reservation (when a bed is kept for them) and
// NotificationSink (who is notified). The lab writes TestBed (where) and LabPolicy (how teams
// share). The operator writes BenchmarkResult (rows) and BenchmarkSnapshot (the inputs of a
// run).
//
// The package has almost no imports, and no floating point: loads are decimal percentages with
// a resolution of one part per million, speeds are bit rates in human form ("100G"), results
// are integers with their unit in the name.
//
// +kubebuilder:object:generate=true
// +groupName=nodrop.dev
package v1alpha1

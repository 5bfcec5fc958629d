package objects

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// BenchmarkOption is an option of Benchmark: a Metadata or a BenchmarkFunc.
type BenchmarkOption interface {
	applyToBenchmark(*v1alpha1.Benchmark)
}

// BenchmarkFunc is an option that changes a benchmark.
type BenchmarkFunc func(*v1alpha1.Benchmark)

func (f BenchmarkFunc) applyToBenchmark(b *v1alpha1.Benchmark) { f(b) }

// Benchmark builds a benchmark.
func Benchmark(namespace, name string, options ...BenchmarkOption) *v1alpha1.Benchmark {
	b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range options {
		o.applyToBenchmark(b)
	}
	return b
}

// BenchmarkSpec sets the whole spec.
func BenchmarkSpec(spec v1alpha1.BenchmarkSpec) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec = spec }
}

// BenchmarkStatus sets the whole status.
func BenchmarkStatus(status v1alpha1.BenchmarkStatus) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Status = status }
}

// BedName sets the test bed.
func BedName(name string) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.TestBedName = name }
}

// BedLabels selects the test bed by labels.
func BedLabels(labels map[string]string) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: labels} }
}

// ProfileName sets the traffic profile.
func ProfileName(name string) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.TrafficProfileName = name }
}

// Priority sets the priority.
func Priority(p int32) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.Priority = p }
}

// Deadline sets the maximum duration in seconds.
func Deadline(seconds int64) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.ActiveDeadlineSeconds = seconds }
}

// Pauses sets the time after a trial in which frames still count, and the rest before the
// next trial.
func Pauses(settle, rest time.Duration) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) {
		after := duration(rest)
		b.Spec.SettleTime, b.Spec.RestTime = duration(settle), &after
	}
}

// Tests sets the tests.
func Tests(tests ...v1alpha1.Test) BenchmarkFunc {
	return func(b *v1alpha1.Benchmark) { b.Spec.Tests = tests }
}

// Throughput builds the test "throughput".
func Throughput(settings v1alpha1.ThroughputTest) v1alpha1.Test {
	return v1alpha1.Test{Name: "throughput", Throughput: &settings}
}

// QuickThroughput builds the test "throughput" with trials of one duration.
func QuickThroughput(trial time.Duration) v1alpha1.Test {
	return Throughput(v1alpha1.ThroughputTest{TrialDuration: duration(trial), SearchTrialDuration: duration(trial)})
}

// Package benchmarks takes a benchmark that has a bed from step to step: it starts device, agents
// and runner, follows the measurement, stores rows, judges gates and cleans up.
package benchmarks

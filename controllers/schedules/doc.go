// Package schedules makes the benchmarks of schedules when they are due.
package schedules

// Package schedule says when a BenchmarkSchedule fires, and which benchmarks it makes then.
// It is pure: clock and objects come in as arguments.
//
// Cron expressions are read by github.com/robfig/cron/v3, which Kubernetes reads those of
// CronJobs with, so that an expression means the same in both.
package schedule

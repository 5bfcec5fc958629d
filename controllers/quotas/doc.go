// Package quotas lets Kueue admit benchmarks.
package quotas

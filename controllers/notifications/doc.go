// Package notifications sends the events of benchmarks to the receivers of teams.
package notifications

// Package dashboards makes the Grafana dashboards of the metrics that NoDrop writes.
//
// A panel is described once. What it asks the database is in queries, in a file for each
// language, under the name of the panel: one thought each, and nothing of Grafana but its
// variables. Generate writes the dashboards for the chart.
package dashboards

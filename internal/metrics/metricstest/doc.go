// Package metricstest has servers that metrics are written to in tests: Fake, which can
// fail in every way, and real ones of InfluxDB, which hack/influxdb/build makes.
package metricstest

// Package metricstest has a server that metrics are written to in tests, which can fail in
// every way. Package testserver runs real ones of InfluxDB.
package metricstest

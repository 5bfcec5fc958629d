// Package telemetry reads what a device counts and measures of itself, and tells for each row which frames the
// device counted as dropped.
package telemetry

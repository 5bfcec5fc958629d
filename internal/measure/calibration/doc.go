// Package calibration knows what a tester does by itself. A benchmark on a bed
// without a device finds the highest rate that the tester sends and receives
// without loss, and the latency that it adds; both are stored with the bed, and
// every row of a physical device says when there is no such measurement, or none
// that fits.
package calibration

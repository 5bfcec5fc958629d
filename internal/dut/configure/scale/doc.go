// Package scale gives a device lists whose number of entries changes in the middle of a run. The owner of the lab describes a list, and
// benchmarks choose a number within its range: no text of a benchmark gets to the device.
package scale

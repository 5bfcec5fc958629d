// Package compare makes a score table of the results of several benchmarks: of
// devices, of dates, or of configurations of one device. Results are ranked per
// test, frame size and load, with their differences from the first result, the
// baseline. It is pure: result rows in, a Comparison out.
package compare

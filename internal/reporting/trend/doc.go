// Package trend finds where the level of a figure changed in a history of runs.
//
// It knows values in their order only. What they say of a device, and whether a change is
// for the better, is the caller's.
package trend

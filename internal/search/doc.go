// Package search finds the throughput of a device: the highest load at which a
// trial loses no frame (RFC 1242 section 3.17, RFC 2544 section 26.1). Loads are
// whole parts per million of line rate. The package decides which load is tried
// next and for how long; a Measurer runs the trial, so that a search is a pure
// function of the verdicts it gets.
//
// A search is a value of type Func: the binary search stands here, MLRsearch
// (RFC 9971) can stand next to it with the same Config, Measurer and Result.
package search

// Package search finds the throughput of a device: the highest load at which a
// trial loses no frame (RFC 1242 section 3.17, RFC 2544 section 26.1). Loads are
// whole parts per million of line rate. The package decides which load is tried
// next and for how long; a Measurer runs the trial, so that a search is a pure
// function of the verdicts it gets.
//
// There are three searches with one Config, Measurer and Result: Binary, MLRsearch (RFC 9971)
// and Informed, which starts from the result of an earlier run. Longest finds the longest
// burst without loss (RFC 2544 section 26.4).
package search

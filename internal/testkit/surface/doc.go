// Package surface describes what programs and people rely on between releases, as lines of text: fields of
// resources and results, flags of commands, metrics, exit codes. A test compares the lines with those of the
// previous release (docs/compatibility.md).
//
// Each line is a fact that a release promises. A line that is gone is a break, and a further line is an addition.
// Only limits of numbers are compared by value: a maximum may grow, and a minimum may shrink.
package surface

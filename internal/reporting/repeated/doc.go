// Package repeated summarizes the independent repetitions of a row: one row with the medians
// of its figures and their confidence intervals (distribution-free, by order statistics).
//
// It is pure: rows of single measurements in, rows of tests out. Rows that were measured once
// pass through unchanged.
package repeated

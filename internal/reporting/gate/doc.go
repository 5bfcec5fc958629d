// Package gate judges the rows of a result by the gates of its benchmark: each row, each
// gate, and the whole pass, fail, or are inconclusive.
//
// It is pure: rows and baselines go in, and verdicts come out. A row that is not conclusive
// neither passes nor fails. Bounds are compared as integers: no verdict depends on how a
// number is printed.
package gate

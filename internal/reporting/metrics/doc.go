// Package metrics turns what a run measures into points of time series: result rows,
// trials, and what ports do while trials run. Schema says which there are.
//
// It only makes points. Package spool keeps them on disk, sink writes them to a database,
// and delivery joins the two. A point is identified by its measurement, tags and time, so
// that one that is written twice is there once.
package metrics

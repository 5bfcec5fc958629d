// Package opmetrics has what operator and recorder tell Prometheus about the lab: names,
// units and labels of all metrics, and the collectors that export them.
//
// A label is a bed, a team or a word of a fixed list. No metric names a benchmark: that
// would be a series for each. Times are Unix timestamps, so that an age is
// time() - METRIC, and does not stand still between two scrapes.
//
// What a run measures are time series of another kind: see package metrics.
package opmetrics

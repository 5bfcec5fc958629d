// Package history makes one history of the results of the same benchmark on the same bed:
// each figure of each row over all runs, with the places where its level changed.
package history

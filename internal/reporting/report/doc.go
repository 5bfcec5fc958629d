// Package report writes the result of a benchmark: as the table that test
// houses publish, and as a JSON or YAML document with a documented schema.
//
// Numbers are integers until they are printed, and are rounded once, half up,
// to the digits of published reports: frames/s whole, Mbit/s, Gbit/s or Tbit/s with
// three decimals, line rate with four, times in microseconds with three.
package report

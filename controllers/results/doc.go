// Package results decides what is stored of what runners measure: which rows are accepted,
// which objects hold them, and how the benchmark's status summarizes them. It is pure: reading
// from and writing to the API is done by package controllers.
package results

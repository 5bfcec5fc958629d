// Package storing brings finished results into the archive, hands their rows to the recorder,
// judges trends, and removes benchmarks whose time to live is over.
package storing

// Package text reads the configurations that devices print as lines with nested contexts, and finds the
// commands that lead from one to another.
package text

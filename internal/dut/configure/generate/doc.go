// Package generate writes the configurations of tests that depend on them, in the words of several kinds of
// devices: the same access list for a switch of one vendor and for another.
package generate

package main

import "time"

// check is a column of a table.
type check struct {
	name string
	// title in the table.
	title string
	// what it does, for the page.
	what string
	// script runs in the machine, with bash -eu, in the root of the repository. A line that
	// begins with "refused: " makes the cell a refusal, if the script fails.
	script string
	// limit of its time.
	limit time.Duration
}

// kernelChecks run on each kernel, over virtual interfaces.
var kernelChecks = concat(programChecks, engineChecks, runChecks, tagChecks)

func concat(lists ...[]check) (all []check) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

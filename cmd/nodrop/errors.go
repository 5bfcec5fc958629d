package main

import (
	"fmt"
	"io"
)

// report prints an error for a person and returns the exit code.
func report(w io.Writer, err error) int {
	fmt.Fprintln(w, "nodrop:", err)
	return 1
}

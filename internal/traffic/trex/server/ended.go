package server

import "fmt"

// Ended reports that a server ended by itself.
type Ended struct {
	// How it ended, such as "signal: killed".
	How string
	// Last are the last lines that it wrote; empty when it wrote none.
	Last string
}

// Error describes how the server ended, with its last lines.
func (e *Ended) Error() string { return fmt.Sprintf("%s; %s", e.Short(), lastLines(e.Last)) }

// Short describes how the server ended, in one line.
func (e *Ended) Short() string { return fmt.Sprintf("the TRex server ended by itself (%s)", e.How) }

// lastLines introduces what a server wrote.
func lastLines(last string) string {
	if last == "" {
		return "it wrote nothing"
	}
	return "its last lines were:\n" + last
}

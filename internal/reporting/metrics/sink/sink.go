// Package sink writes points to databases.
package sink

import (
	"context"
	"fmt"
	"time"
)

// Sink is a database. Other databases than those of package sink implement it as well.
type Sink interface {
	// Write writes lines of the line protocol, with times in nanoseconds. When it returns
	// nil, all are stored. A RefusedError says that the database has looked at them and
	// does not take all, a LaterError when to try again; with any other error nothing is
	// known, and the same lines are to be written again. Lines may have been stored also
	// when it fails: one that is written twice is stored once.
	Write(ctx context.Context, lines [][]byte) error
	// String names the sink, without secrets.
	String() string
}

// RefusedError means that a database refuses some of the lines, also when they are written
// again. The refused lines are not known.
type RefusedError struct {
	// Reason as the database gives it.
	Reason string
}

func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// LaterError means that a database asks for a pause.
type LaterError struct {
	// Reason as the database gives it.
	Reason string
	// After is the minimum time to wait; 0 if the database does not specify it.
	After time.Duration
}

func (e *LaterError) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("%s: it asks for a pause of %s", e.Reason, e.After)
	}
	return e.Reason
}

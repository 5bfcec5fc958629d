// Package trials runs the trials of measuring methods and judges them: a Tester configures the
// streams, starts them, holds, stops, settles, reads the counters and rests (RFC 2544 section 23).
// It also has what the methods share: definitions, outcomes, events during a trial, figures and
// columns.
package trials

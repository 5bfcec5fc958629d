// Package exit knows the exit codes of the commands, and the errors that carry them.
package exit

import (
	"errors"
	"fmt"
	"io"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
)

// Exit codes. They are documented in docs/cli.md and never change.
const (
	// Passed: every row was measured, none failed, every gate passed if there are gates, and every test
	// has a row that can be judged by. Without gates the phase is Measured.
	Passed = 0
	// Use: the command could not be carried out: flags, manifests, rights, connection.
	Use = 1
	// Failed: measured, and the device failed, or a gate; for doctor, something is missing; for
	// configure, the device has the configuration from before.
	Failed = 2
	// Invalid: the tester could not measure what was asked; for doctor, not
	// everything could be seen.
	Invalid = 3
	// Aborted: the benchmark was stopped before its end.
	Aborted = 4
	// Error: the lab failed, not the device; for configure, the device may have a part of a change.
	Error = 5
	// Unfinished: watching ended before the benchmark did.
	Unfinished = 6
	// Inconclusive: measured, and a test has no row that can be judged by, or a gate is
	// inconclusive.
	Inconclusive = 7
)

// CodeOf maps the last phase of a benchmark to the exit code.
func CodeOf(phase v1alpha1.BenchmarkPhase) int {
	switch phase {
	case v1alpha1.PhasePassed, v1alpha1.PhaseMeasured:
		return Passed
	case v1alpha1.PhaseInconclusive:
		return Inconclusive
	case v1alpha1.PhaseFailed:
		return Failed
	case v1alpha1.PhaseInvalid:
		return Invalid
	case v1alpha1.PhaseAborted:
		return Aborted
	case v1alpha1.PhaseError:
		return Error
	}
	return Unfinished
}

// Coded ends the program with an exit code other than Use. Without an
// error nothing is printed: the result said it all.
type Coded struct {
	Err  error
	Code int
}

func (e *Coded) Unwrap() error { return e.Err }

// Error is empty when there is only a code.
func (e *Coded) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Outcome is the error that makes the exit code say how a benchmark ended; nil
// when it passed, or was measured and has no gates.
func Outcome(phase v1alpha1.BenchmarkPhase) error {
	if code := CodeOf(phase); code != Passed {
		return &Coded{Code: code}
	}
	return nil
}

// Explain prints the error of a program for a person, with the hint that it carries, and
// returns the exit code.
func Explain(w io.Writer, program string, err error) int {
	code := Use
	var coded *Coded
	if errors.As(err, &coded) {
		code = coded.Code
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(w, "%s: %s\n", program, text)
	}
	if text := hint.Of(err); text != "" {
		fmt.Fprintln(w, "hint:", text)
	}
	return code
}

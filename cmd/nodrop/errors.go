package main

import (
	"errors"
	"fmt"
	"io"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/hint"
)

// Exit codes. They are documented in docs/cli.md and never change.
const (
	// exitPassed: every row was measured, none failed, every gate passed, and every test has a row that can
	// be judged by.
	exitPassed = 0
	// exitUse: the command could not be carried out: flags, manifests, rights, connection.
	exitUse = 1
	// exitFailed: measured, and the device failed, or a gate; for doctor, something is missing.
	exitFailed = 2
	// exitInvalid: the tester could not measure what was asked; for doctor, not
	// everything could be seen.
	exitInvalid = 3
	// exitAborted: the benchmark was stopped before its end.
	exitAborted = 4
	// exitError: the lab failed, not the device.
	exitError = 5
	// exitUnfinished: watching ended before the benchmark did.
	exitUnfinished = 6
	// exitInconclusive: measured, and a test has no row that can be judged by, or a gate is
	// inconclusive.
	exitInconclusive = 7
)

// exitCodeOf maps the last phase of a benchmark to the exit code.
func exitCodeOf(phase v1alpha1.BenchmarkPhase) int {
	switch phase {
	case v1alpha1.PhasePassed:
		return exitPassed
	case v1alpha1.PhaseInconclusive:
		return exitInconclusive
	case v1alpha1.PhaseFailed:
		return exitFailed
	case v1alpha1.PhaseInvalid:
		return exitInvalid
	case v1alpha1.PhaseAborted:
		return exitAborted
	case v1alpha1.PhaseError:
		return exitError
	}
	return exitUnfinished
}

// codedError ends the program with an exit code other than exitUse. Without an
// error nothing is printed: the result said it all.
type codedError struct {
	err  error
	code int
}

func (e *codedError) Unwrap() error { return e.err }

// Error is empty when there is only a code.
func (e *codedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// outcome is the error that makes the exit code say how a benchmark ended; nil
// when it passed.
func outcome(phase v1alpha1.BenchmarkPhase) error {
	if code := exitCodeOf(phase); code != exitPassed {
		return &codedError{code: code}
	}
	return nil
}

// explain prints an error for a person, with the hint that it carries, and
// returns the exit code.
func explain(w io.Writer, err error) int {
	code := exitUse
	var coded *codedError
	if errors.As(err, &coded) {
		code = coded.code
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(w, "nodrop:", text)
	}
	if text := hint.Of(err); text != "" {
		fmt.Fprintln(w, "hint:", text)
	}
	return code
}

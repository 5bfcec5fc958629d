package commands

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Error is a command that a device ran and that failed.
type Error struct {
	Command string
	Status  int
	// Text contains what the command complained about.
	Text string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q ended with status %d: %s", e.Command, e.Status, e.Text)
}

// Kind describes a device whose programs are run by commands.
type Kind struct {
	// Version is a command that prints what the device is.
	Version string
	// Software returns names and versions from the output of Version; empty for another device.
	Software func(output string) string
	// Name of the device in messages, such as Linux with nftables; Wanted names it with its user.
	Name, Wanted string
}

// Shell runs commands on a device, each without a terminal.
type Shell struct {
	connection Connection
	// within is how long a command may take.
	within   time.Duration
	kind     Kind
	software string
}

// NewShellDriver returns a driver of a kind of device, whose sessions are made of shells. It does not connect yet, and fails as
// NewDriver does.
func NewShellDriver(access Access, language configure.Language, kind Kind, session func(*Shell) configure.Session) (configure.Driver, error) {
	return NewDriver(access, language, func(ctx context.Context, access Access) (configure.Session, error) {
		s, err := openShell(ctx, access, kind)
		if err != nil {
			return nil, err
		}
		return session(s), nil
	})
}

// MatchesIn returns a function for Kind that returns all matches in an output, which has to have some number of them.
func MatchesIn(software *regexp.Regexp, n int) func(output string) string {
	return func(output string) string {
		found := software.FindAllString(output, -1)
		if len(found) != n {
			return ""
		}
		return strings.Join(found, ", ")
	}
}

// openShell connects to a device, and checks what it is: a server that prints nothing would seem to have no configuration.
func openShell(ctx context.Context, access Access, kind Kind) (*Shell, error) {
	connection, err := access.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &Shell{connection: connection, within: access.AnswerWithin(), kind: kind}
	out, err := s.Read(kind.Version)
	if err == nil {
		if s.software = kind.Software(out); s.software == "" {
			err = fmt.Errorf("%w: it does not say that it %s: %q printed %.80q", configure.ErrRefused, kind.Name, kind.Version, out)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Run runs a command with an input, and returns what it printed. It fails with a Error if the command did, with
// configure.ErrRefused if it printed too much, and with configure.ErrUnreachable if it is unknown whether the device ran it.
func (s *Shell) Run(command, input string) (string, error) {
	late := time.AfterFunc(s.within, func() { _ = s.connection.Close() })
	defer late.Stop()
	out, problems, err := s.connection.Run(command, input)
	var ended *ExitError
	switch {
	case errors.As(err, &ended):
		return "", &Error{command, ended.Status, strings.TrimSpace(problems)}
	case errors.Is(err, ErrTooLong):
		return "", fmt.Errorf("%w: %q: %w", configure.ErrRefused, command, err)
	case err != nil:
		return "", fmt.Errorf("%w: running %q: %w", configure.ErrUnreachable, command, err)
	}
	return out, nil
}

// Read runs a command that only reads. If the command fails, another attempt does not help.
func (s *Shell) Read(command string) (string, error) {
	out, err := s.Run(command, "")
	var failed *Error
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%w: %w: want %s", configure.ErrRefused, err, s.kind.Wanted)
	}
	return out, err
}

// Software implements configure.Session.
func (s *Shell) Software() (string, error) { return s.software, nil }

// Close implements configure.Session.
func (s *Shell) Close() { _ = s.connection.Close() }

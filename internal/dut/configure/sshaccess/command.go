package sshaccess

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// CommandError is a command that a device ran and that failed.
type CommandError struct {
	Command string
	Status  int
	// Text contains what the command complained about.
	Text string
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("%q ended with status %d: %s", e.Command, e.Status, e.Text)
}

// RunWithin is Run within a time, after which the connection is closed. It returns what the command printed. It fails with a CommandError if
// the command did, with configure.ErrRefused if it printed too much, and with configure.ErrUnreachable if it is unknown whether the
// device ran it.
func RunWithin(client *ssh.Client, within time.Duration, command, input string) (string, error) {
	late := time.AfterFunc(within, func() { _ = client.Close() })
	defer late.Stop()
	out, problems, err := Run(client, command, input)
	var ended *ssh.ExitError
	switch {
	case errors.As(err, &ended):
		return "", &CommandError{command, ended.ExitStatus(), strings.TrimSpace(problems)}
	case errors.Is(err, ErrTooLong):
		return "", fmt.Errorf("%w: %q: %w", configure.ErrRefused, command, err)
	case err != nil:
		return "", fmt.Errorf("%w: running %q: %w", configure.ErrUnreachable, command, err)
	}
	return out, nil
}

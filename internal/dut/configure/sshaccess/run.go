package sshaccess

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// maxOutput is the most that a command may print, in bytes: a rule set of 100,000 rules has less.
const maxOutput = 16 << 20

// ErrTooLong reports that a command printed more than is read.
var ErrTooLong = fmt.Errorf("it printed more than %d MiB", maxOutput>>20)

// ErrLost reports that the connection was lost after the device had begun to run a command.
var ErrLost = errors.New("the connection was lost while the command ran")

// Run runs a command with an input, without a terminal, and returns what it printed. It fails with an ssh.ExitError if the command
// did, and with ErrTooLong or ErrLost. To end it, close the connection.
func Run(client *ssh.Client, command, input string) (out, problems string, _ error) {
	session, err := client.NewSession()
	if err != nil {
		return "", "", err
	}
	defer func() { _ = session.Close() }()
	var printed, complained bounded
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(input), &printed, &complained
	if err := session.Start(command); err != nil {
		return "", "", err
	}
	err = session.Wait()
	var ended *ssh.ExitError
	switch {
	case err == nil, errors.As(err, &ended):
	case printed.over || complained.over:
		err = ErrTooLong
	default:
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	return printed.String(), complained.String(), err
}

// bounded is a buffer with a limit.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		b.over = true
		return 0, ErrTooLong
	}
	return b.Buffer.Write(p)
}

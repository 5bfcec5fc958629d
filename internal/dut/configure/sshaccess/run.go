package sshaccess

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// Run runs a command with an input, without a terminal, and returns what it printed. It fails with an ssh.ExitError if the command
// did, and with commands.ErrTooLong or commands.ErrLost. To end it, close the connection.
func Run(client *ssh.Client, command, input string) (out, problems string, _ error) {
	session, err := client.NewSession()
	if err != nil {
		return "", "", err
	}
	defer func() { _ = session.Close() }()
	var printed, complained commands.Output
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(input), ending{&printed, session}, ending{&complained, session}
	if err := session.Start(command); err != nil {
		return "", "", err
	}
	err = session.Wait()
	var ended *ssh.ExitError
	switch {
	case printed.Over || complained.Over:
		err = commands.ErrTooLong
	case err == nil, errors.As(err, &ended):
	default:
		err = fmt.Errorf("%w: %w", commands.ErrLost, err)
	}
	return printed.String(), complained.String(), err
}

// ending ends a session whose command prints too much: it would wait for a reader otherwise.
type ending struct {
	to      *commands.Output
	session *ssh.Session
}

func (e ending) Write(p []byte) (int, error) {
	n, err := e.to.Write(p)
	if err != nil {
		_ = e.session.Close()
	}
	return n, err
}

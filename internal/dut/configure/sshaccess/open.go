package sshaccess

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

var _ commands.Access = Config{}

// Open implements commands.Access.
func (c Config) Open(ctx context.Context) (commands.Connection, error) {
	client, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connection{client}, nil
}

// Describe implements commands.Access.
func (c Config) Describe() string { return c.Address }

// connection runs commands over SSH.
type connection struct{ *ssh.Client }

// Run implements commands.Connection.
func (c connection) Run(command, input string) (out, problems string, err error) {
	out, problems, err = Run(c.Client, command, input)
	var ended *ssh.ExitError
	if errors.As(err, &ended) {
		err = &commands.ExitError{Status: ended.ExitStatus(), Signal: ended.Signal()}
	}
	return out, problems, err
}

const (
	// width of the terminal, in characters: devices wrap longer commands, and then their echo cannot be
	// recognized.
	width  = 4096
	height = 1000
)

// Console implements commands.Connection: the command line is the one that the server gives the user.
func (c connection) Console(string) (io.ReadWriter, error) {
	t, err := c.terminal()
	if err != nil {
		return nil, fmt.Errorf("%w: starting a shell: %w", configure.ErrUnreachable, err)
	}
	return t, nil
}

// terminal is a terminal with a shell.
type terminal struct {
	io.Reader
	io.Writer
}

func (c connection) terminal() (t terminal, _ error) {
	session, err := c.NewSession()
	if err != nil {
		return t, err
	}
	if t.Writer, err = session.StdinPipe(); err != nil {
		return t, err
	}
	if t.Reader, err = session.StdoutPipe(); err != nil {
		return t, err
	}
	if err := session.RequestPty("vt100", height, width, ssh.TerminalModes{ssh.ECHO: 1}); err != nil {
		return t, err
	}
	return t, session.Shell()
}

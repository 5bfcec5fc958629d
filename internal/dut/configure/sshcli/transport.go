package sshcli

import (
	"context"
	"fmt"
	"io"

	"github.com/scrapli/scrapligo/transport"
	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
)

const (
	// width of the terminal, in characters: devices wrap longer commands, and then their echo cannot be
	// recognized.
	width  = 4096
	height = 1000
)

// line is an SSH connection with a shell. Unlike the transports of scrapligo it ends with a context, bounds
// the handshake, and accepts given host keys only.
type line struct {
	ctx     context.Context
	access  *sshaccess.Config
	client  *ssh.Client
	session *ssh.Session
	in      io.Writer
	out     io.Reader
}

var _ transport.Implementation = (*line)(nil)

// Open implements transport.Implementation.
func (l *line) Open(*transport.Args) (err error) {
	if l.client, err = l.access.Connect(l.ctx); err != nil {
		return err
	}
	if err := l.shell(); err != nil {
		_ = l.client.Close()
		return fmt.Errorf("%w: starting a shell: %w", configure.ErrUnreachable, err)
	}
	return nil
}

func (l *line) shell() (err error) {
	if l.session, err = l.client.NewSession(); err != nil {
		return err
	}
	if l.in, err = l.session.StdinPipe(); err != nil {
		return err
	}
	if l.out, err = l.session.StdoutPipe(); err != nil {
		return err
	}
	if err := l.session.RequestPty("vt100", height, width, ssh.TerminalModes{ssh.ECHO: 1}); err != nil {
		return err
	}
	return l.session.Shell()
}

// Close implements transport.Implementation.
func (l *line) Close() error {
	if l.client == nil {
		return nil
	}
	return l.client.Close()
}

// IsAlive implements transport.Implementation.
func (l *line) IsAlive() bool { return l.session != nil }

// Read implements transport.Implementation. An error of the connection is its end.
func (l *line) Read(n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := l.out.Read(b)
	if n > 0 {
		return b[:n], nil
	}
	if err != nil {
		return nil, io.EOF
	}
	return nil, nil
}

// Write implements transport.Implementation.
func (l *line) Write(b []byte) error {
	if _, err := l.in.Write(b); err != nil {
		return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
	}
	return nil
}

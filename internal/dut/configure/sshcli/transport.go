package sshcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/scrapli/scrapligo/transport"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// line is a connection with a command line. Unlike the transports of scrapligo it ends with a context, and knows what is refused.
type line struct {
	ctx    context.Context
	access commands.Access
	// program is the command line, for devices that have none of a user.
	program    string
	connection commands.Connection
	console    io.ReadWriter

	mu sync.Mutex
	// ended is why the command line ended; nil while it runs.
	ended error
}

var _ transport.Implementation = (*line)(nil)

// Open implements transport.Implementation.
func (l *line) Open(*transport.Args) (err error) {
	if l.connection, err = l.access.Open(l.ctx); err != nil {
		return err
	}
	if l.console, err = l.connection.Console(l.program); err != nil {
		_ = l.connection.Close()
		return err
	}
	return nil
}

// Close implements transport.Implementation.
func (l *line) Close() error {
	if l.connection == nil {
		return nil
	}
	return l.connection.Close()
}

// IsAlive implements transport.Implementation.
func (l *line) IsAlive() bool { return l.console != nil }

// Read implements transport.Implementation. An error of the connection is its end.
func (l *line) Read(n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := l.console.Read(b)
	if n > 0 {
		return b[:n], nil
	}
	if err != nil {
		l.mu.Lock()
		l.ended = err
		l.mu.Unlock()
		return nil, io.EOF
	}
	return nil, nil
}

// Write implements transport.Implementation.
func (l *line) Write(b []byte) error {
	if _, err := l.console.Write(b); err != nil {
		return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
	}
	return nil
}

// refused returns why the device runs no command line, if another attempt does not help.
func (l *line) refused() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.ended, configure.ErrRefused) {
		return l.ended
	}
	return nil
}

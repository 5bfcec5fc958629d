package sshcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/transport"
	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
)

const (
	// width of the terminal, in characters: devices wrap longer commands, and then their echo cannot be
	// recognized.
	width  = 4096
	height = 1000
	// aliveEvery is the interval at which the device is asked whether it is there.
	aliveEvery = 5 * time.Second
)

// line is an SSH connection with a shell. Unlike the transports of scrapligo it ends with a context, bounds
// the handshake, and accepts given host keys only.
type line struct {
	ctx     context.Context
	address string
	// dial connects; nil connects from the network of this process.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// config has the timeout of the connection, and of an answer to whether the device is there.
	config  *ssh.ClientConfig
	client  *ssh.Client
	session *ssh.Session
	in      io.Writer
	out     io.Reader
}

var _ transport.Implementation = (*line)(nil)

// Open implements transport.Implementation.
func (l *line) Open(*transport.Args) (err error) {
	dial := l.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: l.config.Timeout}).DialContext
	}
	conn, err := dial(l.ctx, "tcp", l.address)
	if err != nil {
		return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
	}
	ended := context.AfterFunc(l.ctx, func() { _ = conn.Close() })
	defer func() {
		if err != nil {
			ended()
			_ = conn.Close()
		}
	}()
	_ = conn.SetDeadline(time.Now().Add(l.config.Timeout))
	c, channels, requests, err := ssh.NewClientConn(conn, l.address, l.config)
	if err != nil {
		return handshakeError(err)
	}
	_ = conn.SetDeadline(time.Time{})
	l.client = ssh.NewClient(c, channels, requests)
	if err := l.shell(); err != nil {
		return fmt.Errorf("%w: starting a shell: %w", configure.ErrUnreachable, err)
	}
	go l.watch()
	return nil
}

// unexpectedFailure is how the library reports that a method of authentication failed at once
// (SSH_MSG_USERAUTH_FAILURE). It has no types for that.
const unexpectedFailure = "unexpected message type 51"

// handshakeError returns ErrRefused or ErrUnreachable, by whether another attempt may succeed.
func handshakeError(err error) error {
	var unknown *HostKeyError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: %w", configure.ErrRefused, unknown)
	case strings.Contains(err.Error(), "unable to authenticate"), strings.Contains(err.Error(), unexpectedFailure):
		return fmt.Errorf("%w: the device does not accept the user or its credentials", configure.ErrRefused)
	}
	return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
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

// watch closes the connection when the device does not answer for a while.
func (l *line) watch() {
	for {
		late := time.AfterFunc(l.config.Timeout, func() { _ = l.client.Close() })
		_, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			return
		}
		select {
		case <-time.After(aliveEvery):
		case <-l.ctx.Done():
			return
		}
	}
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

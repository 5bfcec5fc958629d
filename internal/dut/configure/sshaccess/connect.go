package sshaccess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// aliveEvery is the interval at which the device is asked whether it is there.
const aliveEvery = 5 * time.Second

// Connect opens a connection, which ends with the context, and when the device does not answer for a
// while. It fails with configure.ErrUnreachable or configure.ErrRefused.
func (c Config) Connect(ctx context.Context) (_ *ssh.Client, err error) {
	config, err := c.client()
	if err != nil {
		return nil, err
	}
	conn, err := configure.Dialed(ctx, c.Dial, c.Address, config.Timeout)
	if err != nil {
		return nil, err
	}
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if err != nil {
			ended()
			_ = conn.Close()
		}
	}()
	_ = conn.SetDeadline(time.Now().Add(config.Timeout))
	connection, channels, requests, err := ssh.NewClientConn(conn, c.Address, config)
	if err != nil {
		return nil, handshakeError(err)
	}
	_ = conn.SetDeadline(time.Time{})
	client := ssh.NewClient(connection, channels, requests)
	go watch(ctx, client, config.Timeout)
	return client, nil
}

// watch closes a connection when the device does not answer within a time.
func watch(ctx context.Context, client *ssh.Client, within time.Duration) {
	for {
		late := time.AfterFunc(within, func() { _ = client.Close() })
		_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			return
		}
		select {
		case <-time.After(aliveEvery):
		case <-ctx.Done():
			return
		}
	}
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

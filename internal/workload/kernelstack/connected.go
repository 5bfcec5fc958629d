package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/workload"
)

// errLost reports that hosts of ConnectIncast do not exist: the agent that had them was restarted.
var errLost = errors.New("the hosts of the incast are gone: they were connected before, and the agent that had them was restarted or removed them")

// ConnectIncast implements workload.Engine.
func (e *Engine) ConnectIncast(ctx context.Context, request workload.IncastRequest) error {
	if err := e.removeConnected(); err != nil {
		return err
	}
	run := &incast{request: request}
	if err := e.populate(ctx, run); err != nil {
		return errors.Join(err, run.close())
	}
	e.connected = run
	return nil
}

// DisconnectIncast implements workload.Engine.
func (e *Engine) DisconnectIncast(context.Context) (all workload.Segments, err error) {
	if e.connected == nil {
		return all, errLost
	}
	all, err = e.connected.segments()
	return all, errors.Join(err, e.removeConnected())
}

// segments returns the segments of all connections since the first iteration began.
func (run *incast) segments() (all workload.Segments, _ error) {
	for _, s := range run.servers {
		sent, received, err := s.segments()
		if err != nil {
			return all, err
		}
		// The kernel counts in 32 bits.
		all.Sent, all.Received = all.Sent+uint64(sent-s.sentBefore), all.Received+uint64(received-s.receivedBefore)
	}
	return all, nil
}

// removeConnected removes the hosts that ConnectIncast has made, if there are any.
func (e *Engine) removeConnected() error {
	run := e.connected
	if run == nil {
		return nil
	}
	e.connected = nil
	return run.close()
}

// segments returns the segments that a server has sent on its connection, with repeated ones, and that the client has received.
func (s *server) segments() (sent, received uint32, _ error) {
	read := func(c *net.TCPConn, note func(*unix.TCPInfo)) error {
		return control(c, func(fd int) error {
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err == nil {
				note(info)
			}
			return err
		})
	}
	err := errors.Join(
		read(s.far, func(i *unix.TCPInfo) { sent = i.Segs_out }),
		read(s.near, func(i *unix.TCPInfo) { received = i.Segs_in }),
	)
	if err != nil {
		err = fmt.Errorf("reading the segments of the connection to server %s: %w", s.address, err)
	}
	return sent, received, err
}

package kernelstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// flow is the connection over which a host sends to another one.
type flow struct {
	from, to *member
	pair     [2]int
	// near and far are its ends at the sender and at the receiver.
	near, far *net.TCPConn
	transfers []*transfer
	// before is the number of segments that were sent again before the first counted repetition.
	before uint64
}

// transfer is a part that is sent in each repetition.
type transfer struct {
	workload.Transfer
	// landing is the memory into which the receiver reads, before its step begins.
	landing []byte
	// ready has the time at which the sender had the data.
	ready chan time.Time
	// sent is that time. It is written before the first byte is sent, and read once the last byte arrived.
	sent time.Time
	// arrived tells the receiver, and delivered the sender, that the last byte arrived.
	arrived, delivered chan struct{}
	times              []time.Duration
}

// open opens the connection.
func (f *flow) open(ctx context.Context, control string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	address := netip.AddrPortFrom(f.to.address, serverPort)
	var conn net.Conn
	err := netif.In(f.from.ns, func() (err error) {
		conn, err = (&net.Dialer{Control: setControl(control), KeepAlive: -1}).DialContext(ctx, "tcp4", address.String())
		return err
	})
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("host %s on port %s does not answer host %s on port %s within %s: the device must forward IPv4 between these ports", f.to.address, f.to.port, f.from.address, f.from.port, connectTime)
	case err != nil:
		return fmt.Errorf("connecting host %s to host %s: %w", f.from.address, address, explain(err, control))
	}
	f.near = conn.(*net.TCPConn)
	accepted, err := f.to.listener.Accept() // the handshake is over, and no other one runs
	if err != nil {
		return fmt.Errorf("host %s: %w", address, err)
	}
	f.far = accepted.(*net.TCPConn)
	return nil
}

// send sends the parts of a repetition, each once the host has it.
func (f *flow) send(ctx context.Context) error {
	for _, t := range f.transfers {
		select {
		case t.sent = <-t.ready:
		case <-ctx.Done():
			return nil
		}
		if _, err := f.near.Write(f.from.message[t.Source : t.Source+t.Bytes]); err != nil {
			return fmt.Errorf("host %s on port %s sends to host %s on port %s: %w", f.from.address, f.from.port, f.to.address, f.to.port, err)
		}
	}
	return nil
}

// receive reads the parts of a repetition as they come. A receiver that is late does not make a link slow.
func (f *flow) receive(counts bool) error {
	var before time.Time
	for _, t := range f.transfers {
		for have := 0; have < len(t.landing); {
			n, err := f.far.Read(t.landing[have:min(len(t.landing), have+copyBytes)])
			if have += n; err != nil && have < len(t.landing) {
				return fmt.Errorf("host %s on port %s received %d of %d bytes of step %d from host %s on port %s: %w", f.to.address, f.to.port, have, t.Bytes, t.Step+1, f.from.address, f.from.port, err)
			}
		}
		end := time.Now()
		if counts {
			begin := t.sent
			if before.After(begin) { // the part waited for the one before
				begin = before
			}
			t.times = append(t.times, end.Sub(begin))
		}
		before = end
		t.arrived <- struct{}{}
		t.delivered <- struct{}{}
	}
	return nil
}

// times returns the times of all transfers of the connection.
func (f *flow) times() (all []time.Duration) {
	for _, t := range f.transfers {
		all = append(all, t.times...)
	}
	return all
}

// retransmissions returns the number of segments that the sender sent again.
func (f *flow) retransmissions() (uint64, error) {
	var c workload.Connection
	err := control(f.near, func(fd int) (err error) {
		c, err = tcpInfo(fd)
		return err
	})
	return c.Retransmissions, err
}

// close ends the connection.
func (f *flow) close() {
	for _, c := range []*net.TCPConn{f.near, f.far} {
		if c != nil {
			_ = c.SetLinger(0) // what is on its way is not sent again
			_ = c.Close()
		}
	}
}

package kernelstack

import (
	"context"
	"fmt"
	"net"
	"time"

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
func (f *flow) open(ctx context.Context, control string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	f.near, f.far, err = connect(ctx, party{"host", f.from.host}, party{"host", f.to.host}, f.to.listener, control)
	return err
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
func (f *flow) close() { closeAtOnce(f.near, f.far) }

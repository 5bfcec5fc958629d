package kernelstack

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// probeNumber is the number of a probe.
	probeNumber = ^uint64(0)
	// batch is the maximum number of datagrams of a call of the kernel.
	batch = 64
	// multicastTTL lets datagrams pass routers.
	multicastTTL = 16
)

// publisher is a host that sends messages.
type publisher struct {
	*host
	run    *messages
	index  int
	conn   *net.UDPConn
	packet *ipv4.PacketConn
	groups []*net.UDPAddr
	out    []ipv4.Message
	// buffer is the size of the buffer of the socket.
	buffer int

	sent        int64
	first, last time.Time
	lag         time.Duration
	failed      error
}

// open makes the socket of a publisher.
func (p *publisher) open() error {
	for n := range p.run.request.Groups {
		p.groups = append(p.groups, &net.UDPAddr{IP: workload.Group(p.run.request.FirstGroup, n).AsSlice(), Port: messagePort})
	}
	for range batch {
		p.out = append(p.out, ipv4.Message{Buffers: [][]byte{make([]byte, p.run.request.Bytes)}})
	}
	return netif.In(p.ns, func() (err error) {
		if p.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: p.address.AsSlice()}); err != nil {
			return err
		}
		p.packet = ipv4.NewPacketConn(p.conn)
		card, err := net.InterfaceByName(hostInterface)
		if err != nil {
			return err
		}
		if err := p.packet.SetMulticastInterface(card); err != nil {
			return fmt.Errorf("choosing the interface of multicast: %w", err)
		}
		if err := p.packet.SetMulticastTTL(multicastTTL); err != nil {
			return fmt.Errorf("setting the TTL of multicast: %w", err)
		}
		if err := p.packet.SetMulticastLoopback(false); err != nil {
			return fmt.Errorf("turning the own copies of multicast off: %w", err)
		}
		p.buffer, err = socketOption(p.conn, unix.SO_SNDBUF)
		return err
	})
}

// socketOption reads an option of a socket.
func socketOption(c *net.UDPConn, option int) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { n, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, fmt.Errorf("reading an option of a socket: %w", err)
	}
	return n, nil
}

// write makes a message in place of the one with that position of a batch.
func (p *publisher) write(i, group int, number uint64) {
	b := p.out[i].Buffers[0]
	binary.BigEndian.PutUint64(b, p.run.id)
	binary.BigEndian.PutUint32(b[8:], uint32(p.index))
	binary.BigEndian.PutUint32(b[12:], uint32(group))
	binary.BigEndian.PutUint64(b[16:], number)
	binary.BigEndian.PutUint64(b[24:], uint64(time.Since(p.run.base)))
	p.out[i].Addr = p.groups[group]
}

// probe sends a probe to each group.
func (p *publisher) probe(ctx context.Context) error {
	for group := range p.groups {
		p.write(0, group, probeNumber)
		if err := p.send(p.out[:1]); err != nil {
			return err
		}
		if err := pause(ctx, probeGap); err != nil {
			return err
		}
	}
	return nil
}

// send sends all datagrams.
func (p *publisher) send(all []ipv4.Message) error {
	for len(all) > 0 {
		n, err := p.packet.WriteBatch(all, 0)
		if err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		all = all[n:]
	}
	return nil
}

// publish sends the messages of the publisher at equal distances. It ends after twice the time if the host is too slow.
func (p *publisher) publish(ctx context.Context, start time.Time) error {
	r := p.run.request
	rate := r.Rate / float64(len(r.Publishers))
	total := max(1, int64(rate*r.Duration.Seconds()+0.5))
	start = start.Add(time.Duration(float64(p.index) / r.Rate * float64(time.Second)))
	due := func(n int64) time.Duration { return time.Duration(float64(n) / rate * float64(time.Second)) }
	for p.sent < total && ctx.Err() == nil {
		gone := time.Since(start)
		if gone > 2*r.Duration {
			return nil
		}
		if wait := due(p.sent) - gone; wait > 0 {
			time.Sleep(wait)
			continue
		}
		if p.sent == 0 {
			p.first = time.Now()
		}
		p.lag = max(p.lag, gone-due(p.sent))
		n := min(batch, total-p.sent, int64(gone.Seconds()*rate)+1-p.sent)
		n = max(n, 1)
		for i := range n {
			number := p.sent + i
			p.write(int(i), int(number%int64(r.Groups)), uint64(number/int64(r.Groups)))
		}
		if err := p.send(p.out[:n]); err != nil {
			return err
		}
		p.sent += n
		p.last = time.Now()
	}
	return context.Cause(ctx)
}

// sentTo returns the number of messages that the publisher sent to a group.
func (p *publisher) sentTo(group int) int64 {
	groups := int64(len(p.groups))
	n := p.sent / groups
	if int64(group) < p.sent%groups {
		n++
	}
	return n
}

func (p *publisher) close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

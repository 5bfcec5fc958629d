package workload

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// MessagesRequest describes numbered UDP datagrams that publishers send to multicast groups, and that all subscribers
// receive. Publishers take turns, and each sends to the groups in turn.
type MessagesRequest struct {
	// Publishers and Subscribers are the names of the ports of the hosts: one entry for each host.
	Publishers, Subscribers []string
	// FirstGroup is the address of the first group, and Groups the number of groups with addresses in sequence.
	FirstGroup netip.Addr
	Groups     int
	// Bytes of each datagram, without the headers of UDP and IP.
	Bytes int
	// Rate is the number of messages per second of all publishers together, at equal distances.
	Rate float64
	// Duration is the time for which publishers send.
	Duration time.Duration
	// ReceiveBuffers are the bytes that each subscriber asks for as the buffer of its socket (SO_RCVBUF).
	ReceiveBuffers []int
	// JoinTime is the longest time from the memberships until a datagram of each publisher and group is at each subscriber.
	JoinTime time.Duration
	// SettleTime is the time without a datagram after which missing ones count as lost.
	SettleTime time.Duration
	// MTU of the hosts in bytes.
	MTU int
}

const (
	// MessageHeader is the minimum number of bytes of a message: run, publisher, group, number and time.
	MessageHeader = 32
	// MaxGroups is the maximum number of groups of a request.
	MaxGroups = 1000
	// udpHeaders are the bytes of the headers of IPv4 and UDP.
	udpHeaders = 28
)

// Messages is the result of datagrams. Losses, duplicates and order are counted by the numbers in the datagrams.
type Messages struct {
	// Sent is the number of messages that all publishers sent. SendSpan is the time from the first to the last one.
	Sent     int64
	SendSpan time.Duration
	// LongestLag is the longest time by which a message was sent after its time. The messages of that time follow at once.
	LongestLag time.Duration
	// Subscribers have the counts of each subscriber.
	Subscribers []Subscriber
	// Unreached describes a publisher, a group and a subscriber without a datagram within JoinTime; empty if there is none. Nothing was measured
	// then.
	Unreached string
	// PublisherDrops is the number of packets that the ports of publishers dropped instead of sending them.
	PublisherDrops int64
	// MTU of the interfaces, and the Offloads that were on although they should be off.
	MTU      int
	Offloads []string
	// SendBuffer is the smallest buffer of the sockets of publishers, in bytes, as the kernel reports it.
	SendBuffer int
	// Limits of the hosts over the trial.
	Limits Limits
}

// Subscriber has the counts of a subscriber.
type Subscriber struct {
	// Address and Port of the host.
	Address string
	Port    string
	// Received is the number of distinct messages. Lost is the number of the others, and LostByGroup the same by group.
	Received, Lost int64
	LostByGroup    []int64
	// Duplicates is the number of further copies. Reordered is the number of messages that arrived after one with a higher number of the same
	// publisher and group (RFC 4737).
	Duplicates, Reordered int64
	// SocketDrops is the number of datagrams that the socket dropped since its buffer was full. InterfaceDrops is the number of packets that
	// the interfaces of the port and of the host dropped after they had received them.
	SocketDrops, InterfaceDrops int64
	// ReceiveBuffer is the buffer of the socket in bytes, as the kernel reports it: twice the bytes that were asked for.
	ReceiveBuffer int
	// P50, P99 and Max are times from sending a message to its arrival at the application.
	P50, P99, Max time.Duration
}

// Validate reports a request that no engine can run.
func (r MessagesRequest) Validate() error {
	last := r.FirstGroup
	if r.FirstGroup.Is4() && r.Groups > 0 && r.Groups <= MaxGroups {
		last = Group(r.FirstGroup, r.Groups-1)
	}
	switch {
	case len(r.Publishers) < 1 || len(r.Publishers) > MaxHosts || len(r.Subscribers) < 1 || len(r.Subscribers) > MaxHosts:
		return fmt.Errorf("%d publishers and %d subscribers were asked for: 1 to %d of each are possible", len(r.Publishers), len(r.Subscribers), MaxHosts)
	case r.Groups < 1 || r.Groups > MaxGroups:
		return fmt.Errorf("%d groups were asked for: 1 to %d are possible", r.Groups, MaxGroups)
	case !r.FirstGroup.Is4() || !r.FirstGroup.IsMulticast() || !last.IsMulticast() || r.FirstGroup.IsLinkLocalMulticast():
		return fmt.Errorf("the groups %s to %s are not all multicast groups of IPv4 that devices forward: give a first group such as 225.1.1.1", r.FirstGroup, last)
	case r.Bytes < MessageHeader || r.Bytes > r.MTU-udpHeaders:
		return fmt.Errorf("messages of %d bytes were asked for: give %d to %d, which an MTU of %d bytes has room for", r.Bytes, MessageHeader, r.MTU-udpHeaders, r.MTU)
	case r.Rate <= 0 || r.Duration <= 0:
		return fmt.Errorf("%g messages/s for %s were asked for: give more than 0 of both", r.Rate, r.Duration)
	case len(r.ReceiveBuffers) != len(r.Subscribers):
		return fmt.Errorf("%d receive buffers were given for %d subscribers: give each one", len(r.ReceiveBuffers), len(r.Subscribers))
	}
	for _, p := range r.Publishers {
		for _, s := range r.Subscribers {
			if p == s {
				return fmt.Errorf("publishers and subscribers are on port %s: give two ports", p)
			}
		}
	}
	return nil
}

// Group returns the address of a group by its position from 0.
func Group(first netip.Addr, n int) netip.Addr {
	a := first.As4()
	v := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	v += uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// Differences describes how the hosts differ from a request. The kernel doubles buffers of sockets.
func (m Messages) Differences(r MessagesRequest) []string {
	texts := Settings{MTU: m.MTU, Offloads: m.Offloads}.differences("", r.MTU)
	for i, s := range m.Subscribers {
		if asked := r.ReceiveBuffers[i]; s.ReceiveBuffer < 2*asked {
			texts = append(texts, fmt.Sprintf("subscriber %s on port %s asked for a receive buffer of %d bytes, and has %d: lower receiveBuffer, or raise net.core.rmem_max", s.Address, s.Port, asked, s.ReceiveBuffer/2))
			break
		}
	}
	return texts
}

// PerSecond returns the rate at which messages were sent; 0 if it is not known.
func (m Messages) PerSecond() float64 { return pace(m.Sent, m.SendSpan) }

// Late explains that the publishers did not send at the rate that was asked for; empty if they did.
func (m Messages) Late(r MessagesRequest) string {
	if had := m.PerSecond(); had > 0 && had < r.Rate*minimumPace || float64(m.Sent) < r.Rate*r.Duration.Seconds()*minimumPace-1 {
		return fmt.Sprintf("the publishers sent %.0f messages/s, and %.0f were asked for", had, r.Rate)
	}
	return ""
}

// Lost returns the number of messages that did not arrive, of all subscribers.
func (m Messages) Lost() (n int64) {
	for _, s := range m.Subscribers {
		n += s.Lost
	}
	return n
}

// DeviceLost returns the number of lost messages that the tester cannot have dropped: more are missing at a subscriber than its
// socket, its interfaces, the processors and the ports of publishers have dropped.
func (m Messages) DeviceLost() (n int64) {
	for _, s := range m.Subscribers {
		n += max(0, s.Lost-s.SocketDrops-s.InterfaceDrops-m.PublisherDrops-int64(m.Limits.SoftnetDrops))
	}
	return n
}

// TesterLoss names what the tester dropped; empty if it dropped nothing.
func (m Messages) TesterLoss() string {
	var texts []string
	for _, s := range m.Subscribers {
		if s.SocketDrops > 0 {
			texts = append(texts, fmt.Sprintf("the socket of subscriber %s on port %s dropped %d datagrams since its receive buffer of %d bytes was full", s.Address, s.Port, s.SocketDrops, s.ReceiveBuffer))
		}
		if s.InterfaceDrops > 0 {
			texts = append(texts, fmt.Sprintf("the interfaces of subscriber %s on port %s dropped %d packets", s.Address, s.Port, s.InterfaceDrops))
		}
	}
	if m.PublisherDrops > 0 {
		texts = append(texts, fmt.Sprintf("the ports of publishers dropped %d packets", m.PublisherDrops))
	}
	if m.Limits.SoftnetDrops > 0 {
		texts = append(texts, m.Limits.Doubt())
	}
	return strings.Join(texts, "; ")
}

// MaxLag is the longest delay of a publisher for which its messages count as evenly sent.
const MaxLag = 10 * time.Millisecond

// Uneven explains that messages were sent in a burst after a delay of the publishers; empty if they were not.
func (m Messages) Uneven() string {
	if m.LongestLag <= MaxLag {
		return ""
	}
	return fmt.Sprintf("a publisher was late by %s, and sent the messages of that time at once", m.LongestLag.Round(time.Millisecond))
}

package frame

import (
	"bytes"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// CNP describes the congestion notification packets by which receivers answer frames with the mark
// CE (InfiniBand Architecture Specification volume 1, annex A17.9.3). The zero value is none.
type CNP struct {
	// Answers reports whether marked frames are answered.
	Answers bool
	// Interval is the shortest time between two answers to a stream by a port.
	Interval time.Duration
	// TrafficClass of the answers.
	TrafficClass uint8
	// QueuePair is the queue pair of the sender, of 24 bits, to which the answers go.
	QueuePair uint32
}

const (
	// defaultCNPInterval is the shortest time between two CNPs of one queue pair in DCQCN.
	defaultCNPInterval = 50 * time.Microsecond
	// defaultCNPClass is the traffic class of CNPs of network cards: code point 48 and ECT(0).
	defaultCNPClass = 48<<2 | ect0
	ect0            = 2
	// cnpReserved is the number of zeros behind the Base Transport Header of a CNP.
	cnpReserved = 16
)

// cnpOf returns the answers that a profile asks for.
func cnpOf(c *v1alpha1.RoCEv2CNP) CNP {
	if c == nil {
		return CNP{}
	}
	a := CNP{Answers: true, Interval: defaultCNPInterval, TrafficClass: defaultCNPClass, QueuePair: defaultQP}
	if c.IntervalMicroseconds != nil {
		a.Interval = time.Duration(*c.IntervalMicroseconds) * time.Microsecond
	}
	if c.DSCP != nil {
		a.TrafficClass = uint8(*c.DSCP)<<2 | ect0
	}
	if c.QueuePair != nil {
		a.QueuePair = uint32(*c.QueuePair)
	}
	return a
}

// CNPRegister returns by what the register of the ICRC of a CNP differs from a register that begins
// with zero at the network layer, over IPv4 or IPv6.
func CNPRegister(ipv6 bool) uint32 {
	length := ipv4Bytes + udpBytes + bthBytes + cnpReserved
	if ipv6 {
		length += ipv6Bytes - ipv4Bytes
	}
	local := CRCRegister(^uint32(0), bytes.Repeat([]byte{0xff}, 8))
	return CRCRegister(local, make([]byte, length))
}

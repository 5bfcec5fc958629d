package xdp

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// isAnswered reports whether marked frames of a stream are answered.
func isAnswered(s traffic.Stream) bool { return s.Headers.RoCE.CNP.Answers }

// notifyOf returns the answers to marked frames of RoCEv2 in the terms of the receive program.
func notifyOf(r frame.RoCE) kernel.PortRxNotify {
	c := r.CNP
	return kernel.PortRxNotify{
		Interval: uint64(c.Interval), QueuePair: bits.ReverseBytes32(c.QueuePair), PartitionKey: bits.ReverseBytes16(r.PartitionKey),
		TrafficClass: c.TrafficClass,
	}
}

// notify lets the receive program answer the frames of the streams that ask for it, and clears the
// counts of answers.
func (r *receiver) notify() {
	for i, s := range r.streams {
		r.attached.programs.Notify[i], r.attached.programs.Expected[i].Answers = notifyOf(s.Headers.RoCE), 0
		if isAnswered(s) {
			r.attached.programs.Expected[i].Answers = 1
		}
	}
}

// notified returns the number of answers to the frames of a flow.
func (r *receiver) notified(i int) uint64 {
	return atomic.LoadUint64(&r.attached.programs.Notify[i].Sent)
}

// checkNotify refuses streams whose frames the port shall answer and cannot. The driver sends
// answers as it sends XDP frames; by generic XDP the kernel does.
func (p *port) checkNotify() error {
	if !slices.ContainsFunc(p.receive.streams, isAnswered) || p.receive.attached.generic != "" {
		return nil
	}
	takes, err := takesFrames(p.index)
	if err != nil || takes {
		return err
	}
	return fmt.Errorf("port %s (%s) cannot answer marked frames by congestion notification packets, because %s: remove cnp from rocev2, or change the port", p.Name, p.Interface, p.send.refused())
}

// answeredAt returns the number of congestion notification packets that a port sent.
func answeredAt(m *traffic.Measurement, port string) (sent uint64) {
	for key, c := range m.Rx {
		if key.Port == port {
			sent += c.Notified
		}
	}
	return sent
}

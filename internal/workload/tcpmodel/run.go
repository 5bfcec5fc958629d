package tcpmodel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// simulation is the state of a run.
type simulation struct {
	p         Params
	random    *rand.Rand
	events    schedule
	now       int64 // ns
	network   *network
	senders   []sender
	receivers []receiver

	receiveWindow int64 // segments
	minRTO        int64
	dctcp, ecn    bool

	started         int64 // begin of the iteration
	first, last     int64 // first requests that reached servers
	incomplete      int   // connections without their whole block
	bytes           int64
	retransmissions int
	timeouts        int
	current         Iteration // counters at the begin of the iteration
	result          Result
}

// Run simulates incast. The same parameters return the same result.
func Run(p Params) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}
	s := newSimulation(p)
	s.events.add(event{kind: iterationStarts})
	if p.Stateless.PerSecond > 0 {
		s.events.add(event{kind: statelessArrives})
	}
	for {
		e, ok := s.events.next()
		if !ok {
			break
		}
		s.now = e.at
		s.handle(e)
		if s.result.Stateless.Sent > maxStateless {
			return Result{}, fmt.Errorf("%d iterations take more than %s of simulated time, in which %d stateless frames arrive: ask for fewer iterations, a lower load or larger frames", p.Iterations, time.Duration(s.now).Round(time.Millisecond), maxStateless)
		}
	}
	// Drops after the last byte, by repetitions that were not needed, belong to the last iteration.
	last := &s.result.Iterations[len(s.result.Iterations)-1]
	last.DroppedPackets += s.network.dropped - s.current.DroppedPackets
	last.Retransmissions += s.retransmissions - s.current.Retransmissions
	last.Timeouts += s.timeouts - s.current.Timeouts
	for i := range s.senders {
		s.result.Connections = append(s.result.Connections, s.senders[i].counters)
	}
	s.result.MaxQueueBytes = s.network.maxQueue
	s.result.summarize()
	return s.result, nil
}

func newSimulation(p Params) *simulation {
	s := &simulation{
		p: p, random: rand.New(rand.NewPCG(p.Seed, uint64(p.Servers))), network: newNetwork(p),
		senders: make([]sender, p.Servers), receivers: make([]receiver, p.Servers),
		receiveWindow: int64(p.TCP.ReceiveWindowBytes / p.segmentBytes()), minRTO: int64(p.TCP.MinRTO), dctcp: p.TCP.CongestionControl == DCTCP,
	}
	s.ecn = s.dctcp || p.TCP.ECN
	mss := int64(p.segmentBytes())
	for i := range s.senders {
		c := &s.senders[i]
		block := int64(p.block(i))
		c.segments = (block + mss - 1) / mss
		c.lastBytes = int(block - (c.segments-1)*mss)
		entries := 1 << bits.Len64(uint64(min(s.receiveWindow, c.segments)))
		c.board = make([]segmentState, entries)
		c.forget(p.TCP, 2*2*int64(p.Propagation)+int64(p.Hosts.Delay))
		for j := range c.top {
			c.top[j] = -1
		}
		s.receivers[i] = receiver{ahead: make([]bool, entries), quick: quickAcks}
	}
	return s
}

func (s *simulation) handle(e event) {
	switch e.kind {
	case iterationStarts:
		s.startIteration()
	case requestArrives:
		s.request(e.flow)
	case frameArrives:
		f := frame{segment: e.segment, flow: e.flow, bytes: s.bytesOf(e.flow, e.segment) + tcpipBytes + ethernetBytes}
		if s.network.arrive(f, s.ecn) && !s.network.busy {
			s.forward()
		}
	case portFree:
		if s.network.sending.flow != stateless {
			s.receive(s.network.sending, s.now+int64(s.p.Propagation))
		}
		s.forward()
	case statelessArrives:
		s.sendStateless(e.segment)
	case ackArrives:
		s.acknowledged(e.flow, e)
	case senderTimer:
		s.expireSender(e.flow)
	case receiverTimer:
		s.expireReceiver(e.flow)
	}
}

// forward sends the next frame to the client.
func (s *simulation) forward() {
	if s.network.begin() {
		if f := &s.network.sending; f.flow == stateless {
			s.result.Stateless.count(s.now - f.arrived)
		}
		s.events.add(event{at: s.now + linkTime(s.network.sending.bytes, s.p.LinkMbps), kind: portFree})
	}
}

// sendStateless lets the frame of a number arrive at the switch, and plans the next one until the last iteration has ended.
func (s *simulation) sendStateless(number int64) {
	if len(s.result.Iterations) == s.p.Iterations {
		return
	}
	c := &s.result.Stateless
	c.Sent++
	if !s.network.arrive(frame{flow: stateless, bytes: s.p.Stateless.FrameBytes, arrived: s.now}, false) {
		c.Dropped++
	} else if !s.network.busy {
		s.forward()
	}
	second := int64(time.Second)
	rate := s.p.Stateless.PerSecond
	number++
	s.events.add(event{at: number/rate*second + number%rate*second/rate, kind: statelessArrives, segment: number})
}

// startIteration sends a request to each server.
func (s *simulation) startIteration() {
	s.started, s.incomplete = s.now, len(s.senders)
	s.first, s.last = math.MaxInt64, 0
	h := s.p.Hosts
	for i := range s.receivers {
		s.receivers[i].limit += s.senders[i].segments
		at := s.now + int64(i)*int64(h.RequestSpacing) + 2*int64(s.p.Propagation) + s.hostDelay() + int64(h.ResponseDelay) + s.upTo(h.ResponseJitter)
		if !s.p.TCP.KeepOpen {
			at += 2*2*int64(s.p.Propagation) + int64(h.Delay)
		}
		s.first, s.last = min(s.first, at), max(s.last, at)
		s.events.add(event{at: at, kind: requestArrives, flow: int32(i)})
	}
}

// complete ends the iteration with the last connection.
func (s *simulation) complete(at int64) {
	if s.incomplete--; s.incomplete > 0 {
		return
	}
	before := s.current
	s.current = Iteration{Bytes: s.bytes, DroppedPackets: s.network.dropped, MarkedPackets: s.network.marks, Retransmissions: s.retransmissions, Timeouts: s.timeouts}
	s.result.Iterations = append(s.result.Iterations, Iteration{
		Completion:      time.Duration(at - s.started),
		Skew:            time.Duration(s.last - s.first),
		Bytes:           s.current.Bytes - before.Bytes,
		DroppedPackets:  s.current.DroppedPackets - before.DroppedPackets,
		MarkedPackets:   s.current.MarkedPackets - before.MarkedPackets,
		Retransmissions: s.current.Retransmissions - before.Retransmissions,
		Timeouts:        s.current.Timeouts - before.Timeouts,
	})
	if len(s.result.Iterations) < s.p.Iterations {
		s.events.add(event{at: at + int64(s.p.Hosts.IterationGap), kind: iterationStarts})
	}
}

// bytesOf returns the data of a segment. The last one of a block may be shorter.
func (s *simulation) bytesOf(flow int32, segment int64) int {
	if c := &s.senders[flow]; segment%c.segments == c.segments-1 {
		return c.lastBytes
	}
	return s.p.segmentBytes()
}

// serverTime returns the time for which a segment uses the server's link, in ns.
func (s *simulation) serverTime(data int) int64 {
	return linkTime(data+tcpipBytes+ethernetBytes, s.p.ServerLinkMbps)
}

func linkTime(frame int, mbps float64) int64 {
	return int64(float64((frame+preambleBytes)*8)*1000/mbps + 0.5)
}

func (s *simulation) hostDelay() int64 { return int64(s.p.Hosts.Delay) + s.upTo(s.p.Hosts.Jitter) }

func (s *simulation) upTo(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return s.random.Int64N(int64(d))
}

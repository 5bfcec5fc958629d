package tcpmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// CongestionControl is the algorithm that sets the window of a sender.
type CongestionControl string

// The algorithms that the model has.
const (
	Reno  CongestionControl = "reno"
	Cubic CongestionControl = "cubic"
	DCTCP CongestionControl = "dctcp"
)

// Buffering is the place in the switch where frames wait for the client's port.
type Buffering string

const (
	// OutputBuffer queues all frames in one queue at the client's port.
	OutputBuffer Buffering = "output"
	// InputBuffer queues the frames of each server at the port where they came in. The client's port takes frames from
	// these queues in turn.
	InputBuffer Buffering = "input"
)

// Switch describes the buffer of the switch.
type Switch struct {
	Buffering Buffering
	// BufferBytes is the buffer that all queues share; 0 means that only PortBytes limits them.
	BufferBytes int
	// Alpha is the factor of a dynamic threshold: a queue may use up to Alpha times the free part of BufferBytes.
	// 0 means no dynamic threshold.
	Alpha float64
	// PortBytes is the static share of one port; 0 means that a port may use all of BufferBytes.
	PortBytes int
	// ECNThresholdBytes is the length of a queue above which arriving frames are marked; 0 means that none are.
	ECNThresholdBytes int
}

// Hosts describes the delays of client and servers.
type Hosts struct {
	// Delay is the time for which the hosts of one round trip process a packet, excluding links and queues.
	Delay time.Duration
	// Jitter is added to Delay, uniformly between 0 and Jitter, for each acknowledgment and request. It does not
	// reorder packets of one connection.
	Jitter time.Duration
	// ResponseDelay is the stall of the server's application between a request and its first segment.
	ResponseDelay time.Duration
	// ResponseJitter is added to ResponseDelay, uniformly between 0 and ResponseJitter.
	ResponseJitter time.Duration
	// RequestSpacing is the time between the requests of the client to two servers.
	RequestSpacing time.Duration
	// IterationGap is the time between the last byte of an iteration and the first request of the next one.
	IterationGap time.Duration
}

// TCP describes the connections.
type TCP struct {
	CongestionControl CongestionControl
	// InitialWindow is the window of a new connection in segments.
	InitialWindow int
	// ReceiveWindowBytes limits the data of a connection in flight.
	ReceiveWindowBytes int
	// SSThresholdSegments is the slow start threshold of a new connection; 0 means that slow start ends by a loss.
	SSThresholdSegments int
	// GrowthLimit is the number of segments by which one acknowledgment may grow the window in slow start:
	// 1 in RFC 5681, 2 in RFC 3465.
	GrowthLimit int
	// MinRTO and MaxRTO limit the retransmission timeout.
	MinRTO, MaxRTO time.Duration
	// DelayedAck is the longest time for which the client keeps an acknowledgment back. 0 acknowledges each segment.
	DelayedAck time.Duration
	// SACK enables selective acknowledgments (RFC 6675); without it NewReno (RFC 6582) repairs losses.
	SACK bool
	// LostRetransmit detects the loss of a retransmission during fast recovery, as Linux did before RACK: a segment has
	// arrived that was new after the retransmission. Without it a timeout repairs such losses. It needs SACK.
	LostRetransmit bool
	// RACK enables RFC 8985, with its tail loss probe. It needs SACK.
	RACK bool
	// ECN makes Reno and CUBIC react to marks (RFC 3168). DCTCP always does.
	ECN bool
	// KeepOpen keeps connections and their windows between iterations. Without it each iteration begins with a handshake.
	KeepOpen bool
	// IdleRestart halves the window for each timeout that a connection was idle, down to the initial window.
	IdleRestart bool
}

// Params describes one simulation.
type Params struct {
	Seed       uint64
	Servers    int
	Iterations int
	// BlockBytes is the block that each server sends in an iteration, or that all servers share if Striped is set.
	BlockBytes int
	Striped    bool
	// LinkMbps is the rate of the client's link, ServerLinkMbps the rate of each server's link, in Mbit/s.
	LinkMbps, ServerLinkMbps float64
	// Propagation is the delay of one link in one direction.
	Propagation time.Duration
	// MTUBytes is the longest IP packet.
	MTUBytes int
	Switch   Switch
	Hosts    Hosts
	TCP      TCP
	// Stateless are frames of a source without congestion control.
	Stateless Stateless
}

// Stateless describes frames that come to the switch at a constant rate, from the begin of the first iteration to the end of
// the last one, and leave it by the client's port. They have a link of their own, and with InputBuffer a queue of their own.
type Stateless struct {
	// FrameBytes is the size of a frame with FCS.
	FrameBytes int
	// PerSecond is the number of frames in a second; 0 for none.
	PerSecond int64
}

// maxStateless bounds the stateless frames of a simulation.
const maxStateless = 50_000_000

const (
	// tcpipBytes are the headers of IPv4 and TCP with the timestamp option.
	tcpipBytes = 20 + 20 + 12
	// ethernetBytes are the bytes of a frame around its IP packet that a buffer holds.
	ethernetBytes = 14 + 4
	// fcsBytes are the bytes of ethernetBytes that the counters of an interface leave out.
	fcsBytes = 4
	// preambleBytes are preamble, delimiter and gap, which only the link sees.
	preambleBytes = 20
)

// frameBytes is the longest frame.
func (p Params) frameBytes() int { return p.MTUBytes + ethernetBytes }

// segmentBytes is the data of a full segment.
func (p Params) segmentBytes() int { return p.MTUBytes - tcpipBytes }

// block returns the bytes that a server sends in an iteration. The first servers send a byte more if striping needs it.
func (p Params) block(server int) int {
	if !p.Striped {
		return p.BlockBytes
	}
	block := p.BlockBytes / p.Servers
	if server < p.BlockBytes%p.Servers {
		block++
	}
	return block
}

// largestStateless returns the largest frame that the buffer holds.
func (p Params) largestStateless() int {
	most := 65_553
	for _, limit := range []int{p.Switch.BufferBytes, p.Switch.PortBytes} {
		if limit > 0 {
			most = min(most, limit)
		}
	}
	return most
}

func (p Params) leastBlock() int {
	if p.Striped {
		return p.Servers
	}
	return 1
}

// Validate returns the first field out of its range.
func (p Params) Validate() error {
	integers := []struct {
		field               string
		value, least, limit int
	}{
		{"servers", p.Servers, 1, 1024},
		{"iterations", p.Iterations, 1, 100_000},
		{"blockBytes", p.BlockBytes, p.leastBlock(), 1 << 40},
		{"mtuBytes", p.MTUBytes, 576, 65_535},
		{"switch.bufferBytes", p.Switch.BufferBytes, 0, 1 << 36},
		{"switch.portBytes", p.Switch.PortBytes, 0, 1 << 36},
		{"switch.ecnThresholdBytes", p.Switch.ECNThresholdBytes, 0, 1 << 36},
		{"stateless.frameBytes", p.Stateless.FrameBytes, 0, p.largestStateless()},
		{"stateless.perSecond", int(p.Stateless.PerSecond), 0, 1_000_000_000},
		{"tcp.initialWindow", p.TCP.InitialWindow, 1, 1000},
		{"tcp.ssThresholdSegments", p.TCP.SSThresholdSegments, 0, 1 << 20},
		{"tcp.growthLimit", p.TCP.GrowthLimit, 1, 2},
		{"tcp.receiveWindowBytes", p.TCP.ReceiveWindowBytes, p.segmentBytes(), 1 << 26},
	}
	for _, f := range integers {
		if f.value < f.least || f.value > f.limit {
			return fmt.Errorf("%s %d: use %d to %d", f.field, f.value, f.least, f.limit)
		}
	}
	numbers := []struct {
		field               string
		value, least, limit float64
	}{
		{"linkMbps", p.LinkMbps, 1, 1_000_000},
		{"serverLinkMbps", p.ServerLinkMbps, 1, 1_000_000},
		{"switch.alpha", p.Switch.Alpha, 0, 1024},
	}
	for _, f := range numbers {
		if !(f.value >= f.least && f.value <= f.limit) {
			return fmt.Errorf("%s %g: use %g to %g", f.field, f.value, f.least, f.limit)
		}
	}
	durations := []struct {
		field               string
		value, least, limit time.Duration
	}{
		{"propagation", p.Propagation, 0, time.Second},
		{"hosts.delay", p.Hosts.Delay, 0, time.Second},
		{"hosts.jitter", p.Hosts.Jitter, 0, time.Second},
		{"hosts.responseDelay", p.Hosts.ResponseDelay, 0, time.Second},
		{"hosts.responseJitter", p.Hosts.ResponseJitter, 0, time.Second},
		{"hosts.requestSpacing", p.Hosts.RequestSpacing, 0, time.Second},
		{"hosts.iterationGap", p.Hosts.IterationGap, 0, time.Hour},
		{"tcp.minRTO", p.TCP.MinRTO, 10 * time.Microsecond, time.Minute},
		{"tcp.maxRTO", p.TCP.MaxRTO, p.TCP.MinRTO, time.Hour},
		{"tcp.delayedAck", p.TCP.DelayedAck, 0, time.Second},
	}
	for _, f := range durations {
		if f.value < f.least || f.value > f.limit {
			return fmt.Errorf("%s %v: use %v to %v", f.field, f.value, f.least, f.limit)
		}
	}
	if err := oneOf("switch.buffering", p.Switch.Buffering, OutputBuffer, InputBuffer); err != nil {
		return err
	}
	if err := oneOf("tcp.congestionControl", p.TCP.CongestionControl, Reno, Cubic, DCTCP); err != nil {
		return err
	}
	if p.TCP.RACK && !p.TCP.SACK {
		return fmt.Errorf("tcp.rack true: it needs tcp.sack true")
	}
	if p.TCP.LostRetransmit && !p.TCP.SACK {
		return fmt.Errorf("tcp.lostRetransmit true: it needs tcp.sack true")
	}
	return p.validateBuffer()
}

func (p Params) validateBuffer() error {
	s, frame := p.Switch, p.frameBytes()
	switch {
	case p.Stateless.PerSecond > 0 && p.Stateless.FrameBytes < 64:
		return fmt.Errorf("stateless.frameBytes %d: use 64 or more, or stateless.perSecond 0", p.Stateless.FrameBytes)
	case s.BufferBytes == 0 && s.PortBytes == 0:
		return fmt.Errorf("switch.bufferBytes 0: set it or switch.portBytes")
	case s.BufferBytes > 0 && s.BufferBytes < frame:
		return fmt.Errorf("switch.bufferBytes %d: use at least one frame of %d bytes", s.BufferBytes, frame)
	case s.PortBytes > 0 && s.PortBytes < frame:
		return fmt.Errorf("switch.portBytes %d: use at least one frame of %d bytes", s.PortBytes, frame)
	case s.Alpha > 0 && s.Alpha*float64(s.BufferBytes) < float64(frame):
		return fmt.Errorf("switch.alpha %g: the threshold of an empty buffer is below one frame of %d bytes; raise it or switch.bufferBytes", s.Alpha, frame)
	}
	return nil
}

func oneOf[T ~string](field string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%s %q: use one of %s", field, value, strings.Join(names, ", "))
}

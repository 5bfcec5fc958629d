package plan

import (
	"fmt"
	"math/big"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/search"
	"nodrop.dev/nodrop/internal/traffic"
)

// DefaultSettle is waited before counters are read when the benchmark does not
// say (RFC 2544 section 23).
const DefaultSettle = 2 * time.Second

// Plan is everything that a run does.
type Plan struct {
	// Engine that sends and receives.
	Engine v1alpha1.EngineKind
	// Ports of the bed, in its order.
	Ports []Port
	// Streams without their frame size; Traffic makes them complete.
	Streams []Stream
	// Steps are run in their order; each makes at most one result row.
	Steps []Step
	// Settle is waited after sending before counters are read, Rest between trials.
	Settle, Rest time.Duration
}

// Stream is the traffic from one port to another, or to many, of any frame size.
type Stream struct {
	// ID of the stream, counting from 0.
	ID uint16
	// Tx is the index in Plan.Ports of the port that sends.
	Tx int
	// Rx are the indexes of the ports that receive every frame: one for unicast.
	Rx []int
	// Delay is how long after the others the stream begins.
	Delay time.Duration
	// Part is the number of streams that the sending port divides its load among.
	Part int64
	// Headers without hardware addresses.
	Headers traffic.Headers
	// Gateway is the device's address on the sending port; invalid when sender and
	// receiver are on one layer-2 network.
	Gateway netip.Addr
}

// NextHop is the address whose hardware address the frames are sent to: the
// gateway, or the receiver itself.
func (s Stream) NextHop() netip.Addr {
	if s.Gateway.IsValid() {
		return s.Gateway
	}
	return s.Headers.DstIP
}

// Step is one row of the result: a test at one frame size, and for many methods
// at one load.
type Step struct {
	// Test is the test as the benchmark gives it.
	Test v1alpha1.Test
	// Variant of the device; empty when the benchmark names none.
	Variant v1alpha1.VariantName
	// Method of the test.
	Method v1alpha1.Method
	// FrameSize in bytes, with FCS.
	FrameSize int
	// Load that the step measures; empty when the method finds the load itself.
	Load v1alpha1.Load
	// LoadPPM is Load in parts per million of line rate, 0 for the load throughput.
	LoadPPM int64
	// Source is the name of the throughput test that the load throughput means; of
	// other methods than latency, the nearest one before, empty without.
	Source string
	// LossRatioPPM is the loss ratio of a partial drop rate, 0 for all else.
	LossRatioPPM int64
	// Search bounds a throughput test.
	Search search.Config
	// Goals are the search goals of MLRsearch: that of the step's own loss ratio,
	// and for the throughput those of all loss ratios of the test.
	Goals []search.Goal
	// TrialDuration is the length of the trial that makes the row.
	TrialDuration time.Duration
	// Trials is about how many trials the step takes, and Duration how long they
	// take, with settling and rest.
	Trials   int
	Duration time.Duration
}

// Name names the step for a person: "throughput 64 B", "latency 64 B at 50%".
func (s Step) Name() string {
	if s.LossRatioPPM > 0 {
		return fmt.Sprintf("%s %d B with up to %s loss", s.TestName(), s.FrameSize, v1alpha1.FormatPPM(s.LossRatioPPM))
	}
	if s.Load == "" {
		return fmt.Sprintf("%s %d B", s.TestName(), s.FrameSize)
	}
	return fmt.Sprintf("%s %d B at %s", s.TestName(), s.FrameSize, s.Load)
}

// Makes reports whether a row is the one that the step makes.
func (s Step) Makes(row v1alpha1.ResultRow) bool {
	return row.Test == s.Test.Name && row.Variant == s.Variant && int(row.FrameSize) == s.FrameSize && row.Load == s.Load && row.LossRatioPPM == s.LossRatioPPM
}

// Trials is about how many trials the whole plan takes.
func (p Plan) Trials() int {
	n := 0
	for _, s := range p.Steps {
		n += s.Trials
	}
	return n
}

// Duration is about how long the whole plan takes.
func (p Plan) Duration() time.Duration {
	var d time.Duration
	for _, s := range p.Steps {
		d += s.Duration
	}
	return d
}

// FramesPerSecond is the exact rate in frames/s of all sending ports together at
// ppm parts per million of line rate.
func (p Plan) FramesPerSecond(size int, ppm int64) *big.Rat {
	total := new(big.Rat)
	for _, s := range p.Streams {
		total.Add(total, p.rate(s, size, ppm))
	}
	return total
}

func (p Plan) rate(s Stream, size int, ppm int64) *big.Rat {
	r := frame.Rate(p.Ports[s.Tx].BitsPerSecond, size, ppm)
	if s.Part > 1 {
		r.Quo(r, big.NewRat(s.Part, 1))
	}
	return r
}

// Loads gives every stream its share of ppm parts per million of line rate.
func (p Plan) Loads(size int, ppm int64) (map[uint16]traffic.Load, error) {
	type key struct{ speed, part int64 }
	known := map[key]traffic.Rate{}
	loads := make(map[uint16]traffic.Load, len(p.Streams))
	for _, s := range p.Streams {
		k := key{p.Ports[s.Tx].BitsPerSecond, s.Part}
		rate, ok := known[k]
		if !ok {
			var err error
			if rate, err = frame.Schedule(p.rate(s, size, ppm)); err != nil {
				return nil, fmt.Errorf("computing the load of %s: %w", p.Ports[s.Tx].Name, err)
			}
			known[k] = rate
		}
		loads[s.ID] = traffic.Load{Rate: rate, Delay: s.Delay}
	}
	return loads, nil
}

// Traffic is the streams at one frame size. Source addresses that a stream does
// not have come from macs, by port name; the destination is the one of nextHop,
// by stream ID.
func (p Plan) Traffic(size int, macs map[string]traffic.MAC, nextHop map[uint16]traffic.MAC) []traffic.Stream {
	streams := make([]traffic.Stream, len(p.Streams))
	for i, s := range p.Streams {
		h := s.Headers
		h.DstMAC = nextHop[s.ID]
		if h.SrcMAC == (traffic.MAC{}) {
			h.SrcMAC = macs[p.Ports[s.Tx].Name]
		}
		streams[i] = traffic.Stream{ID: s.ID, TxPort: p.Ports[s.Tx].Name, RxPorts: p.receivers(s), FrameSize: size, Headers: h}
	}
	return streams
}

// receivers are the names of the ports that receive a stream.
func (p Plan) receivers(s Stream) []string {
	names := make([]string, len(s.Rx))
	for i, rx := range s.Rx {
		names[i] = p.Ports[rx].Name
	}
	return names
}

package traffic

import (
	"math"
	"math/bits"
	"time"
)

// ClassAt is the streams of a class at a port.
type ClassAt struct {
	// Port by its name in the bed, and Class as the streams have it.
	Port, Class string
}

// PortSamples contains what the ports have counted in the current trial up to a moment. The
// ports are read one after the other.
type PortSamples struct {
	// Tx has an entry for each class that a port sends.
	Tx map[ClassAt]TxSample
	// Rx has an entry for each class that a port should receive.
	Rx map[ClassAt]RxSample
	// CaughtUp counts the frames of each sending port that left late, as in Pacing, by the
	// name of the port; nil when the engine does not report them while a trial runs.
	CaughtUp map[string]uint64
}

// TxSample counts the frames of a class that a port has sent.
type TxSample struct {
	// Sent frames, and their Bytes with FCS.
	Sent, Bytes uint64
}

// RxSample counts the frames of a class that a port has received.
type RxSample struct {
	// Received frames without copies, and their Bytes with FCS as they were sent.
	Received, Bytes uint64
	// Duplicate and Reordered frames, as in RxCount; 0 when the engine has no Ordering.
	Duplicate, Reordered uint64
	// Lost frames: missing below the highest sequence number that was received. One that
	// comes later is not lost any more, and what was sent after that number is not known
	// yet. 0 when the engine has no Gaps.
	Lost uint64
	// Latency of the received frames; empty when it is not measured.
	Latency Latency
}

// NewPortSamples has no entries.
func NewPortSamples() *PortSamples {
	return &PortSamples{Tx: map[ClassAt]TxSample{}, Rx: map[ClassAt]RxSample{}}
}

// Sent adds frames that a stream has sent.
func (p *PortSamples) Sent(s *Stream, frames uint64) {
	at := ClassAt{s.TxPort, s.Class}
	c := p.Tx[at]
	c.Sent += frames
	c.Bytes += frames * uint64(s.FrameSize)
	p.Tx[at] = c
}

// Received adds what a port has received of a stream.
func (p *PortSamples) Received(s *Stream, port string, count RxCount) {
	at := ClassAt{port, s.Class}
	c := p.Rx[at]
	c.Received += count.Received
	c.Bytes += count.Received * uint64(s.FrameSize)
	c.Duplicate += count.Duplicate
	c.Reordered += count.Reordered
	c.Lost += grown(count.Next, count.Received)
	c.Latency.Add(count.Latency)
	p.Rx[at] = c
}

// Add adds the entries of other ports.
func (p *PortSamples) Add(other *PortSamples) {
	if other == nil {
		return
	}
	for at, c := range other.Tx {
		p.Tx[at] = c
	}
	for at, c := range other.Rx {
		p.Rx[at] = c
	}
	for port, frames := range other.CaughtUp {
		Put(&p.CaughtUp, port, frames)
	}
}

// Since returns what was sent since an earlier sample.
func (t TxSample) Since(before TxSample) TxSample {
	return TxSample{Sent: grown(t.Sent, before.Sent), Bytes: grown(t.Bytes, before.Bytes)}
}

// Since returns what was received since an earlier sample. A frame that was missing then and
// arrived since reduces the number of lost frames.
func (r RxSample) Since(before RxSample) RxSample {
	return RxSample{
		Received: grown(r.Received, before.Received), Bytes: grown(r.Bytes, before.Bytes),
		Duplicate: grown(r.Duplicate, before.Duplicate), Reordered: grown(r.Reordered, before.Reordered),
		Lost: grown(r.Lost, before.Lost), Latency: r.Latency.Since(before.Latency),
	}
}

// grown returns the increase of a count, or 0 if it has not increased.
func grown(now, before uint64) uint64 { return now - min(now, before) }

// Intended returns the number of frames that the load asks for in the first d of a trial; 0
// for a load that sends as fast as the engine can.
func (l Load) Intended(d time.Duration) uint64 {
	if l.Max || l.Rate.PerNanos <= 0 {
		return 0
	}
	n, by := uint64(math.MaxUint64), uint64(l.Rate.PerNanos)
	if hi, lo := bits.Mul64(uint64(max(0, d-l.Delay)), uint64(l.Rate.Frames)); hi < by {
		n, _ = bits.Div64(hi, lo, by)
	}
	if l.Frames > 0 {
		n = min(n, l.Frames)
	}
	return n
}

package kernel

import (
	"fmt"
	"math"
	"unsafe"

	"nodrop.dev/nodrop/internal/traffic"
)

// Bytes that a port needs for a microflow: its record, and the time of its first frame.
const (
	MicroflowBytes = int(unsafe.Sizeof(PortRxMicroflow{}))
	FirstBytes     = 8
)

// Microflows lays out the records of the streams that a port receives, in their order.
type Microflows struct {
	// At has an entry per stream.
	At []PortTracked
	// Records and Firsts are the numbers of entries in the maps.
	Records, Firsts int
}

// LayOut lays out the records of streams. It fails if they are more than a port counts.
func LayOut(streams []traffic.Stream) (Microflows, error) {
	m := Microflows{At: make([]PortTracked, len(streams))}
	var all uint64
	for i, s := range streams {
		if s.Track == traffic.TrackNone {
			continue
		}
		n := s.Headers.Microflows()
		if all += min(n, math.MaxUint32); all > traffic.MaxMicroflows {
			return m, fmt.Errorf("the addresses and ports of stream %d make %s microflows, with which the port would count %s or more: the most is %s, which need %d MiB: choose smaller ranges, or sizes with common factors",
				s.ID, traffic.Grouped(n), traffic.Grouped(all), traffic.Grouped(uint64(traffic.MaxMicroflows)), traffic.MaxMicroflows*MicroflowBytes>>20)
		}
		m.At[i] = PortTracked{Microflows: uint32(n), First: uint32(m.Records)}
		m.Records += int(n)
		if s.Track == traffic.TrackTimes {
			m.At[i].Times = uint32(m.Firsts) + 1
			m.Firsts += int(n)
		}
	}
	return m, nil
}

// Bytes returns the memory that the records need.
func (m Microflows) Bytes() uint64 {
	return uint64(m.Records)*uint64(MicroflowBytes) + uint64(m.Firsts)*FirstBytes
}

// Forget clears the records of the programs, for a trial whose frames do not arrive yet. Frames of
// earlier trials must be stale by then.
func (m Microflows) Forget(p *Programs) {
	clear(p.Microflows[:m.Records])
	clear(p.Firsts[:m.Firsts])
}

// Part returns the records of the stream at an index of the layout, in the memory of the programs.
func (m Microflows) Part(p *Programs, stream int) traffic.MicroflowPart {
	at := m.At[stream]
	records := p.Microflows[at.First : at.First+at.Microflows]
	part := traffic.MicroflowPart{Records: unsafe.Slice((*traffic.MicroflowRecord)(unsafe.Pointer(unsafe.SliceData(records))), len(records))}
	if at.Times > 0 {
		part.FirstNs = p.Firsts[at.Times-1 : at.Times-1+at.Microflows]
		for i, r := range part.Records {
			if r.Last == 0 {
				part.FirstNs[i] = 0 // or it is of a frame of an earlier trial
			}
		}
	}
	return part
}

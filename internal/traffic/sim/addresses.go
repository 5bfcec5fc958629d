package sim

import (
	"math"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// agingTime is the time for which the device keeps an address that sends nothing, the default
// of IEEE 802.1D.
const agingTime = 300 * time.Second

// addressTable contains the ports on which the device has learned addresses. Ranges are kept
// whole: streams send their addresses in one order, so the learned ones are the first of the
// range. Two ranges with the same first address are one.
type addressTable map[traffic.MAC]learnt

// learnt is the first count addresses of a range.
type learnt struct {
	port  string
	count uint64
	// at is the time at which the device last received a frame from them.
	at time.Time
}

// age forgets what was not heard from.
func (t addressTable) age(now time.Time) {
	for first, l := range t {
		if now.Sub(l.at) >= agingTime {
			delete(t, first)
		}
	}
}

// held is the number of addresses in the table.
func (t addressTable) held() (n uint64) {
	for _, l := range t {
		n += l.count
	}
	return n
}

// learn puts the source addresses of the last trial into the table: as many as there
// is room for, and no more in its time than the device learns in that. It is called
// once the trial is over. When the device was reset since the trial began, it has
// forgotten the others, and has only heard what was sent after that.
func (e *Engine) learn() {
	if e.trial == nil {
		return
	}
	if e.table == nil {
		e.table = addressTable{}
	}
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}}
	e.send(&m, e.length)
	e.holdBack(&m, e.length)
	deaf := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}}
	if d := min(e.deafUntil-e.start.Sub(epoch), e.length); d > 0 {
		e.send(&deaf, d)
		e.holdBack(&deaf, d)
	}
	if e.forgets {
		clear(e.table)
		e.forgets = false
	}
	end := e.start.Add(e.length)
	e.table.age(end)
	room, budget := uint64(math.MaxUint64), uint64(math.MaxUint64)
	if size := e.behaviour.AddressTableSize; size != nil {
		room = uint64(*size) - min(uint64(*size), e.table.held())
	}
	if rate := e.behaviour.LearningRate; rate != nil {
		budget = mulDivUp(uint64(*rate), uint64(e.length), uint64(time.Second))
	}
	for i := range e.streams {
		s := &e.streams[i]
		heard := min(m.Tx[s.ID].Sent-min(deaf.Tx[s.ID].Sent, m.Tx[s.ID].Sent), uint64(max(s.Headers.SrcMACCount, 1)))
		if heard == 0 || s.Headers.SrcMAC == (traffic.MAC{}) {
			continue // No address is not one that could be learnt.
		}
		l := e.table[s.Headers.SrcMAC]
		if heard > l.count {
			n := min(heard-l.count, room, budget)
			l.count, room, budget = l.count+n, room-n, budget-n
		}
		if l.count > 0 {
			l.port, l.at = s.TxPort, end
			e.table[s.Headers.SrcMAC] = l
		}
	}
}

// forget makes the device forget all addresses, and hear none until a time since the
// epoch. A trial that is under way keeps the table that it began with.
func (e *Engine) forget(until time.Duration) {
	e.deafUntil = until
	if e.trial == nil {
		clear(e.table)
		return
	}
	e.forgets = true
}

// bridge limits what comes to ports on which addresses were not learned: frames to learned
// addresses go only to the port of these, all others are flooded.
func (e *Engine) bridge(m *traffic.Measurement, r reach) {
	for i := range e.streams {
		s := &e.streams[i]
		l, known := e.table[s.Headers.DstMAC]
		if !known || e.start.Sub(l.at) >= agingTime {
			continue
		}
		sent, count := m.Tx[s.ID].Sent, uint64(max(s.Headers.DstMACCount, 1))
		learnt := min(l.count, count)
		for _, port := range s.RxPorts {
			if port != l.port {
				r[traffic.RxKey{Stream: s.ID, Port: port}] = sent - (sent/count*learnt + min(sent%count, learnt))
			}
		}
	}
}

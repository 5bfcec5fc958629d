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

// addresses are the addresses that the device has learned, and what a reset made of them.
type addresses struct {
	table addressTable
	// forgets reports whether the device was reset since the trial began, and deafUntil when,
	// since the epoch, the last reset was over.
	forgets   bool
	deafUntil time.Duration
}

// learn puts the source addresses of the last trial into the table: as many as there
// is room for, and no more in its time than the device learns in that. It is called
// once the trial is over. When the device was reset since the trial began, it has
// forgotten the others, and has only heard what was sent after that.
func (fw *forwarding) learn() {
	r := fw.run
	if r.trial == nil {
		return
	}
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}}
	r.send(&m, r.length)
	fw.holdBack(&m, r.length)
	deaf := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}}
	if d := min(fw.dut.addresses.deafUntil-r.start.Sub(epoch), r.length); d > 0 {
		r.send(&deaf, d)
		fw.holdBack(&deaf, d)
	}
	budget := uint64(math.MaxUint64)
	if rate := fw.dut.behaviour.LearningRate; rate != nil {
		budget = mulDivUp(uint64(*rate), uint64(r.length), uint64(time.Second))
	}
	fw.dut.addresses.learn(r.streams, func(id uint16) uint64 {
		return m.Tx[id].Sent - min(deaf.Tx[id].Sent, m.Tx[id].Sent)
	}, r.start.Add(r.length), fw.dut.behaviour.AddressTableSize, budget)
}

// learn puts the source addresses of streams into the table at the end of a trial, in which the
// device heard that many frames of each: at most budget new ones, as far as the table has room.
func (a *addresses) learn(streams []traffic.Stream, frames func(id uint16) uint64, end time.Time, size *int32, budget uint64) {
	if a.table == nil {
		a.table = addressTable{}
	}
	if a.forgets {
		clear(a.table)
		a.forgets = false
	}
	a.table.age(end)
	room := uint64(math.MaxUint64)
	if size != nil {
		room = uint64(*size) - min(uint64(*size), a.table.held())
	}
	for i := range streams {
		s := &streams[i]
		heard := min(frames(s.ID), uint64(max(s.Headers.SrcMACCount, 1)))
		if heard == 0 || s.Headers.SrcMAC == (traffic.MAC{}) {
			continue // No address is not one that could be learnt.
		}
		l := a.table[s.Headers.SrcMAC]
		if heard > l.count {
			n := min(heard-l.count, room, budget)
			l.count, room, budget = l.count+n, room-n, budget-n
		}
		if l.count > 0 {
			l.port, l.at = s.TxPort, end
			a.table[s.Headers.SrcMAC] = l
		}
	}
}

// forget makes the device forget all addresses, and hear none until a time since the
// epoch. A trial that is under way keeps the table that it began with.
func (a *addresses) forget(until time.Duration, trial bool) {
	a.deafUntil = until
	if !trial {
		clear(a.table)
		return
	}
	a.forgets = true
}

// bridge limits what comes to ports on which addresses were not learned: frames to learned
// addresses go only to the port of these, all others are flooded.
func (a *addresses) bridge(streams []traffic.Stream, start time.Time, m *traffic.Measurement, r reach) {
	for i := range streams {
		s := &streams[i]
		l, known := a.table[s.Headers.DstMAC]
		if !known || start.Sub(l.at) >= agingTime {
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

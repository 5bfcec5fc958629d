package kernel

import (
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// HoleMost is the size of the largest hole: what the bulk queue of a device holds.
const HoleMost = 16

// Holes are the sequence numbers of each stream that were never sent. The programs of all
// ports of an engine share them: senders write them, and receivers read them.
type Holes struct {
	of *ebpf.Map
	// At is the map's memory, by stream ID.
	At     []PortHole
	memory []byte
}

// NewHoles makes the map of numbers that were never sent.
func NewHoles() (*Holes, error) {
	spec, err := LoadPort()
	if err != nil {
		return nil, fmt.Errorf("reading the BPF programs: %w", err)
	}
	m, err := ebpf.NewMap(spec.Maps["holes"])
	if err != nil {
		return nil, fmt.Errorf("making the map of numbers that were never sent: %w", err)
	}
	h := &Holes{of: m}
	if h.At, h.memory, err = mapValues[PortHole](m, int(m.MaxEntries())); err != nil {
		m.Close()
		return nil, err
	}
	return h, nil
}

// Close removes the map. The holes must not be used afterwards.
func (h *Holes) Close() error {
	if err := unix.Munmap(h.memory); err != nil {
		return fmt.Errorf("unmapping the numbers that were never sent: %w", err)
	}
	return h.of.Close()
}

// Forget clears the holes of streams.
func (h *Holes) Forget(streams []traffic.Stream) {
	for _, s := range streams {
		h.At[s.ID] = PortHole{}
	}
}

// Below returns how many numbers below next were never sent of a stream.
func (h *Holes) Below(stream uint16, next uint64) uint64 {
	from, to := atomic.LoadUint64(&h.At[stream].From), atomic.LoadUint64(&h.At[stream].To)
	if next <= from || to <= from {
		return 0
	}
	return min(next, to) - from
}

// Sent returns how many frames of the stream the device took or holds.
func (t *PortTxStream) Sent() uint64 {
	unsent := atomic.LoadUint64(&t.Unsent)
	return atomic.LoadUint64(&t.Seq) - unsent
}

package xdp

import (
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// holeMost is the size of the largest hole: what the bulk queue of a device holds.
const holeMost = 16

// holes are the sequence numbers of each stream that were never sent. The programs of all
// ports of an engine share them: senders write them, and receivers read them.
type holes struct {
	of *ebpf.Map
	// at is the map's memory, by stream ID.
	at     []portHole
	memory []byte
}

func newHoles() (*holes, error) {
	spec, err := loadPort()
	if err != nil {
		return nil, fmt.Errorf("reading the BPF programs: %w", err)
	}
	m, err := ebpf.NewMap(spec.Maps["holes"])
	if err != nil {
		return nil, fmt.Errorf("making the map of numbers that were never sent: %w", err)
	}
	h := &holes{of: m}
	if h.at, h.memory, err = mapValues[portHole](m, int(m.MaxEntries())); err != nil {
		m.Close()
		return nil, err
	}
	return h, nil
}

func (h *holes) close() error {
	if err := unix.Munmap(h.memory); err != nil {
		return fmt.Errorf("unmapping the numbers that were never sent: %w", err)
	}
	return h.of.Close()
}

// forget clears the holes of streams.
func (h *holes) forget(streams []traffic.Stream) {
	for _, s := range streams {
		h.at[s.ID] = portHole{}
	}
}

// below returns how many numbers below next were never sent of a stream.
func (h *holes) below(stream uint16, next uint64) uint64 {
	from, to := atomic.LoadUint64(&h.at[stream].From), atomic.LoadUint64(&h.at[stream].To)
	if next <= from || to <= from {
		return 0
	}
	return min(next, to) - from
}

// sent returns how many frames of the stream the device took or holds.
func (t *portTxStream) sent() uint64 {
	unsent := atomic.LoadUint64(&t.Unsent)
	return atomic.LoadUint64(&t.Seq) - unsent
}

package xdp

import (
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

const xdpRedirect = 4

// After a frame that was late, the next waits until it is 1.5 µs less late, and none waits
// for longer than 18.5 µs.
func TestALateSenderCatchesUpStepByStep(t *testing.T) {
	t.Setenv(transmitVariable, "") // of the transmit program
	bed := newBed(t)
	e := bed.backToBack()
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	p1 := e.ports.named("p1")
	// A frame per second: the program's own speed does not matter.
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 1e9}, Frames: 100}}}
	if err := p1.send.choose(); err != nil {
		t.Fatal(err)
	}
	processor := p1.send.cpus[0]
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &usable)
	if err := machine.Pin(processor); err != nil { // the program looks for the sender of its processor
		t.Fatal(err)
	}
	s, err := newSender(surroundings{namespace: e.netns, ports: e.ports}, []share{{port: p1, streams: deal(p1.send.streams, trial.Loads, 1)[0]}}, trial, 1, processor)
	if err != nil {
		t.Fatal(err)
	}
	const second = 1_000_000_000
	s.tx.Begin = uint64(monotonic() - second/2)
	s.tx.Behind = 0
	s.tx.Gap = 1 << 60
	tx := s.lanes[0].tx
	turn := func() uint32 {
		t.Helper()
		// The frame seems to come from the loopback device.
		action, err := s.live.program.Run(&ebpf.RunOptions{Data: s.live.template, Context: xdpContext{DataEnd: uint32(len(s.live.template)), Ingress: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return action
	}
	if action := turn(); action != xdpRedirect || tx.Hold != 18_500 {
		t.Fatalf("a frame that is half a second late: action %d, and the next waits %d ns, want %d and 18500", action, tx.Hold, xdpRedirect)
	}
	if action := turn(); action != xdpDrop {
		t.Fatalf("a frame that is not due: action %d, want %d", action, xdpDrop)
	}
	s.tx.Begin -= second
	tx.Hold = 1 << 60
	if action := turn(); action != xdpDrop {
		t.Errorf("a frame that is due and waits: action %d, want %d", action, xdpDrop)
	}
	tx.Hold = 0
	if action := turn(); action != xdpRedirect || tx.Hold != 18_500 {
		t.Errorf("a frame that is due: action %d, and the next waits %d ns, want %d and 18500", action, tx.Hold, xdpRedirect)
	}
	if seq := s.lanes[0].streams[s.lanes[0].slots[0]].Seq; seq != 2 {
		t.Errorf("wrote %d frames, want 2", seq)
	}
}

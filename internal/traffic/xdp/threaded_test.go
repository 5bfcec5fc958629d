package xdp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
)

// kworkerPercent is the share of a processor that the kernel's workers may use while a trial
// runs, in percent. Cleaning up after many short runs uses several times as much.
const kworkerPercent = 5

// heldFrames is a bridge whose ports have threads of their own to receive with. It
// holds frames when a run of the transmit program ends, as a NIC does.
func (b *bed) heldFrames() *device {
	b.Helper()
	d := b.device()
	d.bridge()
	usable, err := processors.Usable()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"d1", "d2"} {
		d.gro(name, true)
		d.threaded(name, usable[len(usable)-1])
	}
	return d
}

// kworkers is the processor time that each worker of the kernel has used. One that ends
// meanwhile is left out.
func kworkers(t *testing.T) map[string]time.Duration {
	t.Helper()
	threads, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]time.Duration{}
	for _, thread := range threads {
		name, err := os.ReadFile(thread + "/comm")
		if err != nil || !strings.HasPrefix(string(name), "kworker/") {
			continue
		}
		text, err := os.ReadFile(thread + "/schedstat") // the time, the wait, the turns
		if err != nil {
			continue
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			t.Fatalf("%s/schedstat: %q: %v", thread, text, err)
		}
		used[thread] = time.Duration(ns)
	}
	return used
}

// kworkerShare runs f, and returns what the kernel's workers used meanwhile, in percent
// of a processor.
func kworkerShare(t *testing.T, f func()) float64 {
	t.Helper()
	before, begin := kworkers(t), time.Now()
	f()
	var used time.Duration
	for thread, now := range kworkers(t) {
		used += now - before[thread]
	}
	return 100 * used.Seconds() / time.Since(begin).Seconds()
}

// Every run of the transmit program makes a pool of frames, which the kernel keeps until
// all are back, and looks again every second. A whole trial of 64 streams is one run: it
// ends without an error, costs the kernel's workers nothing, and every frame of it is
// accounted for.
func TestADeviceThatHoldsFrames(t *testing.T) {
	bed := newBed(t)
	d := bed.heldFrames()
	e := bed.open(d.ports(nil, nil)...)
	const streams, perSecond = 64, 12_000
	seconds := 60
	if testing.Short() {
		seconds = 2
	}
	var all []traffic.Stream
	trial := traffic.Trial{Duration: time.Duration(seconds) * time.Second, Loads: map[uint16]traffic.Load{}}
	for i := range streams {
		s := stream(uint16(i+1), e)
		s.Headers.SrcPort += uint16(i)
		all = append(all, s)
		trial.Loads[s.ID] = traffic.Load{Rate: traffic.Rate{Frames: perSecond, PerNanos: 1e9}}
	}
	var m traffic.Measurement
	share := kworkerShare(t, func() {
		m = bed.run(e, all, trial, func(m traffic.Measurement) bool { return received(m)+bed.dropped() == sent(m) })
	})
	runs := e.trial.senders[0].live.runs
	t.Logf("sent %d in %v by %d runs, received %d, the device dropped %d; the kernel's workers used %.1f %% of a processor; %+v",
		sent(m), m.TxTime, runs, received(m), bed.dropped(), share, m.Pacing["p1"])
	if share > kworkerPercent {
		t.Errorf("the kernel's workers used %.1f %% of a processor, want at most %d %%", share, kworkerPercent)
	}
	for id, tx := range m.Tx {
		if want := uint64(seconds * perSecond); tx.Intended != want || tx.Sent == 0 || tx.Sent > want {
			t.Errorf("stream %d: %+v, want up to %d frames", id, tx, want)
		}
	}
	if got := received(m) + bed.dropped(); got != sent(m) {
		t.Errorf("received %d, and the device dropped %d: together %d, want the %d that were sent", received(m), bed.dropped(), got, sent(m))
	}
	for key, rx := range m.Rx {
		if rx.Duplicate+rx.Reordered != 0 {
			t.Errorf("stream %d: duplicate %d, reordered %d", key.Stream, rx.Duplicate, rx.Reordered)
		}
	}
}

// Many short runs exhaust the kernel where the device holds frames: it has no space left
// for another run, or its workers are kept busy. So the test of one long run can fail.
func TestShortRunsExhaustTheKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("it shows what the engine no longer does: make test-long")
	}
	t.Cleanup(func() { // when the frames that were held are gone, for the tests that follow
		const looksAgain = 1500 * time.Millisecond // above the second that the kernel waits
		for begin := time.Now(); time.Since(begin) < patience; {
			if kworkerShare(t, func() { time.Sleep(looksAgain) }) <= kworkerPercent {
				return
			}
		}
		t.Error("the kernel's workers are still kept busy")
	})
	bed := newBed(t)
	bed.heldFrames()
	bed.up(bed.nl, "v1")
	bed.up(bed.nl, "v2")
	v1, err := bed.nl.LinkByName("v1")
	if err != nil {
		t.Fatal(err)
	}
	index := int32(v1.Attrs().Index)
	const ingress = 12 // in struct xdp_md
	redirect, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual MIT/GPL", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, ingress, asm.Word),
		asm.Mov.Imm(asm.R0, 2), // XDP_PASS
		asm.JEq.Imm(asm.R2, index, "end"),
		asm.Mov.Imm(asm.R1, index),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return().WithSymbol("end"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redirect.Close() })
	attached, err := link.AttachXDP(link.XDPOptions{Program: redirect, Interface: int(index), Flags: link.XDPDriverMode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attached.Close() })
	bed.plugged()
	frame := make([]byte, 60)
	frame[0], frame[6], frame[12], frame[13] = 2, 2, 0x88, 0xb5 // local addresses, EtherType for experiments
	frame[5], frame[11] = 2, 1
	run := &ebpf.RunOptions{Data: frame, Repeat: 8, Flags: liveFramesFlag}
	runs := 0
	share := kworkerShare(t, func() {
		for begin := time.Now(); time.Since(begin) < 2*time.Second && err == nil; runs++ {
			_, err = redirect.Run(run)
		}
	})
	t.Logf("%d runs, and the kernel's workers used %.1f %% of a processor: %v", runs, share, err)
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err == nil && share <= kworkerPercent {
		t.Errorf("%d short runs: no error, and the kernel's workers used %.1f %% of a processor, want more than %d %%", runs, share, kworkerPercent)
	}
}

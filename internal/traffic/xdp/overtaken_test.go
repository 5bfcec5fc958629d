package xdp

import (
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
)

// TestFramesOfTwoProcessorsMayOvertakeEachOther checks that a reordered frame counts as one
// that the tester may have reordered where another processor received the frames before it,
// and not where the same one did.
func TestFramesOfTwoProcessorsMayOvertakeEachOther(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if len(usable) < 2 {
		t.Skip("skipped: needs two processors")
	}
	b := newBench(t) // which locks the thread
	on := func(processor int, numbers ...uint64) {
		t.Helper()
		var set unix.CPUSet
		set.Set(processor)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			t.Fatal(err)
		}
		b.sequence(numbers...)
	}
	for name, c := range map[string]struct {
		receive   func(first, second int)
		overtaken uint64
	}{
		"in order on two":     {func(first, second int) { on(first, 0, 1, 2); on(second, 3, 4) }, 0},
		"out of order on one": {func(first, _ int) { on(first, 0, 3, 1, 2) }, 0},
		"out of order on two": {func(first, second int) { on(first, 0, 3); on(second, 1, 2) }, 2},
		"again on the first":  {func(first, second int) { on(first, 0, 1); on(second, 5); on(first, 2); on(second, 3) }, 1},
		"later on the other":  {func(first, second int) { on(first, 0, 3, 1); on(second, 4, 2) }, 0},
	} {
		b.epoch(1000)
		c.receive(usable[0], usable[1])
		if got := b.flow().Overtaken; got != c.overtaken {
			t.Errorf("%s: %d frames were overtaken, want %d", name, got, c.overtaken)
		}
		m := traffic.Measurement{Rx: map[traffic.RxKey]traffic.RxCount{}}
		if err := b.port.receive.read(&m); err != nil {
			t.Fatal(err)
		}
		if noted := len(m.Notes) == 1 && m.Notes[0].Kind == traffic.NoteOvertaken; noted != (c.overtaken > 0) {
			t.Errorf("%s: the notes are %v", name, m.Notes)
		}
	}
}

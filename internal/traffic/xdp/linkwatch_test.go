package xdp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// notesOf are the texts of the notes of one kind.
func notesOf(m traffic.Measurement, kind traffic.NoteKind) []string {
	var texts []string
	for _, n := range m.Notes {
		if n.Kind == kind {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// A link that goes down and comes again while the trial runs is reported, at both
// of its ends.
func TestALinkThatFlaps(t *testing.T) {
	b := newBed(t)
	e := b.backToBack()
	s := stream(1, e)
	trial := traffic.Trial{
		Loads:    map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: int64(time.Second)}}},
		Duration: 500 * time.Millisecond,
	}
	quiet := b.run(e, []traffic.Stream{s}, trial, arrived)
	if texts := notesOf(quiet, traffic.NoteCounter); len(texts) != 0 {
		t.Errorf("a quiet link was told of: %q", texts)
	}
	if err := e.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	l, err := b.nl.LinkByName("v2")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.nl.LinkSetDown(l); err != nil {
		t.Fatal(err)
	}
	b.up(b.nl, "v2")
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	texts := notesOf(m, traffic.NoteCounter)
	for _, port := range []string{"p1 (v1)", "p2 (v2)"} {
		want := fmt.Sprintf("the link of port %s came or went 2 times during the trial", port)
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("%q, want %q", texts, want)
		}
	}
	if len(m.Misdelivered) != 0 || len(notesOf(m, traffic.NoteClock)) != 0 {
		t.Errorf("%+v", m)
	}
}

// Frames that come out at another port than they are for are counted there.
func TestMisdeliveredFrames(t *testing.T) {
	b := newBed(t)
	b.veth("v1", "v2", b.tester)
	b.veth("v3", "v4", b.tester)
	e := b.open(
		Port{Name: "p1", Interface: "v1", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}},
		Port{Name: "p2", Interface: "v2", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24")}},
		Port{Name: "p3", Interface: "v3", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.3/24")}},
	)
	s := stream(1, e)
	s.RxPorts = []string{"p3"}
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1_000_000, PerNanos: int64(time.Second)}, Frames: 100}}}
	for range 2 { // each trial counts for itself
		m := b.run(e, []traffic.Stream{s}, trial, func(m traffic.Measurement) bool { return m.Misdelivered["p2"] == sent(m) })
		if len(m.Misdelivered) != 1 || m.Misdelivered["p2"] != 100 || received(m) != 0 {
			t.Errorf("misdelivered %v, received %d: want 100 at p2", m.Misdelivered, received(m))
		}
		want := []string{"100 test frames arrived at p2 that were not for it: the device floods or misroutes"}
		if got := notesOf(m, traffic.NoteMisdelivered); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLinkNotes(t *testing.T) {
	state := func(running bool, changes uint32, rx uint64) linkState {
		return linkState{running: running, carrierChanges: changes, counters: []linkCounter{{"tx_packets", 7}, {"rx_packets", rx}}}
	}
	tests := map[string]struct {
		begin, end linkState
		want       string
	}{
		"nothing":                {state(true, 2, 100), state(true, 2, 200), ""},
		"went down":              {state(true, 2, 100), state(false, 3, 200), "the link of port p1 went down"},
		"flapped":                {state(true, 2, 100), state(true, 6, 50), "came or went 4 times"},
		"reset":                  {state(true, 2, 100), state(true, 2, 99), "the counter rx_packets of port p1 ran backwards during the trial, from 100 to 99"},
		"the change count wraps": {state(true, 1<<32-1, 100), state(true, 1, 100), "came or went 2 times"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			notes := tc.begin.notes(tc.end, "p1")
			if tc.want == "" && len(notes) == 0 {
				return
			}
			if len(notes) != 1 || notes[0].Kind != traffic.NoteCounter || !strings.Contains(notes[0].Text, tc.want) {
				t.Errorf("%+v, want %q", notes, tc.want)
			}
		})
	}
}

package xdp

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

func TestClockNotes(t *testing.T) {
	const day = 24 * time.Hour
	begin := machine.Clocks{Wall: 20_000 * day, Boot: 3 * time.Hour, Within: 200}
	tests := map[string]struct {
		wall, boot, within time.Duration
		notes              []string
	}{
		"nothing":                {0, 0, 100, nil},
		"a little":               {90 * time.Microsecond, 0, 100, nil},
		"read on a busy machine": {3 * time.Millisecond, 0, 3 * time.Millisecond, nil},
		"set forward":            {2 * time.Second, 0, 100, []string{"the clock of lab-1 was set forward by 2s during the trial"}},
		"set back":               {-time.Millisecond, 0, 100, []string{"the clock of lab-1 was set back by 1ms"}},
		"slept":                  {time.Minute, time.Minute, 100, []string{"lab-1 slept for 1m0s during the trial"}},
		"slept and set":          {time.Minute - time.Second, time.Minute, 100, []string{"slept for 1m0s", "set back by 1s"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			end := machine.Clocks{Wall: begin.Wall + tc.wall, Boot: begin.Boot + tc.boot, Within: tc.within}
			notes := begin.Notes(end, "lab-1")
			if len(notes) != len(tc.notes) {
				t.Fatalf("%+v, want %q", notes, tc.notes)
			}
			for i, want := range tc.notes {
				if notes[i].Kind != traffic.NoteClock || !strings.Contains(notes[i].Text, want) {
					t.Errorf("%+v, want %q", notes[i], want)
				}
			}
		})
	}
}

// Two readings of the real clocks agree, however long lies between them.
func TestRealClocksStandStill(t *testing.T) {
	begin, err := machine.ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		end, err := machine.ReadClocks()
		if err != nil {
			t.Fatal(err)
		}
		if notes := begin.Notes(end, "here"); len(notes) != 0 {
			t.Fatalf("%+v from %+v to %+v", notes, begin, end)
		}
	}
}

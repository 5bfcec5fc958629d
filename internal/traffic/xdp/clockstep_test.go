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

// A clock that corrects a time runs at another frequency than its lasting adjustment.
func TestClockDeviates(t *testing.T) {
	const trial = 10 * time.Second
	begin := machine.Clocks{Within: 200, At: time.Hour, FrequencyPPB: new(int64(-12_500))}
	for name, tc := range map[string]struct {
		ppm  float64
		took time.Duration
		note string
	}{
		"as adjusted":     {-12.5, trial, ""},
		"a little faster": {-12.5 + 40, trial, ""},
		"fast":            {-12.5 + 480, trial, "deviated by +480 ppm"},
		"slow":            {-12.5 - 500, trial, "deviated by -500 ppm"},
		"too short":       {-12.5 - 500, 500 * time.Nanosecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			end := begin
			end.At, end.Raw = begin.At+tc.took, -time.Duration(tc.ppm*float64(tc.took)/1e6)
			notes := begin.Notes(end, "lab-1")
			if (len(notes) == 1) != (tc.note != "") || len(notes) == 1 && (notes[0].Kind != traffic.NoteClock || !strings.Contains(notes[0].Text, tc.note)) {
				t.Errorf("%+v, want %q", notes, tc.note)
			}
		})
	}
}

// The kernel shows how it keeps its clock right, and the rate of the raw clock agrees.
func TestDisciplineOfTheRealClock(t *testing.T) {
	d, err := machine.ReadDiscipline()
	if err != nil {
		t.Skipf("this machine forbids it: %v", err)
	}
	if d.AdjustmentPPB < -500_000 || d.AdjustmentPPB > 500_000 {
		t.Errorf("an adjustment of %d ppb, and the kernel allows 500,000", d.AdjustmentPPB)
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

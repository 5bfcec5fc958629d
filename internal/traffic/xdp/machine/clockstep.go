package machine

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// stepLeast is the least difference between two clocks that counts as a step. A
// clock that is disciplined is made slower or faster in all of them alike, so that
// any difference is one; only reading them takes time.
const stepLeast = 100 * time.Microsecond

// Clocks contains the times by which two clocks of this machine are ahead of the monotonic
// one.
type Clocks struct {
	// Wall is CLOCK_REALTIME, which can be set; boot is CLOCK_BOOTTIME, which goes on
	// while the machine sleeps.
	Wall, Boot time.Duration
	// Raw is CLOCK_MONOTONIC_RAW, which nothing adjusts.
	Raw time.Duration
	// Within is the accuracy of all.
	Within time.Duration
	// At is the monotonic time of the reading.
	At time.Duration
	// FrequencyPPB is the lasting adjustment of the frequency in parts per billion, by which the
	// monotonic clock is kept right; nil if the kernel does not show it.
	FrequencyPPB *int64
}

// ReadClocks reads the clocks, as exactly as one of a few attempts can.
func ReadClocks() (Clocks, error) {
	best := Clocks{Within: math.MaxInt64}
	for range 5 {
		var at [5]int64
		for i, id := range [...]int32{unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME, unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC} {
			var ts unix.Timespec
			if err := unix.ClockGettime(id, &ts); err != nil {
				return Clocks{}, fmt.Errorf("reading clock %d: %w", id, err)
			}
			at[i] = ts.Nano()
		}
		if took := time.Duration(at[4] - at[0]); took < best.Within {
			best = Clocks{
				Wall: time.Duration(at[1] - at[0]), Boot: time.Duration(at[2] - at[0]), Raw: time.Duration(at[3] - at[0]),
				Within: took, At: time.Duration(at[0]),
			}
		}
	}
	if d, err := ReadDiscipline(); err == nil {
		best.FrequencyPPB = &d.AdjustmentPPB
	}
	return best, nil
}

// Notes describes what happened to the clocks of a host between two readings.
func (c Clocks) Notes(end Clocks, host string) []traffic.Note {
	var notes []traffic.Note
	tolerance := stepLeast + c.Within + end.Within
	slept := end.Boot - c.Boot
	if slept > tolerance {
		notes = append(notes, traffic.Note{Kind: traffic.NoteClock, Text: fmt.Sprintf(
			"%s slept for %s during the trial: its counters can be believed, its times and latency cannot", host, slept.Round(time.Microsecond))})
	}
	// The wall clock goes on in sleep, as the one since boot does.
	stepped := end.Wall - c.Wall - slept
	if stepped.Abs() > tolerance {
		direction := "forward"
		if stepped < 0 {
			direction = "back"
		}
		notes = append(notes, traffic.Note{Kind: traffic.NoteClock, Text: fmt.Sprintf(
			"the clock of %s was set %s by %s during the trial: its counters can be believed, its latency cannot", host, direction, stepped.Abs().Round(time.Microsecond))})
	}
	if note := c.slewed(end, host); note != "" && slept == 0 {
		notes = append(notes, traffic.Note{Kind: traffic.NoteClock, Text: note})
	}
	return notes
}

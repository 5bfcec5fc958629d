package machine

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// ReadDiscipline returns how the kernel keeps CLOCK_MONOTONIC right, by which the engine sends
// and times frames. It changes nothing. It fails where a sandbox forbids the call.
func ReadDiscipline() (traffic.ClockDiscipline, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return traffic.ClockDiscipline{}, fmt.Errorf("reading the adjustment of the clock: %w", err)
	}
	return traffic.ClockDiscipline{
		AdjustmentPPB: t.Freq * 1000 >> 16, // parts per million with 16 binary places
		Synchronized:  state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxError:      time.Duration(t.Maxerror) * time.Microsecond,
	}, nil
}

// slewLeast is the least deviation of the frequency of a clock, in parts per million, that is
// noted. NTP deviates by up to 500 parts per million while it corrects a time.
const slewLeast = 50

// slewed describes that the clock of a host ran at another frequency than its lasting adjustment
// makes it, between two readings; empty if it did not, or if the readings are too near.
func (c Clocks) slewed(end Clocks, host string) string {
	elapsed := end.At - c.At
	if c.FrequencyPPB == nil || elapsed <= 0 {
		return ""
	}
	ppm := func(d time.Duration) float64 { return float64(d) / float64(elapsed) * 1e6 }
	off := -ppm(end.Raw-c.Raw) - float64(*c.FrequencyPPB)/1000
	doubt := ppm(c.Within + end.Within)
	if size := max(off, -off); size-doubt < slewLeast {
		return ""
	}
	return fmt.Sprintf("the clock of %s deviated by %+.0f ppm from its frequency during the trial, as NTP does to correct a time: rates and times are off by as much", host, off)
}

package xdp

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// foreignPercent is how much of the tester's processor time others may use in
	// a trial before it is noted.
	foreignPercent = 20
	// foreignLeast is the shortest trial that this is said of: the kernel counts
	// processor time in ticks of 10 ms.
	foreignLeast = 500 * time.Millisecond
	tick         = 10 * time.Millisecond
)

// cpuTime is the time that the processors spent since boot, and this process
// since it began.
//
// Foreign is what other processes used: user and system time of the processors
// that this process may use, less its own, and time that a hypervisor took. Time
// in interrupts is left out, because it is the tester's and the device's own:
// virtual devices forward frames in soft interrupts on the sender's processor.
// Ours may contain some of that time, so foreign is rather under- than
// overstated; a userspace device on this machine counts as foreign.
type cpuTime struct {
	at                   time.Time
	user, system, stolen time.Duration
	ownUser, ownSystem   time.Duration
	processors           int
}

func cpuNow() (cpuTime, error) {
	c := cpuTime{at: time.Now()}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return c, fmt.Errorf("asking for the usable processors: %w", err)
	}
	c.processors = set.Count()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return c, fmt.Errorf("reading the own processor time: %w", err)
	}
	c.ownUser, c.ownSystem = time.Duration(used.Utime.Nano()), time.Duration(used.Stime.Nano())
	err := eachLine("/proc/stat", func(line string) bool {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			return len(f) > 0 && strings.HasPrefix(f[0], "cpu")
		}
		n, err := strconv.Atoi(f[0][3:])
		if err != nil || !set.IsSet(n) { // the line "cpu" is the sum
			return true
		}
		ticks := func(i int) time.Duration {
			v, _ := strconv.ParseInt(f[i], 10, 64)
			return time.Duration(v) * tick
		}
		c.user += ticks(1) + ticks(2)
		c.system += ticks(3)
		c.stolen += ticks(8)
		return true
	})
	if err != nil {
		return c, fmt.Errorf("reading the processors' time: %w", err)
	}
	return c, nil
}

// foreign returns the note about other load between two times, or none.
func (c cpuTime) foreign(end cpuTime, host string) []traffic.Note {
	took := end.at.Sub(c.at)
	if took < foreignLeast {
		return nil
	}
	others := max(0, end.user-c.user-(end.ownUser-c.ownUser)) +
		max(0, end.system-c.system-(end.ownSystem-c.ownSystem)) + end.stolen - c.stolen
	all := took * time.Duration(end.processors)
	percent := 100 * others / all
	if percent <= foreignPercent {
		return nil
	}
	return []traffic.Note{{Kind: traffic.NoteForeignLoad, Text: fmt.Sprintf(
		"other processes used %d %% of the %d processors of %s during the trial, more than %d %%", percent, end.processors, host, foreignPercent)}}
}

// processors are those that this process may use.
func processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("asking for the usable processors: %w", err)
	}
	var all []int
	for i, word := range set {
		for w := uint64(word); w != 0; w &= w - 1 {
			all = append(all, i*64+bits.TrailingZeros64(w))
		}
	}
	return all, nil
}

// pin keeps the calling thread on one processor.
func pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning the sender to processor %d: %w", processor, err)
	}
	return nil
}

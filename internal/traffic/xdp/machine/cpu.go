// Package machine knows the processors, the clocks and the network namespaces of the machine that
// the engine xdp runs on.
package machine

import (
	"bufio"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// foreignPercent is the share of a processor that sends which other programs may use
	// in a trial before it is noted, in percent.
	foreignPercent = 20
	// foreignLeast is the shortest trial that this is said of.
	foreignLeast = 500 * time.Millisecond
	// Tick is the unit in which the kernel counts processor time.
	Tick = 10 * time.Millisecond
	// Receives begins the names of kernel threads that receive frames (threaded NAPI).
	Receives = "napi/"
)

// CPUTime contains the time that the processors have spent since boot, by processor number.
//
// Busy is user and system time, and time that a hypervisor took. Time in interrupts is
// left out, because it is the tester's and the device's own: virtual devices forward
// frames in soft interrupts on the sender's processor.
type CPUTime struct {
	At   time.Time
	Busy map[int]Spent
	// Own is the part of Busy that threads used which are bound to the processor: the threads of
	// this process, and the visible threads of the kernel that receive frames. The second key is
	// the number of the thread, as a thread can end.
	Own map[int]map[int]Spent
	// Process is the time of all threads of this process.
	Process time.Duration
}

// Spent is processor time.
type Spent struct{ User, System, Stolen time.Duration }

func (s Spent) since(begin Spent) Spent {
	return Spent{s.User - begin.User, s.System - begin.System, s.Stolen - begin.Stolen}
}

// ReadCPUTime returns the times of all processors, of now.
func ReadCPUTime() (CPUTime, error) {
	c := CPUTime{At: time.Now(), Busy: map[int]Spent{}, Own: map[int]map[int]Spent{}}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return c, fmt.Errorf("reading the own processor time: %w", err)
	}
	c.Process = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	err := EachLine("/proc/stat", func(line string) bool {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			return len(f) > 0 && strings.HasPrefix(f[0], "cpu")
		}
		if n, err := strconv.Atoi(f[0][3:]); err == nil { // the line "cpu" is the sum
			c.Busy[n] = Spent{Ticks(f[1]) + Ticks(f[2]), Ticks(f[3]), Ticks(f[8])}
		}
		return true
	})
	if err != nil {
		return c, fmt.Errorf("reading the processors' time: %w", err)
	}
	return c, c.addThreads()
}

// Ticks returns the time that a number of the kernel's ticks takes; 0 if the text is no number.
func Ticks(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * Tick
}

// addThreads finds the threads that are bound to one processor. One that ends
// meanwhile is left out.
func (c *CPUTime) addThreads() error {
	own, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil {
		return fmt.Errorf("looking for the own threads: %w", err)
	}
	kernel, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return fmt.Errorf("looking for the kernel's threads: %w", err)
	}
	for i, name := range append(own, kernel...) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// The name of a thread is in parentheses and may hold any character.
		open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		if open < 0 || end < open || i >= len(own) && !strings.HasPrefix(string(text[open+1:]), Receives) {
			continue
		}
		thread, err := strconv.Atoi(strings.TrimSpace(string(text[:open])))
		if err != nil {
			continue
		}
		var set unix.CPUSet
		if unix.SchedGetaffinity(thread, &set) != nil || set.Count() != 1 {
			continue
		}
		f := strings.Fields(string(text[end+1:]))
		processor := only(set)
		if c.Own[processor] == nil {
			c.Own[processor] = map[int]Spent{}
		}
		c.Own[processor][thread] = Spent{User: Ticks(f[11]), System: Ticks(f[12])} // utime and stime, fields 14 and 15
	}
	return nil
}

// Foreign returns the note about what others used of a processor between two times,
// or none. Time of this process that is of no bound thread may have been spent
// anywhere and is taken for spent there, so that foreign load is rather under- than
// overstated.
func (c CPUTime) Foreign(end CPUTime, processor int, host string) []traffic.Note {
	took := end.At.Sub(c.At)
	if took < foreignLeast {
		return nil
	}
	bound := func(processor int) (sum Spent) {
		for thread, now := range end.Own[processor] {
			used := now.since(c.Own[processor][thread])
			sum.User, sum.System = sum.User+used.User, sum.System+used.System
		}
		return sum
	}
	unbound := end.Process - c.Process
	for n := range end.Own {
		unbound -= bound(n).User + bound(n).System
	}
	// Soft interrupts in a thread's context make its system time longer than that of
	// the processor.
	busy, own := end.Busy[processor].since(c.Busy[processor]), bound(processor)
	others := max(0, busy.User-own.User) + max(0, busy.System-own.System) + busy.Stolen - max(0, unbound)
	percent := 100 * others / took
	if percent <= foreignPercent {
		return nil
	}
	return []traffic.Note{{Kind: traffic.NoteForeignLoad, Text: fmt.Sprintf(
		"other processes used %d %% of processor %d of %s, on which the tester sends, during the trial: more than %d %%", percent, processor, host, foreignPercent)}}
}

// only is the one processor of a set.
func only(set unix.CPUSet) int {
	for i, word := range set {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(uint64(word))
		}
	}
	return -1
}

// Pin keeps the calling thread on one processor.
func Pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning the sender to processor %d: %w", processor, err)
	}
	return nil
}

// niceness of the threads that send and that read counters.
const niceness = -15

// PreferThread has the calling thread run before other processes, where that is allowed
// (CAP_SYS_NICE).
func PreferThread() error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("raising the priority of a thread: %w", err)
	}
	return nil
}

// ThreadTime returns the processor time that the calling thread has used.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// EachLine calls f with the lines of a file until f returns false.
func EachLine(name string, f func(line string) bool) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() && f(lines.Text()) {
	}
	return lines.Err()
}

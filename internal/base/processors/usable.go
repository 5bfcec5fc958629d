// Package processors finds the processors of this machine that a process may use.
package processors

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Usable returns the numbers of the processors that any thread of this process may use, in
// ascending order. Senders pin their threads to one processor, and the first thread of a
// process stays pinned when its sender has ended.
func Usable() ([]int, error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("listing the threads of the process: %w", err)
	}
	var all []int
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); errors.Is(err, unix.ESRCH) {
			continue // it has ended
		} else if err != nil {
			return nil, fmt.Errorf("asking for the usable processors: %w", err)
		}
		for n, left := 0, set.Count(); left > 0; n++ {
			if set.IsSet(n) {
				all = append(all, n)
				left--
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

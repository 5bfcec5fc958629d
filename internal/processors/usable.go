// Package processors says which processors of this machine a process may use.
package processors

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Usable are the numbers of the processors that this process may use, in ascending
// order.
func Usable() (all []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("asking for the usable processors: %w", err)
	}
	for n := 0; len(all) < set.Count(); n++ {
		if set.IsSet(n) {
			all = append(all, n)
		}
	}
	return all, nil
}

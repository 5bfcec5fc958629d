//go:build !linux

package hostdevice

import (
	"fmt"
	"runtime"
)

// Candidates returns an error: only Linux has interfaces that a bed can name.
func Candidates() ([]Candidate, error) {
	return nil, fmt.Errorf("interfaces for a bed can be listed on Linux only, not on %s: name them and their speed, and write the files on this machine for another one", runtime.GOOS)
}

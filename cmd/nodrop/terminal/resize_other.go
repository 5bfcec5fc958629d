//go:build !unix

package terminal

import "os"

// Resized returns a channel that never receives: Live measures the terminal before each line.
func Resized() (changed <-chan os.Signal, stop func()) { return nil, func() {} }

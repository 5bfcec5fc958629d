// Package version tells which NoDrop this is.
package version

import "runtime/debug"

// Version is set at link time with -X; otherwise it is read from the build
// information.
var Version = ""

// String returns the version, or "devel" when the binary does not know.
func String() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

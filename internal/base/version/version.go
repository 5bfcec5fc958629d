// Package version says which NoDrop this is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

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

// Details are lines of text: the version; the commit it was built from and when that
// was made, where the binary knows; build tags; Go and platform.
func Details() string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	return details(String(), settings, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
}

func details(version string, settings map[string]string, goVersion, platform string) string {
	var text strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "%-10s%s\n", name, value)
		}
	}
	line("nodrop", version)
	commit := settings["vcs.revision"]
	if commit == "" {
		commit = "unknown: it was built outside of its repository, or without -buildvcs"
	} else if settings["vcs.modified"] == "true" {
		commit += ", with changes that are not committed"
	}
	line("commit", commit)
	line("of", settings["vcs.time"])
	line("tags", settings["-tags"])
	line("built by", goVersion+" for "+platform)
	return text.String()
}

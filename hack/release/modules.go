package main

import (
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// linkedModule is a Go module that a binary is linked from.
type linkedModule struct {
	Path, Version, Sum string
}

// goModule is the path of the module that contains Go's standard library.
const goModule = "std"

// linked contains the modules of a binary, and the settings of its build.
type linked struct {
	// Main is the module of the program itself.
	Main linkedModule
	// Modules are all others in order, and Go itself.
	Modules []linkedModule
	// Settings of the build, such as GOOS.
	Settings map[string]string
}

// read returns what a binary is linked from, as "go version -m" prints it.
func read(binary string) (linked, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return linked{}, fmt.Errorf("reading the modules of %s: %w", binary, err)
	}
	l := linked{Main: linkedModule{Path: info.Main.Path, Version: info.Main.Version}, Settings: map[string]string{}}
	for _, s := range info.Settings {
		l.Settings[s.Key] = s.Value
	}
	l.Modules = append(l.Modules, linkedModule{Path: goModule, Version: strings.TrimPrefix(info.GoVersion, "go")})
	for _, d := range info.Deps {
		l.Modules = append(l.Modules, replaced(d))
	}
	slices.SortFunc(l.Modules, byPath)
	return l, nil
}

// replaced returns the module that is linked in place of another.
func replaced(d *debug.Module) linkedModule {
	if d.Replace != nil {
		d = d.Replace
	}
	return linkedModule{d.Path, d.Version, d.Sum}
}

func byPath(a, b linkedModule) int {
	return strings.Compare(a.Path+"@"+a.Version, b.Path+"@"+b.Version)
}

// readAll returns the modules of several binaries, each once.
func readAll(binaries []string) ([]linkedModule, error) {
	var all []linkedModule
	for _, binary := range binaries {
		l, err := read(binary)
		if err != nil {
			return nil, err
		}
		all = append(all, l.Modules...)
	}
	slices.SortFunc(all, byPath)
	return slices.Compact(all), nil
}

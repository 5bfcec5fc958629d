//go:build !standalone

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Commands that need no Linux are built for other systems too: they must not grow what needs Linux.
func TestPackagesElsewhere(t *testing.T) {
	sendsNoFrames(t)
	for _, system := range []string{"darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=arm64")
		list, err := cmd.Output()
		if err != nil {
			t.Fatalf("listing the packages for %s: %v", system, err)
		}
		for pkg := range strings.Lines(string(list)) {
			for _, linux := range []string{"internal/traffic/xdp", "internal/lab/standalone", "internal/base/netif", "internal/base/processors", "internal/routing/endpoint", "cmd/nodrop/inpod"} {
				if strings.HasPrefix(pkg, "nodrop.dev/nodrop/"+linux) {
					t.Errorf("%s: the commands contain %s, which needs Linux: give the file that imports it the constraint //go:build linux", system, strings.TrimSpace(pkg))
				}
			}
		}
	}
}

func TestLinuxCommands(t *testing.T) {
	sendsNoFrames(t)
	var names []string
	for _, command := range podCommands() {
		names = append(names, command.Name())
	}
	if !slices.Equal(names, podCommandNames) {
		t.Errorf("got the commands %q, and on other systems %q explain that they need Linux", names, podCommandNames)
	}
	root := newRootCommand("nodrop")
	root.AddCommand(newLinuxCommand("elsewhere"))
	root.SetArgs([]string{"elsewhere", "--flag", "argument"})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "nodrop elsewhere needs Linux, and this is ") {
		t.Errorf("got %v", err)
	}
}

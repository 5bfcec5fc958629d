//go:build manpages

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra/doc"

	"nodrop.dev/nodrop/internal/base/version"
)

// manPagesEnv is the variable with the folder that a binary with the tag manpages writes manual pages into, in place of
// anything else. NODROP_RELEASE_TIME has the date of the pages. docs/releasing.md describes who sets them.
const manPagesEnv = "NODROP_MANPAGES"

// The tag keeps the library out of the binaries that people use.
func init() {
	folder := os.Getenv(manPagesEnv)
	if folder == "" {
		return
	}
	if err := writeManPages(folder); err != nil {
		fmt.Fprintln(os.Stderr, "nodrop: writing manual pages:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func writeManPages(folder string) error {
	at, err := time.Parse(time.RFC3339, os.Getenv("NODROP_RELEASE_TIME"))
	if err != nil {
		return err
	}
	root := newRootCommand("nodrop")
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &at, Source: "NoDrop " + version.String(), Manual: "NoDrop"}, folder)
}

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a command with its arguments.
func command(of func(*flag.FlagSet) run, args ...string) error {
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	do := of(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return do(flags.Args())
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	return string(content)
}

func replace(t *testing.T, file, from, to string) {
	t.Helper()
	content := text(t, file)
	if !strings.Contains(content, from) {
		t.Fatalf("%s does not contain %q", file, from)
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(content, from, to, 1)), 0o600))
}

func removeAll(t *testing.T, glob string) {
	t.Helper()
	files, err := filepath.Glob(glob)
	must(t, err)
	for _, file := range files {
		must(t, os.Remove(file))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
)

// A flag with a value that is not valid names the value and what is allowed, in no words of Go.
func TestFlagValues(t *testing.T) {
	for args, want := range map[string]string{
		"page --port 70000":     `--port is "70000": give a whole number from 0 to 65535`,
		"page --port http":      `--port is "http": give a whole number from 0 to 65535`,
		"queue --limit many":    `--limit is "many": give a whole number`,
		"watch x --timeout 5":   `--timeout is "5": give a duration such as 90s or 1h30m`,
		"run -f x --wait=maybe": `--wait is "maybe": give true or false`,
		"queue -o xml":          `"xml" is not an output format: give table, json, yaml or name`,
		"page --prot 1":         "unknown flag: --prot",
	} {
		cmd := newRootCommand("nodrop")
		cmd.SetArgs(strings.Fields(args))
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		err := cmd.Execute()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("nodrop %s: got %v, want %s", args, err, want)
		}
	}
}

// The help shows the flags of a command before the many of the connection, within 80 columns.
func TestHelpOfFlags(t *testing.T) {
	var out bytes.Buffer
	cmd := newRootCommand("nodrop")
	cmd.SetArgs([]string{"queue", "--help"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	own, connection, found := strings.Cut(out.String(), "Flags of the connection, as of kubectl:\n")
	if !found || !strings.Contains(own, "--limit int") || strings.Contains(own, "--kubeconfig string") || !strings.Contains(connection, "--kubeconfig string") || !strings.Contains(connection, "--namespace string") {
		t.Errorf("the flags are not in two groups:\n%s", &out)
	}
	for line := range strings.Lines(connection) {
		if len(strings.TrimRight(line, "\n")) > helpWidth {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
}

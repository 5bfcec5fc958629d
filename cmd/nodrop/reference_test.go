//go:build !standalone

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nodrop.dev/nodrop/cmd/nodrop/cluster"
)

const commandReference = "../../docs/reference/commands.md"

// TestReferenceOfCommands checks that the page of the commands has all commands and flags for people. With -update it writes it.
func TestReferenceOfCommands(t *testing.T) {
	sendsNoFrames(t)
	var text strings.Builder
	fmt.Fprint(&text, "# Commands and flags\n\n[The command line](../cli.md) describes what the commands check and do. This page is generated from their help by `go test ./cmd/nodrop -run '^TestReferenceOfCommands$' -update`.\n\n"+
		"Commands that read a cluster also take the [flags of kubectl](#flags-of-kubectl).\n")
	reading := &cobra.Command{}
	cluster.NewClient(reading)
	ofKubectl := reading.Flags()
	describeCommand(&text, newRootCommand("nodrop"), ofKubectl)
	fmt.Fprint(&text, "\n## Flags of kubectl\n\n"+flagTable(ofKubectl, nil, false))
	want := text.String()
	if *updateGolden {
		if err := os.WriteFile(commandReference, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have := read(t, commandReference); have != want {
		t.Errorf("%s is out of date: run this test with -update", commandReference)
	}
}

// describeCommand writes sections about a command and the commands below it, without hidden ones and commands of pods.
func describeCommand(text *strings.Builder, cmd *cobra.Command, ofKubectl *pflag.FlagSet) {
	if cmd.Hidden || cmd.GroupID == podsGroup {
		return
	}
	if cmd.HasParent() {
		about := cmd.Long
		if about == "" {
			about = cmd.Short + "."
		}
		fmt.Fprintf(text, "\n## %s\n\n```text\n%s\n```\n\n", cmd.CommandPath(), cmd.UseLine())
		if strings.Contains(about, "\n  ") {
			fmt.Fprintf(text, "```text\n%s\n```\n", strings.TrimSpace(about))
		} else {
			fmt.Fprintf(text, "%s\n", strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_").Replace(strings.TrimSpace(about)))
		}
		if table := flagTable(cmd.NonInheritedFlags(), ofKubectl, true); table != "" {
			fmt.Fprintf(text, "\n%s", table)
		}
	}
	below := slices.SortedFunc(slices.Values(cmd.Commands()), func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, c := range below {
		describeCommand(text, c, ofKubectl)
	}
}

// flagTable returns a table of flags. Flags of leftOut are described elsewhere. Defaults that depend on the machine are left out.
func flagTable(flags, leftOut *pflag.FlagSet, defaults bool) string {
	var rows strings.Builder
	cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ", "*", "\\*", "_", "\\_")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || leftOut != nil && leftOut.Lookup(f.Name) != nil && leftOut.Lookup(f.Name).Usage == f.Usage {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		written := "--" + f.Name
		if f.Shorthand != "" {
			written = "-" + f.Shorthand + "`, `" + written
		}
		if name != "" {
			written += " " + name
		}
		value := ""
		if defaults && f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0s" && !strings.ContainsAny(f.DefValue, "~/") {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", written, value, cell.Replace(usage))
	})
	if rows.Len() == 0 {
		return ""
	}
	return "| Flag | Default | Meaning |\n|---|---|---|\n" + rows.String()
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
)

// helpWidth is the number of columns of the help.
const helpWidth = 80

// setUpFlags shows the flags of the connection apart from the other ones in the help of all commands, and names what a flag
// accepts if its value is not valid.
func setUpFlags(root *cobra.Command) {
	addHelpFunctions()
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{groupedFlags .LocalFlags}}", 1))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hint.With(explainFlag(err), "see "+cmd.CommandPath()+" --help")
	})
}

// addHelpFunctions adds to the functions of templates, which all commands share.
var addHelpFunctions = sync.OnceFunc(func() { cobra.AddTemplateFunc("groupedFlags", groupedFlags) })

// groupedFlags returns the help of flags. The ones of the connection to a cluster are the last.
func groupedFlags(flags *pflag.FlagSet) string {
	own, connection := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if terminal.IsConnection(f) {
			connection.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	help := "Flags:\n" + strings.TrimRight(own.FlagUsagesWrapped(helpWidth), "\n")
	if connection.HasAvailableFlags() {
		help += "\n\nFlags of the connection, as of kubectl:\n" + strings.TrimRight(connection.FlagUsagesWrapped(helpWidth), "\n")
	}
	return help
}

// explainFlag returns an error of a flag with its value and the values that it accepts, if the error comes from a type of Go.
func explainFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	accepted := acceptedValues(invalid.GetFlag().Value.Type())
	if accepted == "" {
		return err
	}
	return fmt.Errorf("--%s is %q: give %s", invalid.GetFlag().Name, invalid.GetValue(), accepted)
}

// acceptedValues describes the values of a type of flags; it returns "" for types whose errors do.
func acceptedValues(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 90s or 1h30m"
	case "float32", "float64":
		return "a number"
	case "int", "int64":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number that is not negative"
	}
	if bits, is := strings.CutPrefix(kind, "uint"); is {
		if n, err := strconv.Atoi(bits); err == nil {
			return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<n-1)
		}
	}
	if bits, is := strings.CutPrefix(kind, "int"); is {
		if n, err := strconv.Atoi(bits); err == nil {
			return fmt.Sprintf("a whole number from %d to %d", -(int64(1) << (n - 1)), int64(1)<<(n-1)-1)
		}
	}
	return ""
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/lab/standalone"
)

func newCleanCommand() *cobra.Command {
	var stateDir string
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Put back the interfaces of runs that were killed, and end their routers and machines",
		Long: `Put back the interfaces that nodrop run had on this machine when it was killed, as
they were: in the network namespace that they came from, with their names, addresses
and settings. Settings that an agent which was killed has changed are restored too, as
the alias of the interface says. Routers and emulated machines that such runs started are ended, and their files removed.
Threads of the kernel (ksoftirqd) whose priority such runs raised get it back. The next nodrop run does
the same before it begins. Interfaces of a run
that goes on are left alone. It needs root.

Exit codes: 0 when nothing is left to put back, 1 otherwise.`,
		Args: cobra.NoArgs,
	}
	addStateDir(cmd, &stateDir)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if os.Geteuid() != 0 {
			return hint.With(errors.New("only root may move interfaces"), "sudo nodrop clean")
		}
		store, err := hostdevice.NewStore(stateDir)
		if err != nil {
			return err
		}
		found, living, err := standalone.CleanUp(cmd.OutOrStdout(), store)
		settings, recovering := card.RecoverAll()
		saySettingsRestored(cmd.OutOrStdout(), settings)
		err = errors.Join(err, recovering)
		switch {
		case living > 0:
			fmt.Fprintf(cmd.OutOrStdout(), "runs that go on, with their interfaces: %d\n", living)
		case !found && len(settings) == 0 && err == nil:
			fmt.Fprintln(cmd.OutOrStdout(), "nothing is to be put back")
		}
		return err
	}
	return cmd
}

// saySettingsRestored writes a line for each interface with restored settings.
func saySettingsRestored(w io.Writer, all map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(w, "interface %s, whose settings a process that was killed had changed, has them back: %s\n", name, strings.Join(all[name], ", "))
	}
}

// addStateDir adds the flag that says where notes of interfaces are.
func addStateDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", hostdevice.DefaultDir, "directory with the notes that say how to put the interfaces of a physical device back")
}

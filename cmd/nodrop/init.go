package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/manifests/scaffold"
)

func newInitCommand() *cobra.Command {
	return newInitCommandFor(hostdevice.Candidates, func(in io.Reader) bool {
		file, isFile := in.(*os.File)
		return isFile && term.IsTerminal(int(file.Fd()))
	})
}

// newInitCommandFor returns the init command for a machine with these interfaces. asks reports
// whether a user can answer questions.
func newInitCommandFor(interfaces func() ([]hostdevice.Candidate, error), asks func(io.Reader) bool) *cobra.Command {
	var w scaffold.Wanted
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the three manifests of a first benchmark",
		Long: `Write a bed, a traffic profile and a benchmark into a directory, with comments that say
what each field is for. On a terminal, what no flag says is asked; elsewhere it has its
default, or is refused where it has none. Files that exist are not overwritten.

The device is one of
  switch          forwards Ethernet frames; its ports are cabled to interfaces of this machine
  router          forwards IP packets between its ports, each with a network of its own
  virtual-switch  a Linux bridge that nodrop run makes, for a first look without hardware
  virtual-router  the same with a Linux router`,
		Example: `  nodrop init lab
  nodrop init lab --device switch --interfaces eth1,eth2 --vendor acme --model S-48
  nodrop init lab --device router --interfaces eth1,eth2 --addresses 198.18.1.2/24,198.18.2.2/24 --gateways 198.18.1.1,198.18.2.1`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&w.Device, "device", "", "kind of the device: "+strings.Join(scaffold.DeviceKinds, ", "))
	flags.StringSliceVar(&w.Interfaces, "interfaces", nil, "interfaces of this machine that are cabled to the device, in pairs: the first sends to the second")
	flags.StringSliceVar(&w.Speeds, "speed", nil, "speed of all ports, or of each, such as 10G (default: the speed of the interfaces)")
	flags.StringSliceVar(&w.Addresses, "addresses", nil, "address of each port with prefix length (default: of 198.18.0.0/15, which RFC 2544 has for this)")
	flags.StringSliceVar(&w.Gateways, "gateways", nil, "for a router, its address on each port (default: the first address of the port's network)")
	flags.StringVar(&w.Vendor, "vendor", "", "vendor of the device, for the report")
	flags.StringVar(&w.Model, "model", "", "model of the device, for the report")
	flags.StringVar(&w.Name, "name", "lab", "name of the bed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if err := free(dir); err != nil {
			return err
		}
		var questions *scaffold.Prompt
		if asks(cmd.InOrStdin()) {
			questions = scaffold.NewPrompt(cmd.InOrStdin(), cmd.ErrOrStderr())
		}
		if err := w.Complete(interfaces, questions); err != nil {
			return err
		}
		files, err := w.Manifests()
		if err != nil {
			return err
		}
		if err := writeManifests(dir, files); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), `wrote %s to %s

next:
  nodrop validate -f %[2]s
  sudo nodrop run -f %[2]s
`, strings.Join(scaffold.FileNames[:], ", "), dir)
		return err
	}
	return cmd
}

// free refuses a directory that has one of the files already.
func free(dir string) error {
	for _, name := range scaffold.FileNames {
		path := filepath.Join(dir, name)
		switch _, err := os.Lstat(path); {
		case err == nil:
			return hint.With(fmt.Errorf("%s exists, and is not overwritten", path), "name another directory: nodrop init DIR, or remove the file")
		case !errors.Is(err, fs.ErrNotExist):
			return hint.With(fmt.Errorf("looking at %s: %w", path, err), "name a directory: nodrop init DIR")
		}
	}
	return nil
}

// writeManifests writes all files, or none.
func writeManifests(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}
	var written []string
	for _, name := range scaffold.FileNames {
		path := filepath.Join(dir, name)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			written = append(written, path)
			_, err = file.WriteString(files[name])
			if closing := file.Close(); err == nil {
				err = closing
			}
		}
		if err != nil {
			for _, path := range written {
				_ = os.Remove(path) // What counts is why the others are not there.
			}
			return fmt.Errorf("writing the manifests: %w", err)
		}
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

func newConfigureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "configure",
		Short: "Read the configuration of a device, and bring a device into one and back",
		Long: `Read the configuration of a device over SSH or gNMI, or in a container, show the commands from it to another one, and
enter them. Nothing is remembered between two calls: each starts from what the device reports, so that
a call that was interrupted is repeated.

  nodrop configure read  ... > base.conf    before a test
  nodrop configure plan  ... acl-201.conf   the commands, without entering them
  nodrop configure apply ... acl-201.conf   enter them, and read back
  nodrop configure apply ... base.conf      restore, whatever has happened meanwhile

A device with SSH must have one of the keys of --host-keys, such as ssh-keyscan prints them, and one with gNMI a
certificate of --certificates, or one that they signed: compare them with the certificates that the device shows at its console.
A device in a container of this machine is reached with --container by the socket of Docker, or of another runtime at DOCKER_HOST: the rights
on it replace user and keys.`,
	}
	cmd.AddCommand(newConfigureReadCommand(), newConfigurePlanCommand(), newConfigureApplyCommand(), newConfigureGenerateCommand())
	return cmd
}

// reach contains the flags with which a device is reached.
type reach struct {
	platform, address, user, container, reload string
	paths                                      []string
	// files by the key of the device's Secret that each has.
	files           map[string]*string
	timeout, within time.Duration
}

// keyFlags are the flags with files, by the key of the device's Secret that each has.
var keyFlags = map[string]struct{ name, usage string }{
	"password":          {"password-file", "file with the password"},
	"privateKey":        {"key-file", "file with a private key in PEM: of the user, in place of a password, or of the client's certificate"},
	"hostKeys":          {"host-keys", "file with the keys that the device may have, as in known_hosts (SSH)"},
	"certificates":      {"certificates", "file with the certificate of the device, or of the authority that signed it, in PEM (gNMI)"},
	"clientCertificate": {"client-certificate", "file with the certificate of the client, in PEM (gNMI)"},
}

func (r *reach) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.platform, "platform", "", "kind of the device: "+platform.Names()+" (required)")
	flags.StringVar(&r.address, "address", "", "HOST:PORT of its server (required, unless it is in a container)")
	flags.StringVar(&r.container, "container", "", "container of this machine in which it runs, such as clab-lab-router, in place of --address and --user")
	flags.StringSliceVar(&r.paths, "files", nil, "paths of the files that are its configuration (platform files)")
	flags.StringVar(&r.reload, "reload", "", "command of the device that makes the files effective, all of them, such as 'nft -f /etc/nftables.conf' (platform files)")
	flags.StringVar(&r.user, "user", "", "user of the device")
	r.files = map[string]*string{}
	for key, flag := range keyFlags {
		r.files[key] = flags.String(flag.name, "", flag.usage)
	}
	flags.DurationVar(&r.timeout, "timeout", configure.DefaultTimeout, "how long the device may take to connect, and to answer a command")
	flags.DurationVar(&r.within, "within", 5*time.Minute, "how long to try to reach it, and to enter everything")
	_ = cmd.MarkFlagRequired("platform")
	cmd.MarkFlagsOneRequired("address", "container")
	for _, other := range []string{"address", "user", "password-file", "key-file", "host-keys", "certificates", "client-certificate"} {
		cmd.MarkFlagsMutuallyExclusive("container", other)
	}
}

// read returns what a key of the device's Secret would have.
func (r *reach) read(key string) ([]byte, error) {
	if key == "user" {
		return []byte(r.user), nil
	}
	file := r.files[key]
	if file == nil || *file == "" {
		return nil, fs.ErrNotExist
	}
	content, err := os.ReadFile(*file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--%s: there is no file %q", keyFlags[key].name, *file) // It was named, so that it is not left out.
	}
	return content, err
}

// driver reads the files of the flags.
func (r *reach) driver() (configure.Driver, error) {
	kind, err := platform.Named(r.platform)
	if err != nil {
		return nil, fmt.Errorf("--platform: %w", err)
	}
	if r.timeout <= 0 || r.within <= 0 {
		return nil, errors.New("--timeout and --within: Invalid value: want more than 0s, such as 30s")
	}
	d, err := kind.Driver(configure.Reach{Address: r.address, Container: r.container, Files: r.paths, Reload: r.reload, Key: r.read, Timeout: r.timeout})
	if err != nil {
		if field, _, _ := strings.Cut(err.Error(), ":"); field == "container" || field == "files" || field == "reload" {
			return nil, fmt.Errorf("--%w", err)
		}
		keys := []string{"user is --user"}
		for _, key := range slices.Sorted(maps.Keys(keyFlags)) {
			keys = append(keys, key+" is --"+keyFlags[key].name)
		}
		return nil, hint.With(err, strings.Join(keys, ", "))
	}
	return d, nil
}

// run calls f with the driver, and with a context that ends in time and with an interrupt.
func (r *reach) run(cmd *cobra.Command, f func(context.Context, configure.Driver) error) error {
	d, err := r.driver()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, r.within, fmt.Errorf("--within %v is over", r.within))
	defer cancel()
	context.AfterFunc(ctx, stop) // A second interrupt ends the program, also while it restores.
	return f(ctx, d)
}

func newConfigureReadCommand() *cobra.Command {
	var r reach
	cmd := &cobra.Command{
		Use:   "read",
		Short: "Print the configuration that a device reports, without comments",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.run(cmd, func(ctx context.Context, d configure.Driver) error {
				have, err := configure.Read(ctx, d)
				if err != nil {
					return err
				}
				_, err = io.WriteString(cmd.OutOrStdout(), string(have))
				return err
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}

func newConfigurePlanCommand() *cobra.Command {
	var r reach
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Print the commands that bring a device into a configuration, without entering them",
		Long: `Print the commands that nodrop configure apply would enter now. Secrets are hidden.
FILE is a whole configuration, as the device reports it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd, func(ctx context.Context, d configure.Driver) error {
				want, err := configure.WholeFile(d.Language(), args[0])
				if err != nil {
					return err
				}
				have, err := configure.Read(ctx, d)
				if err != nil {
					return err
				}
				commands := d.Language().Commands(have, want)
				if len(commands) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "the device has this configuration")
				}
				for _, c := range commands {
					fmt.Fprintln(cmd.OutOrStdout(), d.Language().Mask(c))
				}
				return nil
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}

func newConfigureApplyCommand() *cobra.Command {
	var r reach
	var out terminal.Output
	var restoring time.Duration
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Bring a device into a configuration, and restore it if the device rejects a command",
		Long: `Enter the commands that bring a device into a configuration, and read it back. FILE is a whole
configuration, as the device reports it. A connection that is lost is opened again, and what the device reports
then decides what is left to do. If the device rejects a command, or reports another configuration than
FILE at the end, or the command is interrupted, the configuration from before is restored.

A configuration that removes the address or the user by which the device is reached ends the connection for
good: keep those lines.

Exit codes: 0 the device has the configuration, 2 it has the one from before, 5 it may have a part of both, 1
no command was entered.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		return r.run(cmd, func(ctx context.Context, d configure.Driver) error {
			want, err := configure.WholeFile(d.Language(), args[0])
			if err != nil {
				return err
			}
			record, err := configure.Apply(ctx, d, want, restoring)
			return errors.Join(out.Write(cmd.OutOrStdout(), change{record}), codedAsConfigured(record, err))
		})
	}
	r.addFlags(cmd)
	out.AddFlags(cmd, terminal.ObjectFormats())
	cmd.Flags().Lookup("output").Usage = out.Names()
	cmd.Flags().DurationVar(&restoring, "restore-within", 5*time.Minute, "how long to try to restore the configuration from before")
	return cmd
}

// codedAsConfigured returns an error with the exit code of what the device has.
func codedAsConfigured(record *configure.Record, err error) error {
	var neither *configure.NotRestoredError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &neither):
		return &exit.Coded{Err: err, Code: exit.Error}
	case record.RolledBack:
		return &exit.Coded{Err: fmt.Errorf("%w; the device has the configuration from before", err), Code: exit.Failed}
	}
	return err
}

// change is the record of a change, as the result of the command.
type change struct{ *configure.Record }

// Write writes the change in a format.
func (c change) Write(w io.Writer, format report.Format) error {
	if format != report.FormatTable {
		return terminal.WriteObject(w, c.Record, format)
	}
	if c.Sessions == 0 {
		return nil
	}
	for _, a := range c.Answers {
		if a.Text != "" {
			fmt.Fprintf(w, "%s\n  %s\n", a.Command, strings.ReplaceAll(a.Text, "\n", "\n  "))
		}
	}
	p := layout.PaperOf(w)
	text := p.Title(fmt.Sprintf("commands: %d in %s; sessions: %d, lost: %d; software: %s",
		len(c.Answers), c.Took.Round(time.Millisecond), c.Sessions, c.Lost, cmp.Or(c.Software, "unknown")))
	_, err := fmt.Fprintf(w, "%sbefore  %s\nafter   %s\n", text, c.BeforeDigest, c.AfterDigest)
	return err
}

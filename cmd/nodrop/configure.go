package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/dut/configure/text"
)

func newConfigureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "configure",
		Short: "Read the configuration of a device, and bring a device into one and back",
		Long: `Read the configuration of a device over SSH, show the commands from it to another one, and
enter them. Nothing is remembered between two calls: each starts from what the device reports, so that
a call that was interrupted is repeated.

  nodrop configure read  ... > base.conf    before a test
  nodrop configure plan  ... acl-201.conf   the commands, without entering them
  nodrop configure apply ... acl-201.conf   enter them, and read back
  nodrop configure apply ... base.conf      restore, whatever has happened meanwhile

The device must have one of the keys of --host-keys, such as ssh-keyscan prints them: compare them with those
that the device shows at its console.`,
	}
	cmd.AddCommand(newConfigureReadCommand(), newConfigurePlanCommand(), newConfigureApplyCommand())
	return cmd
}

// reach are the flags that say how to reach a device.
type reach struct {
	platform, address, user, passwordFile, keyFile, hostKeys string
	timeout, within                                          time.Duration
}

func (r *reach) addFlags(cmd *cobra.Command) {
	var names []string
	for _, p := range sshcli.Platforms {
		names = append(names, p.Name)
	}
	flags := cmd.Flags()
	flags.StringVar(&r.platform, "platform", "", "command line of the device: "+strings.Join(names, ", "))
	flags.StringVar(&r.address, "address", "", "HOST:PORT of its SSH server")
	flags.StringVar(&r.user, "user", "", "user of the device")
	flags.StringVar(&r.passwordFile, "password-file", "", "file with the password")
	flags.StringVar(&r.keyFile, "key-file", "", "file with a private key, in place of a password")
	flags.StringVar(&r.hostKeys, "host-keys", "", "file with the keys that the device may have, as in known_hosts")
	flags.DurationVar(&r.timeout, "timeout", 30*time.Second, "how long the device may take to connect, and to answer a command")
	flags.DurationVar(&r.within, "within", 5*time.Minute, "how long to try to reach it, and to enter everything")
	for _, name := range []string{"platform", "address", "user", "host-keys"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.MarkFlagsOneRequired("password-file", "key-file")
	cmd.MarkFlagsMutuallyExclusive("password-file", "key-file")
}

// driver reads the files of the flags.
func (r *reach) driver() (*sshcli.Driver, error) {
	c := sshcli.Config{Platform: sshcli.Named(r.platform), Address: r.address, User: r.user, Timeout: r.timeout}
	if c.Platform == nil {
		return nil, fmt.Errorf("--platform: Unsupported value: %q: want %s", r.platform, sshcli.FRR.Name)
	}
	if r.timeout <= 0 || r.within <= 0 {
		return nil, errors.New("--timeout and --within: Invalid value: want more than 0s, such as 30s")
	}
	for file, into := range map[string]func([]byte){
		r.passwordFile: func(b []byte) { c.Password = strings.TrimRight(string(b), "\r\n") },
		r.keyFile:      func(b []byte) { c.PrivateKey = b },
		r.hostKeys:     func(b []byte) { c.HostKeys = b },
	} {
		if file == "" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		into(content)
	}
	return sshcli.New(c)
}

// begin returns the driver, and a context that ends in time and with an interrupt.
func (r *reach) begin(ctx context.Context) (*sshcli.Driver, context.Context, context.CancelFunc, error) {
	d, err := r.driver()
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(ctx, r.within, fmt.Errorf("--within %v is over", r.within))
	context.AfterFunc(ctx, stop) // A second interrupt ends the program, also while it restores.
	return d, ctx, func() { cancel(); stop() }, nil
}

func newConfigureReadCommand() *cobra.Command {
	var r reach
	cmd := &cobra.Command{
		Use:   "read",
		Short: "Print the configuration that a device reports, without comments",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, ctx, cancel, err := r.begin(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			_, have, err := configure.Plan(ctx, d, nil)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), have.String())
			return err
		},
	}
	r.addFlags(cmd)
	return cmd
}

// wanted reads a configuration from a file. Nothing in it is a mistake: it would remove everything.
func wanted(d *sshcli.Driver, file string) (text.Tree, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	want := d.Dialect().Parse(string(content))
	if len(want) == 0 {
		return nil, hint.With(fmt.Errorf("%s: Invalid value: it configures nothing, and all of the device's configuration would be removed", file),
			"give a whole configuration, such as the output of nodrop configure read with changes")
	}
	return want, nil
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
			d, ctx, cancel, err := r.begin(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			want, err := wanted(d, args[0])
			if err != nil {
				return err
			}
			commands, _, err := configure.Plan(ctx, d, want)
			if err != nil {
				return err
			}
			if len(commands) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "the device has this configuration")
			}
			for _, c := range commands {
				fmt.Fprintln(cmd.OutOrStdout(), d.Dialect().Mask(c))
			}
			return nil
		},
	}
	r.addFlags(cmd)
	return cmd
}

func newConfigureApplyCommand() *cobra.Command {
	var r reach
	var output string
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
		if output != "table" && output != "json" {
			return fmt.Errorf("--output: Unsupported value: %q: want table or json", output)
		}
		d, ctx, cancel, err := r.begin(cmd.Context())
		if err != nil {
			return err
		}
		defer cancel()
		want, err := wanted(d, args[0])
		if err != nil {
			return err
		}
		record, err := configure.Apply(ctx, d, want, restoring)
		return errors.Join(sayConfigured(cmd.OutOrStdout(), output, record), codedAsConfigured(record, err))
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
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

// sayConfigured writes what was done.
func sayConfigured(w io.Writer, output string, record *configure.Record) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(record)
	}
	if record.Sessions == 0 {
		return nil
	}
	for _, a := range record.Answers {
		if a.Text != "" {
			fmt.Fprintf(w, "%s\n  %s\n", a.Command, strings.ReplaceAll(a.Text, "\n", "\n  "))
		}
	}
	_, err := fmt.Fprintf(w, "commands: %d in %s; sessions: %d, lost: %d\nbefore  %s\nafter   %s\n",
		len(record.Answers), record.Took.Round(time.Millisecond), record.Sessions, record.Lost, record.BeforeDigest, record.AfterDigest)
	return err
}

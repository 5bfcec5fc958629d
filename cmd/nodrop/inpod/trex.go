//go:build !standalone

package inpod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// NewTRexCommand returns the command that starts a TRex server.
func NewTRexCommand() *cobra.Command {
	trex := &cobra.Command{
		Use:   "trex",
		Short: "Start and check a TRex server for an agent",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	trex.AddCommand(newTRexServeCommand(), newTRexAliveCommand(), newTRexInstallCommand())
	return trex
}

// trexServeOptions are the flags of nodrop trex serve.
type trexServeOptions struct {
	config, state string
	startTimeout  time.Duration
}

func newTRexServeCommand() *cobra.Command {
	var o trexServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a TRex server until it is stopped",
		Long: `Run a TRex server on the ports that this container was given: write its
configuration, keep its RPC to the loopback interface, start it without its
wrapper scripts, and pass on what it writes. SIGTERM ends it.

Exit codes: 0 when stopped by a signal, 1 when the server ended by itself or did not start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return serveTRex(ctx, o, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "/etc/nodrop/config/trex.json", "file with the server's ports")
	cmd.Flags().StringVar(&o.state, "state-dir", os.TempDir(), "where the server's configuration and run-time files are put, in a directory of their own")
	cmd.Flags().DurationVar(&o.startTimeout, "start-timeout", 2*time.Minute, "how long the server may take until its RPC answers")
	return cmd
}

func serveTRex(ctx context.Context, o trexServeOptions, w io.Writer) error {
	var config server.Config
	if err := readJSON(o.config, &config); err != nil {
		return err
	}
	starting, cancel := context.WithTimeoutCause(ctx, o.startTimeout, fmt.Errorf("--start-timeout %v is over", o.startTimeout))
	defer cancel()
	s, err := server.Start(starting, config, server.Options{
		StateDir: o.state, Guard: true,
		Output: func(line string) { fmt.Fprintln(w, "trex:", line) },
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it answered
		}
		return err
	}
	log := podLog(w)
	log.Info("the TRex server answers", "version", s.Version(), "endpoint", s.Endpoint(), "ports", len(config.Ports))
	select {
	case <-s.Done():
		return errors.Join(s.Err(), s.Close())
	case <-ctx.Done():
	}
	if err := s.Close(); err != nil {
		return err
	}
	log.Info("the TRex server has ended")
	return nil
}

func newTRexAliveCommand() *cobra.Command {
	var endpoint string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "alive",
		Short: "Say whether a TRex server answers",
		Long: `Ask a TRex server for its version, once: for probes of the kubelet.

Exit codes: 0 when it answers, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("the TRex server at %s did not answer within %v", endpoint, timeout))
			defer cancel()
			version, err := server.Alive(ctx, endpoint)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "TRex %s at %s\n", version, endpoint)
			return nil
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "tcp://127.0.0.1:4501", "where the server's RPC is")
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long the answer may take")
	return cmd
}

func newTRexInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install DIR",
		Short: "Copy this program into a directory",
		Long: `Copy this program into a directory, as DIR/nodrop: for the init container that
brings it into the container of the TRex server, whose image has no nodrop.

Exit codes: 0 when it is there, 1 otherwise.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := filepath.Join(args[0], "nodrop")
			if err := installProgram(path); err != nil {
				return fmt.Errorf("installing %s: %w", path, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "installed %s\n", path)
			return nil
		},
	}
}

// installProgram copies this program. The copy appears complete or not at all.
func installProgram(path string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(path), ".nodrop-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to.Name()))
		}
	}()
	_, err = io.Copy(to, from)
	err = errors.Join(err, to.Chmod(0o755), to.Close())
	if err != nil {
		return err
	}
	return os.Rename(to.Name(), path)
}

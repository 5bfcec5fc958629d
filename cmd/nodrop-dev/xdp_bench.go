package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/traffic/xdp/xdpbench"
)

func newXDPBenchCommand() *cobra.Command {
	o := xdpbench.Options{}
	cmd := &cobra.Command{
		Use:   "xdp-bench",
		Short: "Measure the engine xdp against a bare loop of live frames",
		Long: `Measure on this machine how many frames per second the engine xdp sends and receives,
through a cable, a Linux bridge and a Linux router in network namespaces of their
own, next to three bare loops: one hands 64 frames over at once and counts by one
addition, one hands over 16 at once, and one cuts and writes these as well; and how
constant it keeps loads of 1 Gbit/s. Rounds are interleaved, and the medians are
printed. It needs root, and a quiet machine.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().DurationVar(&o.Trial, "duration", time.Second, "how long each measurement lasts")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 5, "how many times each is done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Rounds < 1 || o.Trial < 10*time.Millisecond {
			return errors.New("--rounds must be at least 1, and --duration at least 10ms")
		}
		if os.Geteuid() != 0 {
			return hint.With(errors.New("xdp-bench makes network namespaces and loads BPF programs, which only root may"), "sudo nodrop-dev xdp-bench")
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		result, err := xdpbench.Run(ctx, o)
		if err != nil {
			return err
		}
		return result.Print(cmd.OutOrStdout())
	}
	return cmd
}

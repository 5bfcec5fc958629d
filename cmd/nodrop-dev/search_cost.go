package main

import (
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/measure/search/cost"
)

func newSearchCostCommand() *cobra.Command {
	setup := cost.DefaultSetup()
	cmd := &cobra.Command{
		Use:   "search-cost",
		Short: "Compare what the searches cost on simulated noisy devices",
		Long: `Run the searches that a throughput test can choose on simulated noisy devices,
and print how many trials and how much time each takes, with settling and rest, how
far from the true rate it ends, how likely a fresh trial at the rate found loses a
frame, and how many failures it took back. The result is a function of the seeds.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&setup.Seeds, "runs", setup.Seeds, "devices, each searched at 8 frame sizes by every search")
	cmd.Flags().Uint64Var(&setup.First, "first-seed", setup.First, "seed of the first device; the searches were tuned on 1 to 300")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if setup.Seeds < 1 {
			return errors.New("--runs must be at least 1")
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		rows, err := cost.Compare(ctx, setup)
		if err != nil {
			return err
		}
		return cost.Print(cmd.OutOrStdout(), setup, rows)
	}
	return cmd
}

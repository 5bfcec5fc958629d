package main

import (
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/truth"
)

func newGroundTruthCommand() *cobra.Command {
	pairs, first, only := 1000, uint64(1), ""
	cmd := &cobra.Command{
		Use:   "ground-truth",
		Short: "Measure modeled devices of which the true answers are known",
		Long: `Measure pairs of a modeled device, whose true answers are known, and of a modeled tester with
known faults, by each method. Print how many of their rows are right within their intervals,
how many are marked as inconclusive, and how many are wrong and not marked. The result is a
function of the seeds.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&pairs, "pairs", pairs, "pairs of each method")
	cmd.Flags().Uint64Var(&first, "seed", first, "seed of the first pair")
	cmd.Flags().StringVar(&only, "method", only, "the only method that is measured, such as Throughput; all by default")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if pairs < 1 {
			return errors.New("--pairs must be at least 1")
		}
		methods := truth.Methods()
		if only != "" {
			i := slices.IndexFunc(methods, func(m v1alpha1.Method) bool { return strings.EqualFold(string(m), only) })
			if i < 0 {
				return fmt.Errorf("--method is %q, which has no ground truth: give one of %v", only, methods)
			}
			methods = methods[i : i+1]
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		var lines []truth.Line
		wrong := 0
		for _, method := range methods {
			line, err := truth.Measure(ctx, method, first, pairs, manifest.Default)
			if err != nil {
				return err
			}
			for _, text := range line.Wrong {
				if _, err := fmt.Fprintln(cmd.ErrOrStderr(), text); err != nil {
					return err
				}
			}
			wrong += max(0, len(line.Wrong)-line.Allowed())
			lines = append(lines, line)
		}
		if err := truth.Print(cmd.OutOrStdout(), lines); err != nil {
			return err
		}
		if wrong > 0 {
			return fmt.Errorf("%d pairs more than one in a thousand of their method are wrong and unmarked", wrong)
		}
		return nil
	}
	return cmd
}

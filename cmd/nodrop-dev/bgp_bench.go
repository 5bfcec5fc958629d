package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop-dev/bgpbench"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/router"
)

func newBGPBenchCommand() *cobra.Command {
	o := bgpbench.Options{}
	var routes uint32
	var ipv6 bool
	cmd := &cobra.Command{
		Use:   "bgp-bench",
		Short: "Measure how fast routes are announced, next to gobgpd",
		Long: `Measure on this machine how long the speaker of NoDrop and gobgpd, by its gRPC API,
take to bring routes through the routers FRR and BIRD in network namespaces of their
own, until a second peer has learnt all of them. The share of the elapsed time that
the speaker needs for itself, and the memory of injector and router, are printed. It
needs root, the packages frr and bird2, and a quiet machine.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().Uint32Var(&routes, "routes", 0, "measure this number of routes in place of 100000, 500000 and 1000000, and 500000 of IPv6")
	cmd.Flags().BoolVar(&ipv6, "ipv6", false, "with --routes: of IPv6")
	cmd.Flags().StringSliceVar(&o.Routers, "router", []string{router.FRR, router.BIRD}, "the routers")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 3*time.Minute, "how long a single measurement may take")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if os.Geteuid() != 0 {
			return hint.With(errors.New("bgp-bench makes network namespaces, which only root may"), "sudo nodrop-dev bgp-bench")
		}
		o.Cases = bgpbench.Cases()
		if routes > 0 {
			o.Cases = []bgpbench.Case{{Routes: routes, IPv6: ipv6}}
		}
		var err error
		if o.Program, err = os.Executable(); err != nil {
			return err
		}
		o.Arguments = []string{"bgp-bench", "inject"}
		o.Progress = func(r bgpbench.Row) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d routes by %s into %s: %.2f s\n", r.Routes, r.Injector, r.Router, r.Elapsed.Seconds())
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		rows, err := bgpbench.Run(ctx, o)
		return errors.Join(bgpbench.Print(cmd.OutOrStdout(), rows), err)
	}
	cmd.AddCommand(&cobra.Command{
		Use: "inject", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bgpbench.Inject(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}

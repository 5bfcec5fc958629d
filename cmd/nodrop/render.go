package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/manifests/policy"
	"nodrop.dev/nodrop/internal/measure/plan"
)

func newRenderCommand() *cobra.Command {
	var in manifestFlags
	var kind string
	var given []string
	cmd := &cobra.Command{
		Use:   "render -f FILE --kind KIND [BED]",
		Short: "Print the device's configuration for the BGP sessions and multicast routing of a bed",
		Long: `Print what the device of a bed has to be configured with for the BGP sessions and the
multicast routing of the bed: interfaces, addresses, VLANs, neighbors, address families,
timers, BFD, filters that accept the routes which the policy of the bed allows, and PIM
with its rendezvous point. Passwords are placeholders.`,
		Example: `  nodrop render -f testbed.yaml --kind frr
  nodrop render -f testbed.yaml --kind eos --interface p1=Ethernet49/1 --interface p2=Ethernet50/1`,
		Args: cobra.MaximumNArgs(1),
	}
	in.addFlags(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "kind of the device: "+strings.Join(router.Kinds(), ", ")+" (required)")
	cmd.Flags().StringArrayVar(&given, "interface", nil, "PORT=NAME, the device's interface at a port of the bed; without it they count up: "+router.InterfaceName(router.EOS, 0, 0)+", "+router.InterfaceName(router.EOS, 1, 0)+"; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(router.Kinds(), kind) {
			return hint.With(fmt.Errorf("--kind: there is no kind %q", kind), "give one of "+strings.Join(router.Kinds(), ", "))
		}
		names, err := interfaceNames(given)
		if err != nil {
			return err
		}
		set, defaultPolicy, err := in.load(cmd, cmd.InOrStdin())
		if err != nil {
			return err
		}
		bundle, err := set.ResolveBed(nameIn(args))
		if err != nil {
			return err
		}
		if err := bundle.Invalid(plan.ValidateBed(&bundle.Bed)); err != nil {
			return err
		}
		ports, _ := plan.Ports(&bundle.Bed)
		for port := range names {
			if !slices.ContainsFunc(ports, func(p plan.Port) bool { return p.Name == port }) {
				return fmt.Errorf("--interface: test bed %s has no port %q; its %d ports are %s to %s", bundle.Bed.Name, port, len(ports), ports[0].Name, ports[len(ports)-1].Name)
			}
		}
		config, errs := router.ForBed(&bundle.Bed, kind, names)
		if err := bundle.Invalid(errs); err != nil {
			return err
		}
		config.Accept = policy.Networks(&bundle.Bed, defaultPolicy)
		return router.Render(cmd.OutOrStdout(), kind, config)
	}
	return cmd
}

// interfaceNames are the interfaces of the device by port.
func interfaceNames(given []string) (map[string]string, error) {
	names := map[string]string{}
	for _, text := range given {
		port, name, ok := strings.Cut(text, "=")
		if !ok || port == "" || name == "" {
			return nil, hint.With(fmt.Errorf("--interface: %q is not PORT=NAME", text), "give the name of a port and the device's interface there, such as p1=Ethernet1")
		}
		if _, twice := names[port]; twice {
			return nil, errors.New("--interface: port " + port + " is given twice")
		}
		names[port] = name
	}
	return names, nil
}

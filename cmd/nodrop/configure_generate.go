package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/dut/configure/generate"
)

func newConfigureGenerateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the configuration that a test needs, in the words of a device",
		Long: `Write the configuration that a test needs. For nftables it is whole. For other devices add it to the
output of nodrop configure read, or to what the device has.`,
	}
	cmd.AddCommand(newGenerateACLCommand(), newGenerateFilterCommand(), newGenerateNATCommand(), newGenerateMirrorCommand(), newGenerateClassesCommand())
	return cmd
}

// generator adds to a command what all kinds of configurations have. Prepare reads the flags that are not ready to be
// used; it may be nil.
func generator(cmd *cobra.Command, kind string, name *string, prepare func() error, write func(generate.Dialect) (string, error)) *cobra.Command {
	var dialect string
	cmd.Use, cmd.Args = kind, cobra.NoArgs
	cmd.Flags().StringVar(&dialect, "dialect", "", "words of the device: "+generate.NamesOf(kind)+" (required)")
	cmd.Flags().StringVar(name, "name", "lab", "name of the configuration on the device")
	_ = cmd.MarkFlagRequired("dialect")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if prepare != nil {
			if err := prepare(); err != nil {
				return err
			}
		}
		out, err := write(generate.Dialect(dialect))
		if err != nil {
			return fmt.Errorf("--%w", err)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), out)
		return err
	}
	return cmd
}

// network reads a network from a flag.
func network(flag, text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("--%s: Invalid value: %q: want an IPv4 network, such as 198.18.1.0/24", flag, text)
	}
	return p, nil
}

// portAndAddresses splits the value of a flag: a port, and addresses behind it.
func portAndAddresses(flag, text, form string) (port string, addresses []netip.Addr, _ error) {
	wrong := fmt.Errorf("--%s: Invalid value: %q: want %s", flag, text, form)
	shape, _, _ := strings.Cut(form, ",")
	parts := strings.Split(text, "=")
	if len(parts) != strings.Count(shape, "=")+1 {
		return "", nil, wrong
	}
	for _, part := range parts[1:] {
		a, err := netip.ParseAddr(part)
		if err != nil {
			return "", nil, wrong
		}
		addresses = append(addresses, a)
	}
	return parts[0], addresses, nil
}

func newGenerateACLCommand() *cobra.Command {
	var a generate.ACL
	var permit []string
	cmd := &cobra.Command{
		Short: "Write an access list on the way into every port",
		Long: `Write an access list on the way into every port. Its entries deny one address each of 198.19.0.0/16, from which no
frame of the test comes. The other entries permit the traffic, one for each network of --permit. What no
entry permits is dropped. --match is the place of the traffic's entries: first, middle, last; or never, with which the list
permits what it does not name, on devices that can.

  nodrop configure generate acl --dialect nftables --ports e1,e2 --entries 201 \
    --permit 198.18.1.0/24,198.18.2.0/24 --match last > acl-last.conf`,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&a.Ports, "ports", nil, "interfaces of the device")
	flags.IntVar(&a.Entries, "entries", 201, fmt.Sprintf("number of entries, 1 to %d", generate.MaxEntries))
	flags.StringSliceVar(&permit, "permit", nil, "networks that traffic comes from")
	flags.StringVar((*string)(&a.Match), "match", string(generate.MatchLast), "where the traffic's entries are: first, middle, last or never")
	return generator(cmd, "acl", &a.Name, func() error {
		for _, text := range permit {
			p, err := network("permit", text)
			if err != nil {
				return err
			}
			a.Permit = append(a.Permit, p)
		}
		return nil
	}, a.Write)
}

func newGenerateFilterCommand() *cobra.Command {
	var f generate.Filter
	var first, action string
	cmd := &cobra.Command{
		Short: "Write a filter of networks that frames go to",
		Long: `Write a filter of the networks that frames go to, such as half of the networks that a device learns. With the action deny frames
to them are dropped; with allow an entry permits each, and nothing is dropped.

  nodrop configure generate filter --dialect nftables --ports e1,e2 --direction ingress \
    --first 198.18.64.0/24 --count 4 --action deny > deny.conf`,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Ports, "ports", nil, "interfaces of the device")
	flags.StringVar((*string)(&f.Direction), "direction", string(generate.Ingress), "where frames meet the filter: ingress or egress")
	flags.StringVar(&first, "first", "", "first network; the others follow it")
	flags.IntVar(&f.Count, "count", 1, fmt.Sprintf("number of networks, 1 to %d", generate.MaxNetworks))
	flags.StringVar(&action, "action", "deny", "what happens to frames to the networks: deny or allow")
	return generator(cmd, "filter", &f.Name, func() (err error) {
		if action != "deny" && action != "allow" {
			return fmt.Errorf("--action: Unsupported value: %q: want deny, allow", action)
		}
		f.Deny = action == "deny"
		f.First, err = network("first", first)
		return err
	}, f.Write)
}

func newGenerateNATCommand() *cobra.Command {
	var n generate.NAT
	var inside string
	var static, pat []string
	cmd := &cobra.Command{
		Short: "Write translation of addresses, static and with ports",
		Long: `Write translation of the addresses of an inside network: static, one address for another, on some outside ports, and
with ports (PAT), all behind one address, on others. Frames that are not translated are dropped.

  nodrop configure generate nat --dialect nftables --inside 198.18.1.0/24 \
    --static e2=198.18.1.2=198.18.2.200 --pat e3=198.18.3.200 > nat.conf`,
	}
	flags := cmd.Flags()
	flags.StringVar(&inside, "inside", "", "network whose addresses are translated")
	flags.StringSliceVar(&static, "static", nil, "PORT=INSIDE=OUTSIDE: outside port, inside address and its translation")
	flags.StringSliceVar(&pat, "pat", nil, "PORT=OUTSIDE: outside port, and the address of all that leaves there")
	return generator(cmd, "nat", &n.Name, func() (err error) {
		if n.Inside, err = network("inside", inside); err != nil {
			return err
		}
		for _, text := range static {
			port, addresses, err := portAndAddresses("static", text, "PORT=INSIDE=OUTSIDE, such as e2=198.18.1.2=198.18.2.200")
			if err != nil {
				return err
			}
			n.Static = append(n.Static, generate.StaticNAT{Port: port, Inside: addresses[0], Outside: addresses[1]})
		}
		for _, text := range pat {
			port, addresses, err := portAndAddresses("pat", text, "PORT=OUTSIDE, such as e3=198.18.3.200")
			if err != nil {
				return err
			}
			n.PAT = append(n.PAT, generate.PAT{Port: port, Outside: addresses[0]})
		}
		return nil
	}, n.Write)
}

func newGenerateMirrorCommand() *cobra.Command {
	var m generate.Mirror
	cmd := &cobra.Command{
		Short: "Write a mirror of the frames that come into a port",
		Long: `Write a mirror: copies of all frames that come into a port leave at others.

  nodrop configure generate mirror --dialect nftables --from e1 --to e3,e4 > mirror.conf`,
	}
	cmd.Flags().StringVar(&m.From, "from", "", "interface whose frames are copied")
	cmd.Flags().StringSliceVar(&m.To, "to", nil, "interfaces that send the copies")
	return generator(cmd, "mirror", &m.Name, nil, m.Write)
}

func newGenerateClassesCommand() *cobra.Command {
	var c generate.Classes
	var list []string
	cmd := &cobra.Command{
		Short: "Write which queue frames of a code point have",
		Long: `Write which queue of a port frames have, by their code point. The device must have the queues, such as classes
of htb on Linux, with their shares of the port.

  nodrop configure generate classes --dialect nftables --port e2 \
    --class cs5=1:10,cs3=1:20 --default 1:30 > classes.conf`,
	}
	cmd.Flags().StringVar(&c.Port, "port", "", "interface with the queues")
	cmd.Flags().StringSliceVar(&list, "class", nil, "DSCP=QUEUE: a code point, and its queue")
	cmd.Flags().StringVar(&c.Default, "default", "", "queue of all other frames")
	return generator(cmd, "classes", &c.Name, func() error {
		for _, text := range list {
			point, queue, found := strings.Cut(text, "=")
			if !found {
				return fmt.Errorf("--class: Invalid value: %q: want DSCP=QUEUE, such as cs5=1:10", text)
			}
			c.Classes = append(c.Classes, generate.Class{DSCP: point, Queue: queue})
		}
		return nil
	}, c.Write)
}

//go:build !standalone

package inpod

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/lab/bedprobe"
)

// NewBedProbeCommand returns the command that reads the interfaces of a bed on their node.
func NewBedProbeCommand() *cobra.Command {
	var options bedprobe.Options
	var answer string
	cmd := &cobra.Command{
		Use:   "bed-probe PORT=INTERFACE@SPEED...",
		Short: "Compare interfaces of this node with the ports of a bed",
		Long: `Compare interfaces of this node with the ports of a bed, whose speed is in Mbit/s:
p1=eth1@10000. It writes as JSON which interfaces are missing, have no link or are
slower, and the time of the node. It needs no privilege, and changes nothing. The
operator runs it in pods with the network of the node before it leases a bed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ports []bedprobe.Port
			for _, arg := range args {
				port, err := bedprobe.ParsePort(arg)
				if err != nil {
					return err
				}
				ports = append(ports, port)
			}
			found, err := bedprobe.Probe(ports, options, time.Now(), bedprobe.ReadLink)
			if err != nil {
				return err
			}
			text, err := found.Encode()
			if err != nil {
				return err
			}
			if answer != "" {
				err = os.WriteFile(answer, text, 0o600)
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
			}
			if err != nil {
				return fmt.Errorf("writing the answer: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&options.IgnoreLinks, "ignore-links", false, "compare neither links nor speeds")
	cmd.Flags().StringVar(&answer, "answer", "", "file that gets the answer; empty prints it")
	return cmd
}

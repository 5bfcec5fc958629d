//go:build !standalone

package inpod

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/lab/doctor/probe"
)

// NewDoctorNodeCommand returns the command that looks at a node for doctor.
func NewDoctorNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor-node",
		Short: "Say as JSON what this node has for traffic engines",
		Long: `Say as JSON what the node that it runs on has for traffic engines: huge pages,
IOMMU, kernel, network cards. It reads what is open to everybody, needs no
privilege, and changes nothing. "kubectl nodrop doctor --probe" runs it in pods.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, err := probe.Read(os.DirFS("/"))
			if err != nil {
				return err
			}
			node.PacketSockets = probe.PacketSockets()
			return json.NewEncoder(cmd.OutOrStdout()).Encode(node)
		},
	}
}

//go:build !standalone

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/internal/base/hint"
)

func newCordonCommand() *cobra.Command {
	return newClosingCommand("cordon", "Close beds: who has one finishes, and no other benchmark gets it", "closed", `{"spec":{"unschedulable":true}}`)
}

func newUncordonCommand() *cobra.Command {
	return newClosingCommand("uncordon", "Open beds again that were closed with cordon", "open", `{"spec":{"unschedulable":null}}`)
}

func newClosingCommand(name, short, state, patch string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name + " BED...",
		Short:   short,
		Example: "  kubectl nodrop " + name + " access-switch",
		Args:    cobra.MinimumNArgs(1),
	}
	k := cluster.NewClient(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, _, err := k.Connect()
		if err != nil {
			return err
		}
		for _, name := range args {
			bed := &v1alpha1.TestBed{}
			bed.Name = name
			err := c.Patch(cmd.Context(), bed, client.RawPatch(types.MergePatchType, []byte(patch)))
			switch {
			case apierrors.IsNotFound(err):
				return hint.With(fmt.Errorf("there is no TestBed %q", name), "kubectl get testbeds lists them")
			case apierrors.IsForbidden(err):
				return hint.With(err, "ask an owner of the lab, who has the ClusterRole nodrop-lab-owner")
			case err != nil:
				return cluster.Unreachable(err)
			}
			line := "TestBed " + name + " is " + state
			if l := bed.Status.Lease; l != nil {
				line += "; benchmark " + l.Holder + " has it"
			}
			fmt.Fprintln(cmd.OutOrStdout(), line)
		}
		return nil
	}
	return cmd
}

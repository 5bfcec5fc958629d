//go:build !standalone

package inpod

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/apart"
)

// NewLargeResultCommand returns the command with which the operator reads and writes large results.
func NewLargeResultCommand() *cobra.Command {
	return &cobra.Command{
		Use:    apart.Command,
		Short:  "Read or write one large result for the operator, in a process with little memory",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := apart.Limit(); err != nil {
				return err
			}
			ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
			worker := lazily{}
			if !apart.Main(cmd.Context(), worker, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()) {
				return &exit.Coded{Code: 1}
			}
			return nil
		},
	}
}

// lazily connects to the API server for tasks that need it.
type lazily struct{}

func (lazily) Do(ctx context.Context, t apart.Task, out io.Writer) error {
	if !t.NeedsAPI() {
		return apart.Here{}.Do(ctx, t, out)
	}
	rc, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	rc.QPS = -1
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	reader, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	return apart.Here{Reader: reader}.Do(ctx, t, out)
}

//go:build !standalone

package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/report"
)

func newReportCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "report NAME|FILE|URL",
		Short: "Print the result of a benchmark in the cluster, in an archive, or of a file",
		Long: `Print the result of a benchmark in the cluster: as a table, as a report in HTML or
Markdown, or as a document for programs. A benchmark that still runs is reported
with the rows that are finished. A result in an archive is given by the URL of its
document (file:///DIRECTORY/... or s3://BUCKET/...), and one that was kept as JSON or
YAML by its file name, compressed with zstd or not; both need no cluster. The exit
code is 0 when there is something to report.`,
		Example: `  kubectl nodrop report router-rfc2544 -n team-routing
  kubectl nodrop report router-rfc2544 -o html --output-file report.html
  nodrop report result.json -o html --output-file report.html
  nodrop report "$(kubectl get benchmark router-rfc2544 -o jsonpath='{.status.results.archive.url}')"`,
		Args: cobra.ExactArgs(1),
	}
	k := newKube(cmd)
	out.addFlags(cmd, report.Formats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := out.check(); err != nil {
			return err
		}
		document, err := (&source{kube: k}).read(ctx, args[0])
		if err != nil {
			return err
		}
		return out.write(cmd.OutOrStdout(), document)
	}
	return cmd
}

func getBenchmark(ctx context.Context, c client.Client, key client.ObjectKey) (*v1alpha1.Benchmark, error) {
	var benchmark v1alpha1.Benchmark
	err := c.Get(ctx, key, &benchmark)
	switch {
	case apierrors.IsNotFound(err):
		return nil, benchmarkNotFound(ctx, c, key)
	case err != nil:
		return nil, unreachable(err)
	}
	return &benchmark, nil
}

//go:build !standalone

package documents

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// Source reads finished results from the cluster, from an archive, or from files.
type Source struct {
	kube *cluster.Client
	// client is made when the first benchmark of the cluster is asked for.
	client    client.WithWatch
	namespace string
	// archive is the URL of the archive that a benchmark of the cluster is in; empty before one is known.
	archive string
}

// Argument describes the argument that names a result.
const Argument = "NAME|FILE|URL"

// Help describes how a result is named, and Examples shows it.
const (
	Help = `A result is given by the name of its benchmark in the cluster, by the URL of its
document in an archive (file:///DIRECTORY/... or s3://BUCKET/...), or by the name of a
file that -o json or -o yaml has written, compressed with zstd or not; the last two
need no cluster. A benchmark that still runs has the rows that are finished.`
	Examples = `
  kubectl nodrop report router-rfc2544 -n team-routing
  nodrop report "$(kubectl get benchmark router-rfc2544 -o jsonpath='{.status.results.archive.url}')"`
)

// HistoryArgument describes the argument that names the results of a history.
const HistoryArgument = "NAME|FOLDER|FILE|URL"

// HistoryHelp describes how the results of a history are named, and HistoryExamples shows it.
const (
	HistoryHelp = `Results are given by the name of a benchmark in the cluster, whose archive has all runs of
that name; by the URL of a folder or of a document in an archive (file:///DIRECTORY/... or
s3://BUCKET/...), where a folder NAMESPACE/NAME has the runs of all namespaces of that name; by a directory; or by files that -o json or -o yaml has written. All but
the first need no cluster.`
	HistoryExamples = `
  kubectl nodrop history router-rfc2544 -n team-routing
  nodrop history s3://BUCKET/PREFIX/team-routing/router-rfc2544`
)

// NewSource adds the flags that lead to the cluster.
func NewSource(cmd *cobra.Command) *Source { return &Source{kube: cluster.NewClient(cmd)} }

// Read returns the result of a benchmark in the cluster, or that of a document in
// an archive or in a file.
func (s *Source) Read(ctx context.Context, name string) (*report.Document, error) {
	if IsURL(name) || IsFile(name) {
		if err := archive.CheckEndpoint(name, s.archive); err != nil {
			return nil, err
		}
		d, err := archive.Result(ctx, name)
		return explained(name, d, err)
	}
	if s.client == nil {
		var err error
		if s.client, s.namespace, err = s.kube.Connect(); err != nil {
			return nil, err
		}
	}
	benchmark, err := cluster.GetBenchmark(ctx, s.client, client.ObjectKey{Namespace: s.namespace, Name: name})
	if err != nil {
		return nil, err
	}
	return OfBenchmark(ctx, s.client, benchmark)
}

// Figures returns a result as Read does, but of a document only its figures, which is quick for
// large ones.
func (s *Source) Figures(ctx context.Context, name string) (*report.Document, error) {
	if !IsURL(name) && !IsFile(name) {
		return s.Read(ctx, name)
	}
	if err := archive.CheckEndpoint(name, s.archive); err != nil {
		return nil, err
	}
	d, err := archive.Figures(ctx, name)
	return explained(name, d, err)
}

// OfBenchmark is the result of a benchmark in the cluster.
func OfBenchmark(ctx context.Context, c client.Client, benchmark *v1alpha1.Benchmark) (*report.Document, error) {
	summary := benchmark.Status.Results
	if summary == nil {
		summary = &v1alpha1.ResultSummary{}
	}
	content, err := stored.Content(ctx, c, benchmark)
	switch {
	case err != nil && summary.Archive != nil:
		return nil, hint.With(fmt.Errorf("reading the result: %w", err), "the archive has it: kubectl nodrop report "+summary.Archive.URL)
	case err != nil:
		return nil, cluster.Unreachable(err)
	}
	if content.NamespaceUID, err = stored.ReadableNamespaceUID(ctx, c, benchmark.Namespace); err != nil {
		return nil, cluster.Unreachable(err)
	}
	if gone := int(summary.Rows) - len(content.Rows); gone > 0 {
		note := fmt.Sprintf("%d of %d rows are no longer in the cluster", gone, summary.Rows)
		if summary.Archive != nil {
			note += "; the archive has them all: " + summary.Archive.URL
		}
		content.Notes = append(content.Notes, note)
	}
	if content.Profile == nil { // The benchmark was not accepted yet.
		if profile := cluster.ProfileOf(ctx, c, benchmark); profile != nil {
			content.Profile = profile.For(&benchmark.Spec)
		}
	}
	return report.New(content), nil
}

// History are the results that an argument names: a file, a document or a folder of an
// archive, or all runs of a benchmark of the cluster.
func (s *Source) History(ctx context.Context, name string) ([]string, error) {
	place, _, _ := strings.Cut(name, "?") // of a URL, without what its server is reached with
	if document := IsFile(path.Base(place)); document || !IsURL(name) && IsFile(name) {
		return []string{name}, nil
	}
	folder := name
	if IsURL(name) {
		if err := archive.CheckEndpoint(name, s.archive); err != nil {
			return nil, err
		}
	} else {
		var err error
		if folder, err = s.archived(ctx, name); err != nil {
			return nil, err
		}
		s.archive = folder
	}
	urls, err := archive.List(ctx, folder)
	if err == nil && len(urls) == 0 {
		err = hint.With(fmt.Errorf("%s has no results", folder), "a folder of an archive is NAMESPACE/NAMESPACE-UID/NAME of the benchmark, or NAMESPACE/NAME; an archive on a volume of the cluster is read where it is mounted (docs/archive.md#reading)")
	}
	return urls, err
}

// archived is the folder of a benchmark of the cluster in its archive.
func (s *Source) archived(ctx context.Context, name string) (string, error) {
	if s.client == nil {
		var err error
		if s.client, s.namespace, err = s.kube.Connect(); err != nil {
			return "", err
		}
	}
	b, err := cluster.GetBenchmark(ctx, s.client, client.ObjectKey{Namespace: s.namespace, Name: name})
	if err != nil {
		return "", err
	}
	if b.Status.Results == nil || b.Status.Results.Archive == nil {
		return "", hint.With(fmt.Errorf("benchmark %s is not in an archive, which a history is read from", name), "condition Archived of the benchmark says why, once it has ended")
	}
	folder, err := archive.Folder(b.Status.Results.Archive.URL)
	if err != nil {
		return "", fmt.Errorf("benchmark %s: %w", name, err)
	}
	return folder, nil
}

//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/archive"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/report"
	"nodrop.dev/nodrop/internal/stored"
)

// source is where finished results are: in the cluster, in an archive, or in files.
type source struct {
	kube *kube
	// client is made when the first benchmark of the cluster is asked for.
	client    client.WithWatch
	namespace string
}

// isURL reports whether an argument is the URL of a document in an archive.
func isURL(name string) bool { return strings.Contains(name, "://") }

// isFile reports whether an argument is a file: it has the ending of one, or a
// folder before it. A benchmark's name has neither.
func isFile(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".zst"}, filepath.Ext(name)) || strings.ContainsRune(name, filepath.Separator)
}

// read returns the result of a benchmark in the cluster, or that of a document in
// an archive or in a file.
func (s *source) read(ctx context.Context, name string) (*report.Document, error) {
	if isURL(name) || isFile(name) {
		return readDocument(ctx, name)
	}
	if s.client == nil {
		var err error
		if s.client, s.namespace, err = s.kube.connect(); err != nil {
			return nil, err
		}
	}
	benchmark, err := getBenchmark(ctx, s.client, client.ObjectKey{Namespace: s.namespace, Name: name})
	if err != nil {
		return nil, err
	}
	return documentOf(ctx, s.client, benchmark)
}

// documentOf is the result of a benchmark in the cluster.
func documentOf(ctx context.Context, c client.Client, benchmark *v1alpha1.Benchmark) (*report.Document, error) {
	summary := benchmark.Status.Results
	if summary == nil {
		summary = &v1alpha1.ResultSummary{}
	}
	content, err := stored.Content(ctx, c, benchmark)
	switch {
	case err != nil && summary.Archive != nil:
		return nil, hint.With(fmt.Errorf("reading the result: %w", err), "the archive has it: kubectl nodrop report "+summary.Archive.URL)
	case err != nil:
		return nil, unreachable(err)
	}
	if gone := int(summary.Rows) - len(content.Rows); gone > 0 {
		note := fmt.Sprintf("%d of %d rows are no longer in the cluster", gone, summary.Rows)
		if summary.Archive != nil {
			note += "; the archive has them all: " + summary.Archive.URL
		}
		content.Notes = append(content.Notes, note)
	}
	if content.Profile == nil { // The benchmark was not accepted yet.
		content.Profile = profileOf(ctx, c, benchmark)
	}
	return report.New(content), nil
}

// readDocument reads a document in an archive or in a file, compressed or not.
func readDocument(ctx context.Context, where string) (*report.Document, error) {
	text, err := archive.Get(ctx, where)
	switch {
	case err != nil && isURL(where):
		return nil, hint.With(err, "status.results.archive.url of a benchmark has the URL of its document; "+
			"the archive of a lab has it under NAMESPACE/NAME/UID.json.zst, and credentials of S3 are those of the environment or of ~/.aws")
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(err, "an argument with a folder or one of the endings .json, .yaml and .zst is a file; the name of a benchmark has neither")
	case err != nil:
		return nil, err
	}
	document, err := report.Read(text)
	if err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", where, err), "kubectl nodrop report and nodrop run write a result with -o json")
	}
	return document, nil
}

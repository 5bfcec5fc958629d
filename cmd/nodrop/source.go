//go:build !standalone

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/report"
)

// source is where finished results are: in files, or in the cluster.
type source struct {
	kube *kube
	// client is made when the first benchmark of the cluster is asked for.
	client    client.WithWatch
	namespace string
}

// isFile reports whether an argument is a file: it has the ending of one, or a
// folder before it. A benchmark's name has neither.
func isFile(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(name)) || strings.ContainsRune(name, filepath.Separator)
}

// read returns the result of a benchmark in the cluster, or that of a file.
func (s *source) read(ctx context.Context, name string) (*report.Document, error) {
	if isFile(name) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a result: %w", err)
		}
		document, err := report.Read(text)
		if err != nil {
			return nil, hint.With(fmt.Errorf("%s: %w", name, err), "nodrop run -f benchmark.yaml -o json --output-file "+name+" writes a result")
		}
		return document, nil
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
	return report.New(report.Content{
		Benchmark: benchmark, Rows: benchmark.Status.Rows, Environment: benchmark.Status.Environment,
		Profile: profileOf(ctx, c, benchmark),
	}), nil
}

package apart

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// Here does tasks in this process.
type Here struct {
	// Reader reads from the API server.
	Reader client.Reader
}

// Do does a task.
func (h Here) Do(ctx context.Context, t Task, out io.Writer) error {
	switch {
	case t.Put != nil:
		return h.put(ctx, t, out)
	case t.Show != nil:
		d, err := h.shown(ctx, *t.Show, t.Format)
		if err != nil {
			return err
		}
		d.Cover.Links = t.Links
		return failed(CauseUnreadable, d.Write(out, t.Format))
	case len(t.Compare) > 0:
		return h.compare(ctx, t, out)
	}
	store, err := archive.Open(t.Archive)
	if err != nil {
		return failed(CauseUnavailable, err)
	}
	defer func() { _ = store.Close() }()
	if t.Figures != "" {
		return failed(CauseUnreadable, store.WriteFigures(ctx, t.Figures, out))
	}
	if t.Format == report.FormatJSON {
		return failed(CauseUnreadable, store.Copy(ctx, t.Document.History, t.Document.UID, out))
	}
	d, err := store.Result(ctx, t.Document.History, t.Document.UID)
	if err != nil {
		return failed(CauseUnreadable, err)
	}
	d.Cover.Links = t.Links
	return failed(CauseUnreadable, d.Write(out, t.Format))
}

// benchmark reads a benchmark.
func (h Here) benchmark(ctx context.Context, of Benchmark) (*v1alpha1.Benchmark, error) {
	b := &v1alpha1.Benchmark{}
	switch err := h.Reader.Get(ctx, of.NamespacedName, b); {
	case apierrors.IsNotFound(err) || err == nil && b.UID != of.UID:
		return nil, missing(of)
	case err != nil:
		return nil, failed(CauseUnreadable, fmt.Errorf("reading benchmark %s: %w", of.NamespacedName, err))
	}
	return b, nil
}

func (h Here) put(ctx context.Context, t Task, out io.Writer) error {
	b, err := h.benchmark(ctx, *t.Put)
	if err != nil {
		return err
	}
	store, err := archive.Open(t.Archive)
	if err != nil {
		return failed(CauseUnavailable, err)
	}
	defer func() { _ = store.Close() }()
	reference, err := Put(ctx, h.Reader, store, b)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(reference)
}

// Archive keeps documents.
type Archive interface {
	// Put writes a document once; the same document a second time changes nothing.
	Put(ctx context.Context, d *report.Document) (v1alpha1.ArchiveReference, error)
}

// Put writes the result of a finished benchmark to an archive, in this process. Its error is a
// Failure.
func Put(ctx context.Context, reader client.Reader, to Archive, b *v1alpha1.Benchmark) (v1alpha1.ArchiveReference, error) {
	d, err := stored.Document(ctx, reader, b)
	if err != nil {
		return v1alpha1.ArchiveReference{}, failed(CauseUnreadable, err)
	}
	reference, err := to.Put(ctx, d)
	return reference, failed(CauseUnavailable, err)
}

// shown is a result for a format: only JSON has the trials of the rows.
func (h Here) shown(ctx context.Context, of Benchmark, format report.Format) (*report.Document, error) {
	b, err := h.benchmark(ctx, of)
	if err != nil {
		return nil, err
	}
	remove := func(row *v1alpha1.ResultRow) { row.TrialRecords = nil }
	if format == report.FormatJSON {
		remove = func(*v1alpha1.ResultRow) {}
	}
	d, _, err := stored.Shown(ctx, h.Reader, h.Reader, b, remove)
	return d, failed(CauseUnreadable, err)
}

func (h Here) compare(ctx context.Context, t Task, out io.Writer) error {
	var documents []*report.Document
	var names []string
	for _, of := range t.Compare {
		d, err := h.shown(ctx, of, t.Format)
		if err != nil {
			return err
		}
		documents, names = append(documents, d), append(names, of.Name)
	}
	c, err := report.Compare(documents, names)
	if err != nil {
		return failed(CauseIncomparable, err)
	}
	c.Links = t.Links
	return failed(CauseUnreadable, c.Write(out, t.Format))
}

package stored

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// noteIncomplete warns of a result of which a part could not be stored, such as in a
// namespace that was being deleted.
const noteIncomplete = "the result is incomplete: not all of its rows could be stored"

// Document returns the whole result of a finished benchmark, as kubectl nodrop report -o json shows
// it. What is stored is read from the API server, once.
func Document(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (*report.Document, error) {
	content, err := Content(ctx, reader, b)
	if err != nil {
		return nil, err
	}
	if content.NamespaceUID, err = NamespaceUID(ctx, reader, b.Namespace); err != nil {
		return nil, err
	}
	if len(content.Rows) > 0 && (b.Status.Results == nil || b.Status.Results.Digest == "") {
		content.Notes = append(content.Notes, noteIncomplete)
	}
	return report.New(content), nil
}

// Shown returns the result of a benchmark that may not be finished, for people. A function may
// remove a part of each row. Profiles has the traffic profiles of benchmarks that were not accepted
// yet. It reports whether all rows are there.
func Shown(ctx context.Context, reader, profiles client.Reader, b *v1alpha1.Benchmark, remove func(*v1alpha1.ResultRow)) (_ *report.Document, complete bool, _ error) {
	all, err := parts(ctx, reader, b, remove)
	if err != nil {
		return nil, false, err
	}
	content, err := contentOf(ctx, reader, b, Join(b, all))
	if err != nil {
		return nil, false, err
	}
	if content.NamespaceUID, err = ReadableNamespaceUID(ctx, reader, b.Namespace); err != nil {
		return nil, false, err
	}
	complete = true
	if of := b.Status.Results; of != nil {
		if gone := int(of.Rows) - len(content.Rows); gone > 0 {
			complete = false
			content.Notes = append(content.Notes, fmt.Sprintf("%d of %d rows are no longer in the cluster", gone, of.Rows))
		}
	}
	if content.Profile == nil { // The benchmark was not accepted yet.
		var profile v1alpha1.TrafficProfile
		if err := profiles.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.TrafficProfileName}, &profile); err == nil {
			content.Profile = profile.For(&b.Spec)
		}
	}
	return report.New(content), complete, nil
}

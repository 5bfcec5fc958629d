package storing

import (
	"context"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// document is the whole result of a finished benchmark, as kubectl nodrop report
// -o json shows it. What is stored is read from the API server, once: the operator
// keeps no results in memory.
func (r *ArchiveReconciler) document(ctx context.Context, b *v1alpha1.Benchmark) (*report.Document, error) {
	content, err := stored.Content(ctx, r.Live, b)
	if err != nil {
		return nil, err
	}
	if content.NamespaceUID, err = stored.NamespaceUID(ctx, r.Live, b.Namespace); err != nil {
		return nil, err
	}
	if len(content.Rows) > 0 && (b.Status.Results == nil || b.Status.Results.Digest == "") {
		content.Notes = append(content.Notes, noteIncomplete)
	}
	return report.New(content), nil
}

// noteIncomplete warns of a result of which a part could not be stored, such as in a
// namespace that was being deleted.
const noteIncomplete = "the result is incomplete: not all of its rows could be stored"

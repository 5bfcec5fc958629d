package kit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Archive keeps finished results.
type Archive interface {
	// Put writes a document once; the same document a second time changes nothing.
	Put(ctx context.Context, d *report.Document) (v1alpha1.ArchiveReference, error)
	// EachOf passes the figures of the newest results of a history to a function. It returns the
	// results that could not be read.
	EachOf(ctx context.Context, of history.Key, newest int, do func(*report.Document) error) ([]history.Unreadable, error)
	// URL returns the address of the archive, without credentials.
	URL() string
}

// IsArchived reports whether the result is in the archive.
func IsArchived(b *v1alpha1.Benchmark) bool {
	return b.Status.Results != nil && b.Status.Results.Archive != nil
}

// AwaitsRecorder reports whether the recorder of a lab that has one may still get rows of a
// benchmark.
func AwaitsRecorder(b *v1alpha1.Benchmark) bool {
	return HasRows(b) && !IsTrue(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) &&
		ReasonOf(b.Status.Conditions, v1alpha1.ConditionMetricsRecorded) != v1alpha1.ReasonPointsRefused
}

// EndedAt returns the time at which a finished benchmark ended. One that never had a bed has
// no completion time: it ended with the last change of its conditions.
func EndedAt(b *v1alpha1.Benchmark) time.Time {
	if b.Status.CompletionTime != nil {
		return b.Status.CompletionTime.Time
	}
	end := b.CreationTimestamp.Time
	for _, c := range b.Status.Conditions {
		later := c.Type == v1alpha1.ConditionArchived || c.Type == v1alpha1.ConditionRegression || c.Type == v1alpha1.ConditionMetricsRecorded
		if !later && c.LastTransitionTime.After(end) {
			end = c.LastTransitionTime.Time
		}
	}
	return end
}

// WasMeasured reports whether every row of a finished benchmark was measured, and the device
// forwarded frames, whatever its gates say.
func WasMeasured(b *v1alpha1.Benchmark) bool {
	return b.Status.Phase.Measured() ||
		b.Status.Phase == v1alpha1.PhaseFailed && ReasonOf(b.Status.Conditions, v1alpha1.ConditionMeasured) != v1alpha1.ReasonNothingForwarded
}

// SinksOf returns the notification sinks of a namespace.
func SinksOf(ctx context.Context, reader client.Reader, namespace string) ([]v1alpha1.NotificationSink, error) {
	var all v1alpha1.NotificationSinkList
	if err := reader.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the notification sinks: %w", err)
	}
	return all.Items, nil
}

// NotificationsPending reports whether an event of a benchmark is still to be sent.
func NotificationsPending(b *v1alpha1.Benchmark) bool {
	return slices.ContainsFunc(b.Status.Notifications, func(n v1alpha1.Notification) bool { return n.State == v1alpha1.NotificationPending })
}

// Awaited reports whether the result of a finished benchmark is not yet where it is kept.
func (b *Base) Awaited(of *v1alpha1.Benchmark) bool {
	return b.Archive != nil && !IsArchived(of) || b.Metrics != nil && AwaitsRecorder(of)
}

// HasRows reports whether a benchmark is finished, with rows.
func HasRows(b *v1alpha1.Benchmark) bool {
	return b.Status.Phase.Finished() && b.Status.Results != nil && b.Status.Results.Rows > 0 && b.Status.StartTime != nil
}

package notify

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// MaxSinks bounds how many sinks of a namespace an event is sent to: the oldest ones.
const MaxSinks = 8

// maxNotifications is the maximum number of events in the status of a benchmark: five for each
// of MaxSinks. Sinks that replace deleted sinks could cause more.
const maxNotifications = 40

// Happened are the events of a benchmark, in the order in which they are sent.
func Happened(b *v1alpha1.Benchmark) []v1alpha1.NotificationEvent {
	if !b.Status.Phase.Finished() {
		return nil
	}
	events := []v1alpha1.NotificationEvent{v1alpha1.NotifyFinished}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionGatesPassed); c != nil {
		switch c.Status {
		case metav1.ConditionFalse:
			events = append(events, v1alpha1.NotifyGateFailed)
		case metav1.ConditionUnknown:
			events = append(events, v1alpha1.NotifyGateInconclusive)
		}
	}
	if b.Status.Phase == v1alpha1.PhaseError || b.Status.Phase == v1alpha1.PhaseInvalid {
		events = append(events, v1alpha1.NotifyLabFailed)
	}
	if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionRegression) {
		events = append(events, v1alpha1.NotifyRegression)
	}
	return events
}

// Due are the events that sinks want and that the status of the benchmark does not have yet.
// A sink gets nothing of what ended before it was made, or longer ago than it asks for.
func Due(b *v1alpha1.Benchmark, ended time.Time, sinks []v1alpha1.NotificationSink, now time.Time) []v1alpha1.Notification {
	happened := Happened(b)
	if len(happened) == 0 {
		return nil
	}
	sinks = slices.Clone(sinks)
	slices.SortFunc(sinks, func(x, y v1alpha1.NotificationSink) int {
		if c := x.CreationTimestamp.Compare(y.CreationTimestamp.Time); c != 0 {
			return c
		}
		return compareText(x.Name, y.Name)
	})
	var due []v1alpha1.Notification
	for i := range sinks[:min(len(sinks), MaxSinks)] {
		s := &sinks[i]
		if s.Spec.Suspend || !s.DeletionTimestamp.IsZero() || s.CreationTimestamp.After(ended) || !now.Before(ended.Add(RetryFor(s))) || !Selects(s, b) {
			continue
		}
		for _, event := range happened {
			known := slices.ContainsFunc(b.Status.Notifications, func(n v1alpha1.Notification) bool { return n.Sink == s.Name && n.Event == event })
			full := len(b.Status.Notifications)+len(due) >= maxNotifications
			if known || full || !slices.Contains(s.Spec.Events, event) {
				continue
			}
			due = append(due, v1alpha1.Notification{Sink: s.Name, Event: event, Time: metav1.NewTime(now), State: v1alpha1.NotificationPending, NextAttempt: ptr(metav1.NewTime(now))})
		}
	}
	return due
}

// Selects reports whether a sink is about a benchmark. A selector that is none selects nothing.
func Selects(s *v1alpha1.NotificationSink, b *v1alpha1.Benchmark) bool {
	if s.Spec.BenchmarkSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.BenchmarkSelector)
	return err == nil && selector.Matches(labels.Set(b.Labels))
}

// RetryFor returns the time after an event within which the sink may still get it.
func RetryFor(s *v1alpha1.NotificationSink) time.Duration {
	return time.Duration(max(s.Spec.RetrySeconds, 60)) * time.Second
}

// ID is the identifier of an event, which is the same in every attempt.
func ID(b *v1alpha1.Benchmark, event v1alpha1.NotificationEvent) string {
	return fmt.Sprintf("%s/%s", b.UID, event)
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func ptr[T any](v T) *T { return &v }

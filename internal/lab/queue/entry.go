package queue

import (
	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// EntryOf returns the entry of a benchmark with what the LabPolicy decides: its team, its
// priority and whether it preempts. It has no beds and no limits. The policy may be nil.
// Namespaces are by name; one that is missing belongs to a team by its name only.
func EntryOf(policy *v1alpha1.LabPolicy, namespaces map[string]*corev1.Namespace, b *v1alpha1.Benchmark) Entry {
	e := Entry{
		Key:     Key{Namespace: b.Namespace, Name: b.Name},
		Created: b.CreationTimestamp.Time,
		Team:    team.OfName(policy, namespaces, b.Namespace).Name,
	}
	e.Priority, e.Preempts = team.Priority(policy, b)
	return e
}

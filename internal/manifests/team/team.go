// Package team says to which team a namespace belongs, and what priority a benchmark has, by
// the LabPolicy. It is pure.
package team

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Team is the team of a namespace.
type Team struct {
	// Name of the team; namespace/ and the namespace where no team selects it.
	Name string
	v1alpha1.TeamShare
}

// Of returns the team of a namespace: the first that selects it, or else the namespace as a
// team of its own. The policy may be nil.
func Of(policy *v1alpha1.LabPolicy, namespace *corev1.Namespace) Team {
	if policy == nil {
		return Team{Name: NameAlone(namespace.Name), TeamShare: v1alpha1.TeamShare{
			Weight: 1, MaxReservations: v1alpha1.DefaultMaxReservations, MaxReservedPoolPercent: v1alpha1.DefaultMaxReservedPoolPercent,
			MaxBenchmarks: v1alpha1.DefaultMaxBenchmarks, MaxSchedules: v1alpha1.DefaultMaxSchedules,
			MaxTrafficProfiles: v1alpha1.DefaultMaxTrafficProfiles, MaxNotificationSinks: v1alpha1.DefaultMaxNotificationSinks,
			MaxObjectsMiB: v1alpha1.DefaultMaxObjectsMiB,
		}}
	}
	for i := range policy.Spec.Teams {
		t := &policy.Spec.Teams[i]
		if slices.Contains(t.Namespaces, namespace.Name) || selects(t.Selector, namespace.Labels) {
			return Team{Name: t.Name, TeamShare: t.TeamShare}
		}
	}
	share := policy.Spec.Others
	share.Weight = max(share.Weight, 1)
	return Team{Name: NameAlone(namespace.Name), TeamShare: share}
}

// NameAlone returns the name of a namespace that is a team of its own. No team of a LabPolicy can have it.
func NameAlone(namespace string) string { return "namespace/" + namespace }

// OfName returns the team of a namespace by its name, also of one that is not known yet.
func OfName(policy *v1alpha1.LabPolicy, namespaces map[string]*corev1.Namespace, name string) Team {
	ns := namespaces[name]
	if ns == nil {
		ns = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return Of(policy, ns)
}

func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

// Priority is the priority of a benchmark, and whether it preempts: that of its class, or its
// own. A class that the policy does not have leaves priority 0.
func Priority(policy *v1alpha1.LabPolicy, b *v1alpha1.Benchmark) (priority int32, preempts bool) {
	if c := class(policy, b.Spec.PriorityClassName); c != nil {
		return c.Value, c.Preempts
	}
	return b.Spec.Priority, false
}

// PriorityName returns the name of the priority class of a benchmark, or else its priority.
func PriorityName(b *v1alpha1.Benchmark) string {
	if b.Spec.PriorityClassName != "" {
		return b.Spec.PriorityClassName
	}
	return fmt.Sprint(b.Spec.Priority)
}

func class(policy *v1alpha1.LabPolicy, name string) *v1alpha1.PriorityClass {
	if policy == nil || name == "" {
		return nil
	}
	i := slices.IndexFunc(policy.Spec.PriorityClasses, func(c v1alpha1.PriorityClass) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &policy.Spec.PriorityClasses[i]
}

// Problems returns an error if the priority class of a benchmark does not exist.
func Problems(policy *v1alpha1.LabPolicy, b *v1alpha1.Benchmark) field.ErrorList {
	name := b.Spec.PriorityClassName
	if name == "" || class(policy, name) != nil {
		return nil
	}
	has := "the lab has none"
	if policy != nil && len(policy.Spec.PriorityClasses) > 0 {
		var names []string
		for _, c := range policy.Spec.PriorityClasses {
			names = append(names, fmt.Sprintf("%s (%d)", c.Name, c.Value))
		}
		has = "the lab has " + strings.Join(names, ", ")
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "priorityClassName"), name,
		"there is no priority class of this name ("+has+"): name another, give spec.priority, or ask the lab to add it to LabPolicy "+v1alpha1.LabPolicyName)}
}

// Full returns an error if the team has reached its limit of waiting benchmarks, else nil.
func Full(t Team, b *v1alpha1.Benchmark, waiting int) *field.Error {
	if t.MaxQueued == 0 || waiting < int(t.MaxQueued) {
		return nil
	}
	return field.Forbidden(field.NewPath("metadata", "namespace"), fmt.Sprintf(
		"team %s of namespace %s has %d benchmarks waiting, and may have %d: wait until some have a bed, delete some, or ask the lab for a higher maxQueued in LabPolicy %s",
		t.Name, b.Namespace, waiting, t.MaxQueued, v1alpha1.LabPolicyName))
}

package config

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestKueue checks that the operator has flags and rights for Kueue only if the chart enables
// Kueue.
func TestKueue(t *testing.T) {
	const role = "nodrop-operator-kueue"
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(without, func(o object) bool { return o.GetName() == role }) {
		t.Error("the operator has rights on Workloads by default")
	}
	objects, err := chart(t, "--set", "kueue.enabled=true,kueue.requiredNamespaceSelector=kueue-managed=true")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(find(t, objects, "Deployment", "nodrop-operator").Object, &deployment, true); err != nil {
		t.Fatal(err)
	}
	args := strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, " ")
	if want := "--kueue --kueue-required-in=kueue-managed=true"; !strings.Contains(args, want) {
		t.Errorf("the operator's flags are %s, want %s", args, want)
	}
	var rights rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(find(t, objects, "ClusterRole", role).Object, &rights, true); err != nil {
		t.Fatal(err)
	}
	for _, rule := range rights.Rules {
		if !slices.Equal(rule.APIGroups, []string{"kueue.x-k8s.io"}) || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Verbs, "delete") {
			t.Errorf("the rule %+v allows more than Workloads need", rule)
		}
	}
	find(t, objects, "ClusterRoleBinding", role)
}

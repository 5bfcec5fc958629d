package config

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestConnections checks that the operator has rights on Secrets of teams only where the chart
// is asked to hand connection data out, and then on those of one name, without reading them.
func TestConnections(t *testing.T) {
	const role = "nodrop-operator-connections"
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(without, func(o object) bool { return o.GetName() == role }) {
		t.Error("the operator has rights on Secrets of teams by default")
	}
	objects, err := chart(t, "--set", "connections.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	args := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-operator").Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--hand-out-connections") {
		t.Errorf("the operator's flags are %s", strings.Join(args, " "))
	}
	want := []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{v1alpha1.ConnectionSecretName},
		Verbs: []string{"create", "patch", "delete"},
	}}
	if got := as[rbacv1.ClusterRole](t, objects, "ClusterRole", role).Rules; !slices.EqualFunc(got, want, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
		t.Errorf("%s has the rules %v", role, got)
	}
	if s := as[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding", role).Subjects; len(s) != 1 || s[0].Namespace+"/"+s[0].Name != "nodrop-system/nodrop-operator" {
		t.Errorf("%s is bound to %v", role, s)
	}
}

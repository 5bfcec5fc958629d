//go:build !standalone

package main

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestTrigger makes the benchmarks of a schedule as a member of a team.
func TestTrigger(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}
	s.Spec.Schedule, s.Spec.Suspend = "0 2 * * *", true
	s.Spec.Matrix = &v1alpha1.BenchmarkMatrix{TestBedNames: []string{"new", "old"}}
	s.Spec.BenchmarkTemplate.Metadata.Labels = map[string]string{"pipeline": "nightly"}
	s.Spec.BenchmarkTemplate.Spec.TestBedName, s.Spec.BenchmarkTemplate.Spec.TrafficProfileName = "new", "pairs"
	s.Spec.BenchmarkTemplate.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	team := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}}
	kubetest.Grant(t, c.client, s,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "trigger", Namespace: "default"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"nodrop.dev"}, Resources: []string{"benchmarkschedules"}, Verbs: []string{"get"}},
			{APIGroups: []string{"nodrop.dev"}, Resources: []string{"benchmarks"}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "trigger", Namespace: "default"}, Subjects: team, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "trigger"}},
	)
	p := c.nodrop(t, "trigger", "nightly", "--as", "somebody")
	p.wants(0, "benchmark.nodrop.dev/nightly-", "")
	var made v1alpha1.BenchmarkList
	if err := c.client.List(t.Context(), &made); err != nil || len(made.Items) != 2 {
		t.Fatalf("%d benchmarks, %v", len(made.Items), err)
	}
	var beds []string
	for _, b := range made.Items {
		beds = append(beds, b.Spec.TestBedName)
		if want := "benchmark.nodrop.dev/" + b.Name + " created\n"; !strings.Contains(p.stdout.String(), want) {
			t.Errorf("%q lacks %q", p.stdout.String(), want)
		}
		if !strings.HasPrefix(b.Name, "nightly-2") || b.Labels[v1alpha1.LabelSchedule] != "nightly" || b.Labels["pipeline"] != "nightly" ||
			b.Annotations[v1alpha1.AnnotationTriggeredBy] != "hand" || b.Annotations[v1alpha1.AnnotationFiringSize] != "2" {
			t.Errorf("%s has labels %v and annotations %v", b.Name, b.Labels, b.Annotations)
		}
	}
	if slices.Sort(beds); !slices.Equal(beds, []string{"new", "old"}) {
		t.Errorf("beds %v", beds)
	}
	if err := c.client.DeleteAllOf(t.Context(), &v1alpha1.Benchmark{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}

	p = c.nodrop(t, "trigger", "nightly", "--cell", "old", "-o", "name")
	p.wants(0, "nightly-", "")
	b := &v1alpha1.Benchmark{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: strings.TrimSpace(p.stdout.String())}, b); err != nil {
		t.Fatal(err)
	}
	if b.Spec.TestBedName != "old" || b.Annotations[v1alpha1.AnnotationFiringSize] != "1" {
		t.Errorf("%+v", b)
	}

	c.nodrop(t, "trigger", "nightly", "--cell", "odd").wants(1, "", `--cell is "odd", and the schedule nightly has no such cell`)
	c.nodrop(t, "trigger", "nightly", "--cell", "odd").wants(1, "", "its cells are new, old")
	c.nodrop(t, "trigger", "hourly").wants(1, "", `no BenchmarkSchedule "hourly" in namespace "default"`)
	c.nodrop(t, "trigger", "hourly").wants(1, "", "there are nightly")
	p = c.nodrop(t, "trigger", "nightly", "--cell", "new", "-o", "yaml")
	p.wants(0, "kind: BenchmarkList", "")
	if text := p.stdout.String(); !strings.Contains(text, "testBedName: new") || strings.Contains(text, "managedFields") {
		t.Errorf("trigger -o yaml prints\n%s", text)
	}
	c.nodrop(t, "trigger", "nightly", "-o", "csv").wants(1, "", `"csv" is not an output format: give table, json, yaml or name`)
	c.nodrop(t, "trigger", "nightly", "--as", "stranger").wants(1, "", "forbidden")
}

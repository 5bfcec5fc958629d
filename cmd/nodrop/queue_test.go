//go:build !standalone

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// bedWithHolder makes a bed that a benchmark has.
func (c *apiServer) bedWithHolder(name, holder string, queued int32) {
	c.t.Helper()
	bed := objects.TestBed(name,
		objects.Finalizers(v1alpha1.FinalizerLeased), objects.Simulated("model", "model.csv"), objects.Sim(2, "1G"),
		objects.Access(v1alpha1.AccessGrant{Names: []string{"default"}, MaxDuration: metav1.Duration{Duration: 24 * time.Hour}}),
	)
	if err := c.client.Create(context.Background(), bed); err != nil {
		c.t.Fatal(err)
	}
	bed.Status = v1alpha1.TestBedStatus{
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBedReady,
			ObservedGeneration: bed.Generation, LastTransitionTime: metav1.Now(),
		}},
		Lease:  &v1alpha1.BedLease{Holder: holder, UID: "1", AcquireTime: metav1.Now()},
		Queued: queued,
	}
	if err := c.client.Status().Update(context.Background(), bed); err != nil {
		c.t.Fatal(err)
	}
}

func TestQueue(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	c.bedWithHolder("bed", "team/other", 5)
	c.benchmark("waiting-1", inPhase(v1alpha1.PhaseQueued, "an old message"))
	c.benchmark("waiting-2", nil)
	p := c.nodrop(t, "queue", "bed")
	p.wants(0, "", "")
	for _, want := range []string{
		"1       default     waiting-1   0          bed",
		"2       default     waiting-2   0          bed",
		"waits for bed bed, which team/other has; comes next",
		"waits for bed bed, which team/other has; 1 benchmark comes first",
	} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("queue does not say %q:\n%s", want, p.stdout.String())
		}
	}
	p = c.nodrop(t, "queue", "--limit", "1")
	p.wants(0, "", "")
	for _, want := range []string{"waiting-1", "1 more wait: --limit 0 shows them all", "BED ", "bed   2", "default     2"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("queue --limit 1 does not say %q:\n%s", want, p.stdout.String())
		}
	}
	if strings.Contains(p.stdout.String(), "waiting-2") {
		t.Errorf("queue --limit 1 shows more than one:\n%s", p.stdout.String())
	}
	for _, format := range []string{"json", "yaml"} {
		p = c.nodrop(t, "queue", "--limit", "1", "-o", format)
		p.wants(0, "", "")
		var d queueDocument
		if err := yaml.UnmarshalStrict([]byte(p.stdout.String()), &d); err != nil {
			t.Fatalf("%v:\n%s", err, p.stdout.String())
		}
		if d.Total != 2 || len(d.Waiting) != 1 || d.Waiting[0].Name != "waiting-1" || d.Waiting[0].Place != 1 || d.Waiting[0].Reason != v1alpha1.ReasonQueued ||
			len(d.Beds) != 1 || d.Beds[0].Waiting != 2 {
			t.Errorf("queue -o %s: %+v", format, d)
		}
	}
	c.nodrop(t, "queue", "--limit", "-1").wants(1, "", "--limit -1 is negative")
	c.nodrop(t, "queue", "-o", "csv").wants(1, "", `"csv" is not an output format: give table, json, yaml or name`)
	c.nodrop(t, "queue", "-o", "name").wants(0, "waiting-1\nwaiting-2\n", "")
	p = c.nodrop(t, "cordon", "bed")
	p.wants(0, "", "")
	if want := "TestBed bed is closed; benchmark team/other has it\n"; p.stdout.String() != want {
		t.Errorf("cordon says %q, want %q", p.stdout.String(), want)
	}
	var bed v1alpha1.TestBed
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "bed"}, &bed); err != nil || !bed.Spec.Unschedulable {
		t.Errorf("the bed is open after cordon: %v", err)
	}
	p = c.nodrop(t, "queue")
	p.wants(0, "", "")
	if want := "takes no new benchmarks (spec.unschedulable)"; !strings.Contains(p.stdout.String(), want) {
		t.Errorf("queue does not say %q:\n%s", want, p.stdout.String())
	}
	c.nodrop(t, "uncordon", "bed").wants(0, "TestBed bed is open", "")

	// A team may list the benchmarks of its own namespace, and all beds.
	may := []rbacv1.PolicyRule{{APIGroups: []string{"nodrop.dev"}, Resources: []string{"benchmarks", "trafficprofiles"}, Verbs: []string{"list"}}}
	beds := []rbacv1.PolicyRule{{APIGroups: []string{"nodrop.dev"}, Resources: []string{"testbeds"}, Verbs: []string{"list"}}}
	team := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}}
	kubetest.Grant(t, c.client,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "default"}, Rules: may},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "default"}, Subjects: team, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "team"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Rules: beds},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Subjects: team, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "team"}},
	)
	p = c.nodrop(t, "queue", "--as", "somebody")
	p.wants(0, "", "")
	for _, want := range []string{">=1     default     waiting-1", "About 3 of other namespaces, which you may not list, wait for bed bed too."} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("queue of a team does not say %q:\n%s", want, p.stdout.String())
		}
	}
}

// TestMeasureQueue measures the command with as many waiting benchmarks as NODROP_QUEUE_LOAD says, of 10
// tests each, on 20 beds.
func TestMeasureQueue(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("NODROP_QUEUE_LOAD"))
	if err != nil {
		t.Skip("NODROP_QUEUE_LOAD is no number: make queue-load")
	}
	sendsNoFrames(t)
	c := newAPIServer(t)
	for i := range 20 {
		c.bedWithHolder(fmt.Sprint("bed-", i), "team/other", 5)
	}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			b := objects.Benchmark("default", fmt.Sprint("b-", i), objects.BedName(fmt.Sprint("bed-", i%20)), objects.ProfileName("pairs"))
			for test := range 10 {
				one := objects.Throughput(v1alpha1.ThroughputTest{})
				one.Name = fmt.Sprint("throughput-", test)
				b.Spec.Tests = append(b.Spec.Tests, one)
			}
			return c.client.Create(t.Context(), b)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		began := time.Now()
		p := c.nodrop(t, "queue")
		p.wants(0, "", "")
		usage := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf("%d benchmarks: %s, %d MiB", n, time.Since(began), usage.Maxrss>>10)
	}
}

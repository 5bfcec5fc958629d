//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/hostileteam"
	"nodrop.dev/nodrop/internal/testkit/honestteams"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

const (
	hostileNamespace = "team-hostile"
	// honestBeds are few, so that the node's processors are not always busy without the hostile team.
	honestBeds = 4
	// honestWaiting is the number of benchmarks that each honest team has waiting or running.
	honestWaiting = 2
)

// TestMeasureHostileTeam measures ten honest teams without and with a hostile team, alternating, on
// this cluster: the operator as the chart installs it, and pods for each benchmark. It is run by
// make hostile-cluster.
func TestMeasureHostileTeam(t *testing.T) {
	plan, l, runs := honestteams.ReadPlan(t), newLab(t), 0
	ctrl.SetLogger(logr.Discard())
	cfg, err := ctrl.GetConfig()
	if err != nil {
		t.Fatal(err)
	}
	if plan.Teams != 1 {
		t.Fatalf("NODROP_HOSTILE asks for %d hostile teams: the cluster has one; make hostile has more", plan.Teams)
	}
	plan.Measure(t, func(t *testing.T, attacked bool, r *honestteams.Run) {
		g := NewWithT(t)
		// Each run has an operator of its own, whose memory counts.
		runs++
		l.upgrade(t, l.path("charts", "nodrop"), "--set", fmt.Sprintf("labPage.enabled=true,notifications.allowedHosts={hooks.example.com},fairness.enabled=%v,fairness.teamNamespaces={%s}",
			!plan.Unlimited, strings.Join(hostileNamespaces(), ",")),
			"--set-string", fmt.Sprintf("operator.podAnnotations.run=%d", runs))
		l.hostileLab(t)
		memory := l.watchOperator(t)
		teams := &honestteams.Teams{
			Lab: cfg, Admin: l, Waiting: honestWaiting, Patience: 2 * time.Minute, ServerParent: 1,
			Benchmark: func(namespace, name string) *v1alpha1.Benchmark {
				return objects.Benchmark(namespace, name, objects.BedLabels(map[string]string{"honest": "yes"}), objects.ProfileName("hostile"),
					objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})))
			},
		}
		attack := func(ctx context.Context) (hostileteam.Report, error) {
			account, err := honestteams.Account(ctx, cfg, l, hostileNamespace)
			if err != nil {
				return hostileteam.Report{}, err
			}
			return hostileteam.Team{
				Namespace: hostileNamespace, Bed: "hostile", Receiver: "https://hooks.example.com", Objects: 10_000, Writes: 500,
				Page: l.pageURL(t), PageName: operator.PageService + "." + operatorNamespace + ".svc", Roots: l.webhookRoots(t), Token: account.BearerToken,
			}.Run(ctx, account)
		}
		if !attacked {
			attack = nil
		}
		g.Expect(teams.Measure(t.Context(), r, attack)).To(Succeed())
		r.Operator = float64(memory.Load()) / (1 << 20)
		r.Restarts = int64(l.operatorPod(t).Status.ContainerStatuses[0].RestartCount)
	})
}

// hostileLab makes beds that all teams may use, the teams, and a LabPolicy by which they share beds
// equally. Honest teams do not ask for the bed of the hostile team, since it may reserve one. Everything is removed when
// the run ends.
func (l *lab) hostileLab(t *testing.T) {
	t.Helper()
	var text strings.Builder
	text.WriteString(`
apiVersion: nodrop.dev/v1alpha1
kind: LabPolicy
metadata: {name: lab}
spec: {others: {weight: 1}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hostile-model, namespace: nodrop-lab}
data:
  device.csv: |
    frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us
    64,69.6875,1.510,2.377,4.240
    128,100,1.510,2.377,4.240
`)
	for i := range honestBeds + 1 {
		name, honest := fmt.Sprintf("honest-%02d", i), "yes"
		if i == honestBeds {
			name, honest = "hostile", "no"
		}
		fmt.Fprintf(&text, `---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: %s, labels: {honest: "%s", hostile-lab: "yes"}}
spec:
  device: {simulated: {model: {configMapRef: {name: hostile-model, key: device.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 2, speed: 10G}}}
  access:
  - {selector: {matchLabels: {lab: shared}}, maxPriority: 100}
`, name, honest)
	}
	namespaces := hostileNamespaces()
	for _, namespace := range namespaces {
		// The team has the rights that the chart adds to the role edit. etcd has 2 GiB, which ConfigMaps would fill.
		fmt.Fprintf(&text, `---
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {lab: shared, pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: %[1]s}
spec: {hard: {count/configmaps: 100}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {kind: ServiceAccount, name: %[2]s, namespace: %[1]s}
---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: hostile, namespace: %[1]s}
spec:
  frameSizes: [64]
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`, namespace, honestteams.AccountName)
	}
	t.Cleanup(func() { l.removeHostileLab(t, namespaces) })
	if out, err := l.kubectl(t, text.String(), "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	l.awaitBeds(t, "hostile-lab", honestBeds+1)
}

// hostileNamespaces returns the namespaces of all teams.
func hostileNamespaces() []string {
	namespaces := []string{hostileNamespace}
	for i := range honestteams.Count {
		namespaces = append(namespaces, honestteams.Namespace(i))
	}
	return namespaces
}

// removeHostileLab removes the teams with all that they have, and the beds.
func (l *lab) removeHostileLab(t *testing.T, namespaces []string) {
	t.Helper()
	g, ctx := NewWithT(t), context.Background()
	for _, name := range namespaces {
		l.discard(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	g.Expect(l.DeleteAllOf(ctx, &v1alpha1.TestBed{}, client.MatchingLabels{"hostile-lab": "yes"})).To(Succeed())
	for _, o := range []client.Object{
		&v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "hostile-model"}},
	} {
		l.discard(t, o)
	}
	for _, name := range namespaces {
		g.Eventually(func() error {
			return client.IgnoreNotFound(l.get(client.ObjectKey{Name: name}, &corev1.Namespace{}, true))
		}, 3*time.Minute, poll).Should(Succeed())
	}
	g.Eventually(func(g Gomega) {
		var beds v1alpha1.TestBedList
		g.Expect(l.List(ctx, &beds, client.MatchingLabels{"hostile-lab": "yes"})).To(Succeed())
		g.Expect(beds.Items).To(BeEmpty())
	}, time.Minute, poll).Should(Succeed())
}

// pageURL returns the URL of the lab page.
func (l *lab) pageURL(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	var service corev1.Service
	g.Expect(l.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operator.PageService}, &service)).To(Succeed())
	return fmt.Sprintf("https://%s:8444", service.Spec.ClusterIP)
}

// watchOperator returns the most memory in bytes that the cgroup of the operator's container has had. It is watched
// until the test ends: a container that starts again has another cgroup.
func (l *lab) watchOperator(t *testing.T) *atomic.Uint64 {
	t.Helper()
	pod, most := l.operatorPod(t), &atomic.Uint64{}
	ctx := t.Context()
	go func() {
		for ctx.Err() == nil {
			for _, pid := range processesOfPod(pod, "nodrop", "operator") {
				if peak, err := cgroupPeak(pid); err == nil {
					most.Store(max(most.Load(), peak))
				}
			}
			time.Sleep(poll)
		}
	}()
	NewWithT(t).Eventually(most.Load).Should(BeNumerically(">", 0), "no process of the operator with a cgroup")
	return most
}

// cgroupPeak returns the most memory in bytes that the cgroup of a process has had.
func cgroupPeak(pid int) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	cgroups, err := p.Cgroups()
	if err != nil {
		return 0, err
	}
	file := ""
	for _, c := range cgroups {
		switch {
		case slices.Contains(c.Controllers, "memory"):
			file = filepath.Join("/sys/fs/cgroup/memory", c.Path, "memory.max_usage_in_bytes")
		case c.HierarchyID == 0 && file == "":
			file = filepath.Join("/sys/fs/cgroup", c.Path, "memory.peak")
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

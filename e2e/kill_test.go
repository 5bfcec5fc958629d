//go:build e2e

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// kill is one death in a run, and when it happens.
type kill struct {
	name string
	// phase in which it happens; in Running once a row is stored that was not there at
	// the kill before.
	phase v1alpha1.BenchmarkPhase
	do    func(*testing.T, *lab, *v1alpha1.Benchmark)
}

// TestKill kills each part of a run in every phase, several in one run since only one
// has the bed. A run that loses its operator, its runner, or the process of an agent
// passes, with every row once. One that loses the pod of an agent while trials run ends
// with Error, as the ports were given back in between, and keeps its rows.
func TestKill(t *testing.T) {
	// TestIncast deletes the pod of a runner and kills the process of an agent. TestLosses of controllers has all other losses, and
	// TestKilledOperatorGoesOn of controllers/operator the operator.
	long(t)
	operator := func(t *testing.T, l *lab, _ *v1alpha1.Benchmark) { l.killOperator(t) }
	process := func(role string) func(*testing.T, *lab, *v1alpha1.Benchmark) {
		return func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.killContainer(t, b, role) }
	}
	pod := func(role string) func(*testing.T, *lab, *v1alpha1.Benchmark) {
		return func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.deletePod(t, b, role) }
	}
	oneSize := append([]string{"trafficProfileName: ipv4-pairs", "trafficProfileName: " + newLab(t).oneSize(t)}, shortTrials...)
	for name, kills := range map[string][]kill{
		"operator": {
			{"operator", v1alpha1.PhasePreparing, operator},
			{"operator", v1alpha1.PhaseRunning, operator},
			{"operator", v1alpha1.PhaseCleaningUp, operator},
		},
		"runner": {
			{"runner's pod", v1alpha1.PhasePreparing, loseFirst("runner")},
			{"runner's process", v1alpha1.PhaseRunning, process("runner")},
			{"runner's pod", v1alpha1.PhaseRunning, pod("runner")},
			{"runner's pod", v1alpha1.PhaseCleaningUp, loseWhatIsLeft},
		},
		"agent": {
			{"agent's pod", v1alpha1.PhasePreparing, loseFirst("agent")},
			{"agent's process", v1alpha1.PhaseRunning, process("agent")},
			{"agent's pod", v1alpha1.PhaseCleaningUp, loseWhatIsLeft},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, g := newLab(t), NewWithT(t)
			key := l.create(t, "kill-"+name, oneSize...)
			rows := 0
			for _, k := range kills {
				b := l.inPhase(t, key, k.phase, rows+1)
				rows = len(l.rows(t, b))
				t.Logf("killing the %s in phase %s", k.name, b.Status.Phase)
				k.do(t, l, b)
			}
			b := l.finish(t, key)
			expectAllMeasured(g, b)
			g.Expect(l.rows(t, b)).To(HaveLen(rowsOfSample / sizesOfSample))
			g.Expect(duplicateRows(l.rows(t, b))).To(BeEmpty())
			l.expectClean(t, b)
		})
	}
	t.Run("agent's pod", func(t *testing.T) {
		l, g := newLab(t), NewWithT(t)
		key := l.create(t, "kill-agent-pod", oneSize...)
		b := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)
		before := l.rows(t, b)
		l.deletePod(t, b, "agent")
		b = l.finish(t, key)
		g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseError), b.Status.Message)
		g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionMeasured).Reason).To(Equal(v1alpha1.ReasonAgentLost))
		g.Expect(l.rows(t, b)).To(ContainElements(before))
		g.Expect(duplicateRows(l.rows(t, b))).To(BeEmpty())
		l.expectClean(t, b)
	})
}

// inPhase waits for a phase of a benchmark, and in Running for a number of rows.
func (l *lab) inPhase(t *testing.T, key client.ObjectKey, phase v1alpha1.BenchmarkPhase, rows int) *v1alpha1.Benchmark {
	t.Helper()
	g := NewWithT(t)
	var b *v1alpha1.Benchmark
	g.Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		if b.Status.Phase.Finished() {
			StopTrying("it ended as " + string(b.Status.Phase) + " before: " + b.Status.Message).Now()
		}
		g.Expect(b.Status.Phase).To(Equal(phase), b.Status.Message)
		if phase == v1alpha1.PhaseRunning {
			g.Expect(len(l.rows(t, b))).To(BeNumerically(">=", rows))
		}
	}, runTimeout, poll/5).Should(Succeed())
	return b
}

// loseFirst deletes the pod with a role as soon as there is one.
func loseFirst(role string) func(*testing.T, *lab, *v1alpha1.Benchmark) {
	return func(t *testing.T, l *lab, b *v1alpha1.Benchmark) {
		NewWithT(t).Eventually(func() []corev1.Pod { return l.podsOf(t, b, role) }, runTimeout, poll/5).ShouldNot(BeEmpty())
		l.deletePod(t, b, role)
	}
}

// loseWhatIsLeft deletes at once what the clean-up is about to remove.
func loseWhatIsLeft(t *testing.T, l *lab, b *v1alpha1.Benchmark) {
	t.Helper()
	for _, role := range []string{"runner", "agent"} {
		for _, pod := range l.podsOf(t, b, role) {
			err := l.Delete(t.Context(), &pod, client.GracePeriodSeconds(0))
			if client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
	}
}

// shortTrials are edits that make the sample a matter of half a minute.
var shortTrials = []string{"resolution: 1%", "resolution: 10%", "trialDuration: 3s", "trialDuration: 1s", "trialDuration: 2s", "trialDuration: 1s", "durationSum: 6s", "durationSum: 2s"}

// rowsOfSample is the number of rows of config/samples/frr: a throughput, a partial drop rate
// and three loads of latency for each frame size.
const (
	sizesOfSample = 3
	rowsOfSample  = sizesOfSample * (1 + 1 + 3)
)

// oneSize creates a profile like the sample's with one frame size, and returns its name.
func (l *lab) oneSize(t *testing.T) string {
	t.Helper()
	profile := &v1alpha1.TrafficProfile{}
	if err := l.Get(t.Context(), client.ObjectKey{Namespace: teamNamespace, Name: "ipv4-pairs"}, profile); err != nil {
		t.Fatal(err)
	}
	one := objects.TrafficProfile(teamNamespace, "one-size", objects.ProfileSpec(profile.Spec))
	one.Spec.FrameSizes = []int32{512}
	if err := l.Create(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Delete(context.Background(), one); err != nil {
			t.Error(err)
		}
	})
	return one.Name
}

func duplicateRows(rows []v1alpha1.ResultRow) []string {
	seen, twice := map[v1alpha1.RowID]bool{}, []string(nil)
	for _, r := range rows {
		if seen[r.RowID] {
			twice = append(twice, r.Name())
		}
		seen[r.RowID] = true
	}
	return twice
}

// pod finds the pod of a benchmark by role.
func (l *lab) pod(t *testing.T, b *v1alpha1.Benchmark, role string) *corev1.Pod {
	t.Helper()
	pods := l.podsOf(t, b, role)
	if len(pods) != 1 {
		t.Fatalf("%d pods with role %s, want 1", len(pods), role)
	}
	return &pods[0]
}

func (l *lab) podsOf(t *testing.T, b *v1alpha1.Benchmark, role string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	labels := client.MatchingLabels{"nodrop.dev/benchmark-uid": string(b.UID), "nodrop.dev/role": role}
	if err := l.List(t.Context(), &pods, client.InNamespace(labNamespace), labels); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func (l *lab) deletePod(t *testing.T, b *v1alpha1.Benchmark, role string) {
	t.Helper()
	if err := l.Delete(t.Context(), l.pod(t, b, role), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) killContainer(t *testing.T, b *v1alpha1.Benchmark, role string) {
	t.Helper()
	killPodProcess(t, l.pod(t, b, role), role)
}

// killOperator kills the operator's process and waits for the next one.
func (l *lab) killOperator(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	operator := func() *corev1.Pod {
		var pods corev1.PodList
		g.Expect(l.List(context.Background(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		return &pods.Items[0]
	}
	before := operator().Status.ContainerStatuses[0].RestartCount
	killPodProcess(t, operator(), "operator")
	g.Eventually(func(g Gomega) {
		status := operator().Status.ContainerStatuses[0]
		g.Expect(status.RestartCount).To(BeNumerically(">", before))
		g.Expect(status.Ready).To(BeTrue())
	}, 3*time.Minute, poll).Should(Succeed())
	l.admits(t)
}

// killPodProcess sends SIGKILL to the nodrop process of a pod.
func killPodProcess(t *testing.T, pod *corev1.Pod, command string) {
	t.Helper()
	if err := syscall.Kill(podProcess(t, pod, command), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// podProcess is the nodrop process of a pod that runs a command.
func podProcess(t *testing.T, pod *corev1.Pod, command string) int {
	t.Helper()
	return processOfPod(t, pod, "nodrop", command)
}

// processOfPod is the process of a pod that runs a program with a first argument.
func processOfPod(t *testing.T, pod *corev1.Pod, program, argument string) int {
	t.Helper()
	found := processesOfPod(pod, program, argument)
	if len(found) != 1 {
		t.Fatalf("%d processes of pod %s run %s %s, want 1", len(found), pod.Name, program, argument)
	}
	return found[0]
}

// processesOfPod are the processes of a pod that run a program with a first argument. The
// tests run in the node's pid namespace, and find them by command line and cgroup.
func processesOfPod(pod *corev1.Pod, program, argument string) (found []int) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	for _, p := range processes {
		args, err := p.CmdLine() // A process that has ended has none.
		if err != nil || len(args) < 2 || filepath.Base(args[0]) != program || args[1] != argument {
			continue
		}
		cgroups, err := p.Cgroups()
		if err == nil && slices.ContainsFunc(cgroups, func(c procfs.Cgroup) bool { return strings.Contains(c.Path, string(pod.UID)) }) {
			found = append(found, p.PID)
		}
	}
	return found
}

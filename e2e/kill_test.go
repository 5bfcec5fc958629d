//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestKill kills each part of a run once. The run ends with a complete result
// or a clear error, and the bed is free again.
func TestKill(t *testing.T) {
	for name, kill := range map[string]func(*testing.T, *lab, *v1alpha1.Benchmark){
		"runner-process": func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.killContainer(t, b, "runner") },
		"runner-pod":     func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.deletePod(t, b, "runner") },
		"agent-process":  func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.killContainer(t, b, "agent") },
		"agent-pod":      func(t *testing.T, l *lab, b *v1alpha1.Benchmark) { l.deletePod(t, b, "agent") },
		"operator":       func(t *testing.T, l *lab, _ *v1alpha1.Benchmark) { l.killOperator(t) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			key := l.create(t, "kill-"+name, shortTrials...)
			kill(t, l, l.running(t, key))
			b := l.finish(t, key)
			t.Logf("killed %s: phase %s, %d rows, %s", name, b.Status.Phase, len(l.rows(t, b)), b.Status.Message)
			g := NewWithT(t)
			switch b.Status.Phase {
			case v1alpha1.PhasePassed:
				g.Expect(l.rows(t, b)).To(HaveLen(rowsOfSample))
				g.Expect(duplicateRows(l.rows(t, b))).To(BeEmpty())
			case v1alpha1.PhaseError:
				g.Expect(b.Status.Message).To(ContainSubstring(strings.Split(name, "-")[0]), "the error does not say what was lost")
			default:
				t.Fatalf("ended in %s: %s", b.Status.Phase, b.Status.Message)
			}
			l.expectClean(t, b)
		})
	}
}

// shortTrials are edits that make the sample a matter of half a minute.
var shortTrials = []string{"resolution: 1%", "resolution: 10%", "trialDuration: 3s", "trialDuration: 1s", "trialDuration: 2s", "trialDuration: 1s"}

// rowsOfSample is what config/samples/frr/benchmark.yaml measures: a throughput
// and three loads of latency for three frame sizes.
const rowsOfSample = 3 + 3*3

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
	var pods corev1.PodList
	labels := client.MatchingLabels{"nodrop.dev/benchmark-uid": string(b.UID), "nodrop.dev/role": role}
	if err := l.List(t.Context(), &pods, client.InNamespace(labNamespace), labels); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 1 {
		t.Fatalf("%d pods with role %s, want 1", len(pods.Items), role)
	}
	return &pods.Items[0]
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

// processOfPod is the process of a pod that runs a program with a first argument. The
// tests run in the node's pid namespace, and find it by command line and cgroup.
func processOfPod(t *testing.T, pod *corev1.Pod, program, argument string) int {
	t.Helper()
	var found []int
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		cmdline, err := os.ReadFile(entry)
		if err != nil {
			continue // the process has ended
		}
		args := bytes.Split(cmdline, []byte{0})
		if len(args) < 2 || filepath.Base(string(args[0])) != program || string(args[1]) != argument {
			continue
		}
		cgroup, err := os.ReadFile(filepath.Join(filepath.Dir(entry), "cgroup"))
		if err != nil || !strings.Contains(string(cgroup), string(pod.UID)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	if len(found) != 1 {
		t.Fatalf("%d processes of pod %s run %s %s, want 1", len(found), pod.Name, program, argument)
	}
	return found[0]
}

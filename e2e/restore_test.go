//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestRestore deletes the data of etcd while a benchmark sends frames, and restores the lab
// with the commands of docs/guides/operations.md. All results are in the archive, the schedule
// waits for its next time, and the bed measures again.
func TestRestore(t *testing.T) {
	long(t)
	l, g := newLab(t), NewWithT(t)
	l.archiveInBucket(t)
	// One that another test left is in another archive.
	l.kubectlMust(t, "delete", "--ignore-not-found", "-f", l.path("config", "samples", "schedule", "release.yaml"))
	l.apply(t, "config", "samples", "schedule", "lab.yaml")
	l.apply(t, "config", "samples", "schedule", "release.yaml")
	l.apply(t, "config", "samples", "schedule", "schedule.yaml")
	t.Cleanup(func() {
		for _, file := range []string{"schedule.yaml", "release.yaml"} {
			if out, err := l.kubectl(t, "", "delete", "--ignore-not-found", "-f", l.path("config", "samples", "schedule", file)); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	// Longer than all else that happens before etcd is lost.
	key := l.create(t, "lost", shortTrials...)
	first := l.archivedURL(t, client.ObjectKey{Namespace: teamNamespace, Name: "nightly-release"})
	fired := l.trigger(t, "nightly", "image-release")
	second := l.archivedURL(t, fired)
	read := [][]string{{"report", first}, {"report", second}, {"compare", first, second}, {"history", folderOf(first)}, {"history", folderOf(second)}}
	var before []string
	for _, args := range read {
		before = append(before, l.nodrop(t, args...))
	}
	lost := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)

	dir := t.TempDir()
	t.Logf("backup:\n%s", l.section(t, "operations.md", "Back up", dir))
	l.loseEtcd(t)
	g.Expect(l.List(t.Context(), &v1alpha1.BenchmarkList{})).NotTo(Succeed(), "the definitions are lost, too")
	t.Logf("restore:\n%s", l.section(t, "operations.md", "Restore", dir, "CHART="+l.path("charts", "nodrop")))

	for i, args := range read {
		g.Expect(l.nodrop(t, args...)).To(Equal(before[i]))
	}
	nightly := &v1alpha1.BenchmarkSchedule{}
	g.Eventually(func(g Gomega) {
		g.Expect(l.Get(t.Context(), client.ObjectKey{Namespace: teamNamespace, Name: "nightly"}, nightly)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(nightly.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
	}, time.Minute, poll).Should(Succeed())
	g.Expect(nightly.Status.LastScheduleTime).To(BeNil())
	g.Expect(nightly.Status.NextScheduleTime.After(nightly.CreationTimestamp.Time)).To(BeTrue())
	var all v1alpha1.BenchmarkList
	g.Expect(l.List(t.Context(), &all)).To(Succeed())
	g.Expect(all.Items).To(BeEmpty())

	// The bed of the run that was lost measures, and what the schedule makes continues the history.
	key = l.create(t, "lost", append([]string{"trafficProfileName: ipv4-pairs", "trafficProfileName: " + l.oneSize(t)}, shortTrials...)...)
	third := l.archivedURL(t, l.trigger(t, "nightly", "image-release"))
	g.Expect(folderOf(third)).To(Equal(folderOf(second)))
	g.Expect(strings.Count(l.nodrop(t, "history", folderOf(third), "-o", "json"), `"uid"`)).To(Equal(2))
	again := l.finish(t, key)
	expectAllMeasured(g, again)
	g.Expect(again.UID).NotTo(Equal(lost.UID))
	g.Expect(l.rows(t, again)).To(HaveLen(rowsOfSample / sizesOfSample))
	l.expectClean(t, again)
}

// archiveInBucket lets the operator archive to an S3 server until the test ends.
func (l *lab) archiveInBucket(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	s3 := testserver.StartMinIOAt(t, testserver.FreeAddressOf(t, l.nodeAddress(t)))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "nodrop-archive"}, StringData: map[string]string{
		"AWS_ACCESS_KEY_ID": testserver.MinIOUser, "AWS_SECRET_ACCESS_KEY": testserver.MinIOPassword,
	}}
	g.Expect(l.Create(t.Context(), secret)).To(Succeed())
	_, port, err := net.SplitHostPort(s3.Address)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		l.upgrade(t, l.path("charts", "nodrop"), "--set", "archive.url=,archive.credentialsSecret=,networkPolicy.operatorEgress=null", "--set-json", `archive.volume={"emptyDir":{}}`)
		g.Expect(l.Delete(context.Background(), secret)).To(Succeed())
	})
	l.upgrade(t, l.path("charts", "nodrop"), "--set", "archive.credentialsSecret=nodrop-archive,archive.volume=null", "--set-string", "archive.url="+s3.URL("lab"),
		"--set-json", `networkPolicy.operatorEgress=[{"ports":[{"protocol":"TCP","port":`+port+`}]}]`)
}

// nodeAddress is the address at which pods reach the node.
func (l *lab) nodeAddress(t *testing.T) string {
	t.Helper()
	var node corev1.Node
	if err := l.Get(t.Context(), client.ObjectKey{Name: "node1"}, &node); err != nil {
		t.Fatal(err)
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatal("the node has no address")
	return ""
}

// trigger fires a cell of a schedule now, and returns the benchmark.
func (l *lab) trigger(t *testing.T, schedule, cell string) client.ObjectKey {
	t.Helper()
	return client.ObjectKey{Namespace: teamNamespace, Name: strings.TrimSpace(l.nodrop(t, "trigger", schedule, "-n", teamNamespace, "--cell", cell, "-o", "name"))}
}

// archivedURL waits until a benchmark is in the archive, and returns where.
func (l *lab) archivedURL(t *testing.T, key client.ObjectKey) string {
	t.Helper()
	var b *v1alpha1.Benchmark
	NewWithT(t).Eventually(func(g Gomega) {
		b = l.benchmark(g, key)
		g.Expect(meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionArchived)).To(BeTrue(), "phase %s: %s", b.Status.Phase, b.Status.Message)
	}, runTimeout, poll).Should(Succeed())
	return b.Status.Results.Archive.URL
}

// folderOf is the folder of a document in the archive.
func folderOf(url string) string {
	return regexp.MustCompile(`/[^/?]+\.json\.zst`).ReplaceAllString(url, "")
}

// nodrop runs kubectl nodrop and returns what it prints.
func (l *lab) nodrop(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.kubectl(t, "", append([]string{"nodrop"}, args...)...)
	if err != nil {
		t.Fatalf("kubectl nodrop %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// loseEtcd deletes the data of etcd, and starts all daemons of Kubernetes again. It returns
// when the node takes pods.
func (l *lab) loseEtcd(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	etcd := daemonProcess(t, "etcd")
	cmdline, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(etcd), "cmdline"))
	g.Expect(err).NotTo(HaveOccurred())
	_, data, _ := strings.Cut(string(cmdline), "--data-dir\x00")
	data, _, _ = strings.Cut(data, "\x00")
	others := map[string]int{}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"} {
		others[name] = daemonProcess(t, name)
	}
	for name, pid := range others {
		if name != "kube-apiserver" {
			g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		}
	}
	g.Expect(syscall.Kill(others["kube-apiserver"], syscall.SIGKILL)).To(Succeed())
	g.Expect(os.RemoveAll(filepath.Join(data, "member"))).To(Succeed())
	g.Expect(syscall.Kill(etcd, syscall.SIGKILL)).To(Succeed())
	wait := func(args ...string) {
		t.Helper()
		g.Eventually(func() error {
			out, err := l.kubectl(t, "", args...)
			if err != nil {
				return errors.New(out)
			}
			return nil
		}, 2*time.Minute, poll).Should(Succeed())
	}
	wait("get", "--raw", "/readyz")
	wait("apply", "--server-side", "-f", l.path("hack", "cluster", "node", "manifests", "multus.yaml"))
	wait("wait", "--for=condition=Ready", "node/node1", "--timeout=30s")
	wait("get", "serviceaccount/default", "--namespace=default")
}

// daemonProcess is the process of a daemon of the node.
func daemonProcess(t *testing.T, name string) int {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		cmdline, err := os.ReadFile(entry)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(entry), "stat"))
		if err != nil {
			continue // It has ended.
		}
		program, _, _ := strings.Cut(string(cmdline), "\x00")
		// The daemons are children of process 1.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if filepath.Base(program) == name && fields[1] == "1" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d processes of %s, want 1", len(found), name)
	}
	return found[0]
}

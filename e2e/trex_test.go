//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// trexNICs is a bridge between two interfaces of the node, measured with TRex.
const trexNICs = `
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: nics-trex}
spec:
  device: {physical: {vendor: Linux, model: bridge}}
  engine: {kind: trex, trex: {image: "` + trexImage + `", software: {}}}
  ports:
  - {name: p1, node: node1, attachment: {hostDevice: {interface: nd-nic1}}, speed: 1G, addresses: [198.18.3.1/24]}
  - {name: p2, node: node1, attachment: {hostDevice: {interface: nd-nic2}}, speed: 1G, addresses: [198.18.3.2/24]}
  access: [{names: [team-routing]}]
`

// TestTRexOnRouter runs the benchmark and the profile of the sample unchanged on its
// router, whose bed has the engine trex instead of xdp. The team's namespace is at
// pod security level restricted, and nothing of the run appears in it.
func TestTRexOnRouter(t *testing.T) {
	loadTRex(t)
	l := newLab(t)
	g := NewWithT(t)
	l.useEngine(t, v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Image: trexImage, Software: &v1alpha1.TRexSoftware{}}})
	b := l.finish(t, l.create(t, "router-trex"))
	expectAllMeasured(g, b)
	g.Expect(l.rows(t, b)).To(HaveLen(rowsOfSample))
	g.Expect(duplicateRows(l.rows(t, b))).To(BeEmpty())
	sent := map[int32]int64{}
	for _, row := range l.rows(t, b) {
		expectTRexRow(t, row)
		sent[row.FrameSize] += row.Frames.Sent
	}
	g.Expect(sent).To(And(HaveLen(3), HaveEach(BeNumerically(">", 0))))
	g.Expect(l.environment(t, b)).NotTo(BeNil())
	g.Expect(l.environment(t, b).Engine).To(Equal(v1alpha1.EngineTRex))
	g.Expect(l.environment(t, b).EngineDetail).To(And(ContainSubstring("TRex v3."), ContainSubstring("software mode")))
	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods, client.InNamespace(teamNamespace))).To(Succeed())
	g.Expect(pods.Items).To(BeEmpty(), "the team's namespace has pods of the run")
	l.expectClean(t, b)
}

// TestTRexPod looks into the traffic pod while a bridge is measured, and kills the
// server in the middle of a trial: its container starts again where the interfaces
// are, the trial is void and repeated, and the benchmark ends with all its rows.
func TestTRexPod(t *testing.T) {
	loadTRex(t)
	l := newLab(t)
	g := NewWithT(t)
	nics := []string{"nd-nic1", "nd-nic2"}
	makeNICs(t, nics...)
	before := hardwareAddresses(nics...)
	l.applyText(t, nicTraffic("nics"))
	l.applyText(t, trexNICs)
	key := l.createLong(t, "trex-killed", "nics-trex")

	b := l.running(t, key)
	pod := l.pod(t, b, "agent")
	l.expectMoved(t, b, before)
	expectTRexRights(t, pod)
	expectTRexAlone(t, l, pod)

	g.Eventually(func() string { return l.benchmark(g, key).Status.Progress.Trial }, runTimeout, poll).Should(HavePrefix("latency"))
	if err := syscall.Kill(processOfPod(t, pod, trexProgram, "--cfg"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() string { return l.benchmark(g, key).Status.Progress.Trial }, time.Minute, poll).
		Should(And(HavePrefix("latency"), ContainSubstring("again after"), ContainSubstring("the trial was interrupted")))
	g.Eventually(func(g Gomega) {
		again := l.pod(t, b, "agent")
		g.Expect(again.UID).To(Equal(pod.UID), "the pod was replaced")
		g.Expect(restarts(again)).To(Equal(map[string]int32{"agent": 0, "trex": 1}))
	}, time.Minute, poll).Should(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(l.pod(t, b, "agent").Status.ContainerStatuses).To(HaveEach(HaveField("Ready", BeTrue())))
	}, time.Minute, poll).Should(Succeed())
	expectEndOfTRex(t, l.pod(t, b, "agent"))
	l.expectMoved(t, b, before)
	expectTRexAlone(t, l, pod)

	b = l.expectMeasured(t, key)
	for _, row := range l.rows(t, b) {
		expectTRexRow(t, row)
	}
	g.Expect(hardwareAddresses(nics...)).To(Equal(before), "the interfaces did not come back as they were")
}

// TestTRexHangs stops the server without ending it: its probe fails, the kubelet
// starts the container again, and the benchmark ends with all its rows.
func TestTRexHangs(t *testing.T) {
	loadTRex(t)
	l := newLab(t)
	g := NewWithT(t)
	makeNICs(t, "nd-nic1", "nd-nic2")
	l.applyText(t, nicTraffic("nics"))
	l.applyText(t, trexNICs)
	key := l.createLong(t, "trex-hangs", "nics-trex")
	b := l.running(t, key)
	g.Eventually(func() string { return l.benchmark(g, key).Status.Progress.Trial }, runTimeout, poll).Should(HavePrefix("latency"))
	if err := syscall.Kill(processOfPod(t, l.pod(t, b, "agent"), trexProgram, "--cfg"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() map[string]int32 { return restarts(l.pod(t, b, "agent")) }, 3*time.Minute, poll).
		Should(Equal(map[string]int32{"agent": 0, "trex": 1}))
	for _, row := range l.rows(t, l.expectMeasured(t, key)) {
		expectTRexRow(t, row)
	}
}

// useEngine gives the bed of the sample another engine until the test ends.
func (l *lab) useEngine(t *testing.T, engine v1alpha1.Engine) {
	t.Helper()
	set := func(ctx context.Context, engine v1alpha1.Engine) (before v1alpha1.Engine) {
		var bed v1alpha1.TestBed
		if err := l.Get(ctx, client.ObjectKey{Name: bedName}, &bed); err != nil {
			t.Fatal(err)
		}
		changed := bed.DeepCopy()
		changed.Spec.Engine = engine
		if err := l.Patch(ctx, changed, client.MergeFrom(&bed)); err != nil {
			t.Fatalf("giving bed %s the engine %s: %v", bedName, engine.Kind, err)
		}
		return bed.Spec.Engine
	}
	own := set(t.Context(), engine)
	t.Cleanup(func() { set(context.Background(), own) })
}

// createLong creates a benchmark whose last trial is long enough to be disturbed.
func (l *lab) createLong(t *testing.T, name, bed string) client.ObjectKey {
	t.Helper()
	b := objects.Benchmark(teamNamespace, name,
		objects.BedName(bed), objects.ProfileName("nics"), objects.Pauses(100*time.Millisecond, 0),
		objects.Tests([]v1alpha1.Test{
			{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Resolution: "5%", MinLoad: "0.5%", MaxLoad: "10%",
				TrialDuration: metav1.Duration{Duration: 5 * time.Second}, SearchTrialDuration: metav1.Duration{Duration: 2 * time.Second},
			}},
			{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"1%"}, TrialDuration: metav1.Duration{Duration: 15 * time.Second}}},
		}...),
	)
	if err := l.Create(t.Context(), b); err != nil {
		t.Fatalf("creating benchmark %s: %v", name, err)
	}
	t.Cleanup(func() { l.remove(t, b) })
	return client.ObjectKeyFromObject(b)
}

// expectTRexRow checks that a row counts every frame, and tells the latency of those
// that TRex timed without the jitter that it does not measure. Without frames it says
// why.
func expectTRexRow(t *testing.T, row v1alpha1.ResultRow) {
	t.Helper()
	t.Logf("%s %d B: %d ppm of line rate, sent %d, received %d, lost %d, latency %+v, %s %q %s",
		row.Method, row.FrameSize, row.Frames.LineRatePPM, row.Frames.Sent, row.Frames.Received, row.Frames.Lost, row.Latency, row.Validity, row.ValidityReasons, row.Message)
	g := NewWithT(t)
	if row.Frames.Sent == 0 {
		// At the load of a throughput that a busy machine has spoilt.
		g.Expect(row.Message).To(ContainSubstring("found a throughput of 0"))
		return
	}
	g.Expect(row.Frames.Received).To(BeNumerically(">", 0))
	g.Expect(row.Frames.Received + row.Frames.Lost).To(Equal(row.Frames.Sent))
	g.Expect(row.Validity).NotTo(Equal(v1alpha1.ValidityValid), "packet sockets cannot give Valid rows")
	if row.Method == v1alpha1.MethodThroughput {
		g.Expect(row.Frames.Lost).To(BeZero(), "throughput is zero loss")
	}
	g.Expect(row.Latency).NotTo(BeNil())
	g.Expect(row.Latency.MinNs).To(And(BeNumerically(">", 0), BeNumerically("<=", row.Latency.AvgNs)))
	g.Expect(row.Latency.AvgNs).To(BeNumerically("<=", row.Latency.MaxNs))
	g.Expect(row.Latency.JitterAvgNs).To(BeNil())
}

// expectTRexRights checks what the kernel lets the server and the agent do.
func expectTRexRights(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	g := NewWithT(t)
	server, agent := processOfPod(t, pod, trexProgram, "--cfg"), podProcess(t, pod, "agent")
	// NET_ADMIN (12), NET_RAW (13) and IPC_LOCK (14).
	for pid, rights := range map[int]string{server: "0000000000007000", agent: "0000000000000000"} {
		g.Expect(procStatus(t, pid)).To(And(HaveKeyWithValue("CapEff", rights), HaveKeyWithValue("CapBnd", rights),
			HaveKeyWithValue("NoNewPrivs", "1"), HaveKeyWithValue("Seccomp", "2")), "rights of process %d of pod %s", pid, pod.Name)
		g.Expect(os.Mkdir(fmt.Sprintf("/proc/%d/root/nodrop-e2e", pid), 0o700)).To(MatchError(syscall.EROFS), "the root file system can be written to")
	}
	g.Expect(procStatus(t, agent)["Uid"]).To(Equal("65532 65532 65532 65532"))
	g.Expect(restarts(pod)).To(Equal(map[string]int32{"agent": 0, "trex": 0}))
}

// expectTRexAlone checks that the server's RPC answers inside of the pod only. The agent's
// port is open to the outside.
func expectTRexAlone(t *testing.T, l *lab, pod *corev1.Pod) {
	t.Helper()
	g := NewWithT(t)
	out, err := l.kubectl(t, "", "-n", pod.Namespace, "exec", pod.Name, "-c", "trex", "--", "/run/nodrop/nodrop", "trex", "alive")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(HavePrefix("TRex v3."))
	for port, open := range map[string]bool{"7443": true, "4501": false, "4500": false} {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(pod.Status.PodIP, port), 2*time.Second)
		if err == nil {
			g.Expect(conn.Close()).To(Succeed())
		}
		g.Expect(err == nil).To(Equal(open), "port %s of pod %s from the node: %v", port, pod.Name, err)
	}
}

// expectEndOfTRex checks that the pod says how its server ended, and that it was not
// for want of memory.
func expectEndOfTRex(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == "trex" {
			NewWithT(t).Expect(c.LastTerminationState.Terminated).To(HaveValue(And(HaveField("Reason", "Error"),
				HaveField("ExitCode", BeEquivalentTo(1)), HaveField("Message", ContainSubstring("the TRex server ended by itself (signal: killed)")))))
		}
	}
}

// restarts of the containers of a pod, by name.
func restarts(pod *corev1.Pod) map[string]int32 {
	counts := map[string]int32{}
	for _, c := range pod.Status.ContainerStatuses {
		counts[c.Name] = c.RestartCount
	}
	return counts
}

// procStatus returns the fields of the kernel's status of a process.
func procStatus(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(slices.Collect(strings.FieldsSeq(value)), " ")
	}
	return fields
}

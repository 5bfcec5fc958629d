package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestLifeCycle runs benchmarks through their phases on a real API server.
func TestLifeCycle(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a modelled bed needs only a runner":      passModelled,
		"a virtual device and its traffic pods":   passVirtual,
		"a device that forwards nothing":          failNothingForwarded,
		"a device that does not come up":          deviceFails,
		"a device that comes up too late":         deviceIsLate,
		"traffic pods that are not ready in time": trafficIsLate,
		"longer than activeDeadlineSeconds":       deadlineExceeded,
		"a profile that was deleted in between":   profileDeleted,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

func passModelled(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.bed("sim").Status.Lease.Holder).To(Equal("team-routing/b"))
	w.Expect(b.Finalizers).To(BeEmpty(), "the bed's lease is enough to clean up")
	w.Expect(w.bed("sim").Finalizers).To(ContainElement(v1alpha1.FinalizerLeased))
	w.Expect(w.runnerConfig("b").Model).To(Equal(table))
	w.Expect(w.runnerConfig("b").Agents).To(BeEmpty())

	w.runners.report(b, measuring(row(64)))
	w.Eventually(func() *v1alpha1.Progress { return w.benchmark("b").Status.Progress }).Should(HaveField("RowsDone", int32(1)))
	w.Expect(w.benchmark("b").Status.Message).To(Equal("throughput 128 B: 50% for 1s"))

	w.runners.report(b, measured(row(64), row(128)))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(2))
	w.Expect(w.stored(b).Environment.NoDropVersion).To(Equal("test"))
	w.Expect(b.Status.Message).To(Equal("all rows were measured"))
	w.Expect(b.Status.CompletionTime).NotTo(BeNil())
	w.bedIsClean("sim")
	w.Eventually(func() []string { return w.benchmark("b").Finalizers }).Should(BeEmpty())
}

func passVirtual(w *world) {
	w.kubelet.hold("device-up")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	up := w.appears("b", "device-up")
	w.Expect(up.Spec.Containers[0].Args).To(ContainElements("up", "/etc/nodrop/topology/topology.clab.yaml", "dut"))
	w.Expect(w.pod("b", "agent-0")).To(BeNil(), "an agent before its device is up")
	w.letGo("b", "device-up")
	b := w.reaches("b", v1alpha1.PhaseRunning)

	agent := w.pod("b", "agent-0")
	w.Expect(agent.Annotations["k8s.v1.cni.cncf.io/networks"]).To(ContainSubstring(`"interface":"p2"`))
	sec := &corev1.Secret{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(agent), sec)).To(Succeed())
	w.Expect(string(sec.Data["agent.json"])).To(ContainSubstring(`"deviceProcessors":[1]`), "what the pod that started the device reported")
	cfg := w.runnerConfig("b")
	w.Expect(cfg.Agents).To(HaveLen(1))
	w.Expect(cfg.Agents[0].Address).To(Equal("10.1.2.3:7443"))
	w.Expect(cfg.Agents[0].Ports).To(Equal([]string{"p1", "p2"}))
	w.Expect(cfg.Agents[0].Name).To(Equal("agent-0." + string(b.UID) + ".nodrop"))

	w.runners.report(b, measured(row(64)))
	w.appears("b", "device-down")
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

func failNothingForwarded(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	s := measured(row(64))
	s.Outcome, s.Reason, s.Message = v1alpha1.PhaseFailed, v1alpha1.ReasonNothingForwarded, "no test frame came back on p2 in 5 s"
	w.runners.report(b, s)
	b = w.reaches("b", v1alpha1.PhaseFailed)
	w.Expect(b.Status.Message).To(Equal("no test frame came back on p2 in 5 s"))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionMeasured).Reason).To(Equal(v1alpha1.ReasonNothingForwarded))
	w.bedIsClean("sim")
}

func deviceFails(w *world) {
	w.kubelet.fail("device-up")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(Equal("the device did not come up: Error: node dut: no such image"))
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionDeviceReady).Reason).To(Equal(v1alpha1.ReasonDeviceFailed))
	w.bedIsClean("frr")
}

func deviceIsLate(w *world) {
	w.kubelet.hold("device-up")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	pod := w.appears("b", "device-up")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
	failed, starts := warning(pod, "FailedMount", "hostPath type check failed: /var/run/docker.sock is not a socket file"), warning(pod, "Unhealthy", "Readiness probe failed")
	starts.Count, starts.LastTimestamp = 1, metav1.Now()
	create(w.t, w.c, failed, starts)
	w.says("b", v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceStarting)
	w.impatient(shortDevice)
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(ContainSubstring("within 400ms"), ContainSubstring("docker.sock is not a socket file"), Not(ContainSubstring("Unhealthy"))))
	w.bedIsClean("frr")
}

func trafficIsLate(w *world) {
	w.kubelet.hold("agent-0")
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
	pod := w.appears("b", "agent-0")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "nodrop:test is not present"}},
	}}
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
	w.says("b", v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficStarting)
	w.impatient(shortTraffic)
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(ContainSubstring("agent-0: ErrImageNeverPull: nodrop:test is not present"))
	w.bedIsClean("frr")
}

func deadlineExceeded(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile(), benchmark("b", "sim", objects.Deadline(600)))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.beginsWith(b, 0)
	w.runners.report(b, measuring(row(64)))
	w.pass(10 * time.Minute)
	b = w.reaches("b", v1alpha1.PhaseInvalid)
	w.Expect(b.Status.Message).To(And(ContainSubstring("activeDeadlineSeconds, 600"), ContainSubstring("1 finished row is kept")))
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.bedIsClean("sim")
}

func profileDeleted(w *world) {
	blocker, waiting := benchmark("blocker", "sim"), benchmark("b", "sim")
	p := profile()
	create(w.t, w.c, configMap("model", "model.csv", table), modelled("sim"), p, blocker)
	first := w.reaches("blocker", v1alpha1.PhaseRunning)
	create(w.t, w.c, waiting)
	w.reaches("b", v1alpha1.PhaseQueued)
	w.Expect(w.c.Delete(w.t.Context(), p)).To(Succeed())
	w.runners.report(first, measured(row(64)))
	w.reaches("blocker", v1alpha1.PhaseMeasured)
	b := w.reaches("b", v1alpha1.PhasePending)
	w.Expect(b.Status.Message).To(ContainSubstring(`spec.trafficProfileName: Invalid value: "ipv4-pairs"`))
	w.bedIsClean("sim")
	create(w.t, w.c, profile())
	w.reaches("b", v1alpha1.PhaseRunning)
}

// runnerConfig reads the configuration of the runner of a benchmark.
func (w *world) runnerConfig(name string) runner.Config {
	w.t.Helper()
	sec := &corev1.Secret{}
	key := client.ObjectKey{Namespace: labNamespace, Name: labobjects.RunOf(w.benchmark(name)).RunnerName()}
	w.Expect(w.c.Get(w.t.Context(), key, sec)).To(Succeed())
	var cfg runner.Config
	w.Expect(cfg.Decode(sec.Data["run.json.zst"])).To(Succeed())
	return cfg
}

func warning(pod *corev1.Pod, reason, message string) *corev1.Event {
	e := &corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
	e.GenerateName, e.Namespace = "warning-", pod.Namespace
	e.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, APIVersion: "v1"}
	return e
}

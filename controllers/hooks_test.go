package controllers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestHooks has beds with hooks before and after a lease.
func TestHooks(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"once for each lease":                       hooksRunOnce,
		"one before the lease fails":                beforeFails,
		"one before the lease does not end":         beforeTakesLong,
		"one before the lease is never started":     beforeWaits,
		"one before the lease is refused":           beforeRefused,
		"one after the lease fails":                 afterFails,
		"pods are lost":                             hookPodsGo,
		"the operator is killed":                    operatorKilledAtHooks,
		"the benchmark goes while a hook runs":      benchmarkGoesAtHook,
		"the benchmark goes when a hook has failed": benchmarkGoesAfterHook,
		"the deletion of their Secret":              hookSecretGoes,
		"one that cannot succeed is corrected":      hookCorrected,
		"one after the lease takes long":            afterTakesLong,
		"another benchmark preempts":                hooksPreempted,
		"a reservation":                             hooksBeforeReservation,
		"a Secret":                                  hookSecret,
		"what the API server refuses":               hooksRefused,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// hookRun is a hook that has run, and the configuration of the device at that time.
type hookRun struct{ name, device string }

// hook lets the pod of a hook succeed.
func (k *fakeKubelet) hook(pod *corev1.Pod) {
	k.ran = append(k.ran, hookRun{pod.Annotations[labobjects.AnnotationHook], k.devices[deviceAddress]})
	succeeded(pod)
}

// hooksRun returns the hooks that have run, in their order.
func (w *world) hooksRun() []hookRun {
	w.kubelet.mu.Lock()
	defer w.kubelet.mu.Unlock()
	return slices.Clone(w.kubelet.ran)
}

// hooked is a managed bed with two hooks before and two after a lease.
func hooked(name string, change ...func(*v1alpha1.LeaseHooks)) *v1alpha1.TestBed {
	bed := managed(name)
	bed.Spec.Hooks = &v1alpha1.LeaseHooks{
		BeforeLease: []v1alpha1.LeaseHook{aHook("load"), aHook("check")},
		AfterLease:  []v1alpha1.LeaseHook{aHook("clean"), aHook("verify")},
	}
	for _, c := range change {
		c(bed.Spec.Hooks)
	}
	return bed
}

func aHook(name string) v1alpha1.LeaseHook {
	return v1alpha1.LeaseHook{
		Name: name, Image: "registry.example/lab-tools:1", Args: []string{name, "$(NODROP_DEVICE_ADDRESS)"},
		Timeout: &metav1.Duration{Duration: time.Minute},
	}
}

// ends lets the pod of a hook end in a way.
func (w *world) hookEnds(b *v1alpha1.Benchmark, role string, change func(*corev1.PodStatus)) {
	w.t.Helper()
	w.Eventually(func() error {
		pod := w.podOf(b, role)
		if pod == nil {
			return errors.New("there is no such pod")
		}
		pod.Status.Phase = corev1.PodFailed
		change(&pod.Status)
		return w.c.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
}

// exits is the end of a container by itself.
func exits(code int32, output string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "hook", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: output}},
		}}
	}
}

// replacedHook waits until the pod of a hook was made anew.
func (w *world) replacedHook(b *v1alpha1.Benchmark, old *corev1.Pod) {
	w.t.Helper()
	role := strings.TrimPrefix(old.Name, labobjects.RunOf(b).Prefix()+"-")
	w.Eventually(func() bool {
		pod := w.podOf(b, role)
		return pod != nil && pod.UID != old.UID
	}).Should(BeTrue(), "another pod %s", old.Name)
}

// isQuarantined waits until a bed is closed since a hook failed, and returns the message.
func (w *world) isQuarantined(bed string) string {
	w.t.Helper()
	w.closed(bed, v1alpha1.ReasonBedQuarantined)
	var c *metav1.Condition
	w.Eventually(func() *metav1.Condition { // Right after a release the bed is closed, and not quarantined any more.
		c = meta.FindStatusCondition(w.bed(bed).Status.Conditions, v1alpha1.ConditionQuarantined)
		return c
	}).Should(HaveField("Reason", v1alpha1.ReasonHookFailed))
	return c.Message
}

// Each runs once, although the benchmark has two variants. Those before come before the device is configured, and those after
// come after its base was restored.
func hooksRunOnce(w *world) {
	w.kubelet.set(deviceAddress, "as it was\n")
	w.createManaged(hooked("leaf"))
	w.kubelet.hold("hook-before-1")
	create(w.t, w.c, benchmark("b", "leaf", withVariants("acl", "plain")))
	pod := w.appears("b", "hook-before-1")
	w.Eventually(func() string { return w.says("b", v1alpha1.ConditionBedPrepared, v1alpha1.ReasonHookRunning).Message }).Should(HavePrefix("beforeLease hook check runs"))
	w.Expect(w.pod("b", "device-up")).To(BeNil(), "the device is not touched before")
	w.Expect(pod.Labels).To(HaveKeyWithValue(labobjects.LabelRole, labobjects.RoleHook), "the label by which the network policy selects it")
	env := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			ref := v.ValueFrom.SecretKeyRef
			env[v.Name] = string(w.secret(pod.Namespace, ref.Name).Data[ref.Key])
		}
	}
	w.Expect(env).To(Equal(map[string]string{
		"HOME": "/tmp", "NODROP_BED": "leaf", "NODROP_BENCHMARK_NAMESPACE": team, "NODROP_BENCHMARK": "b", "NODROP_VARIANTS": "acl,plain",
		"NODROP_DEVICE_ADDRESS": deviceAddress, "NODROP_STAGE": "beforeLease", "NODROP_HOOK": "check",
	}))
	w.kubelet.release(w)
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"load", "as it was\n"}, {"check", "as it was\n"}}))
	w.Expect(w.kubelet.device(deviceAddress)).To(Equal(aclText))

	old := w.pod("b", "runner")
	w.kubelet.hold("runner")
	w.runners.report(b, measured(rowOf("acl", 64)))
	w.replaced(old)
	w.Expect(w.hooksRun()).To(HaveLen(2), "none runs between two variants")
	w.runners.report(b, measured(rowOf("acl", 64), rowOf("plain", 64)))
	w.letGo("b", "runner")
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.hooksRun()[2:]).To(Equal([]hookRun{{"clean", baseText}, {"verify", baseText}}))
	w.bedIsClean("leaf")
	w.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionBedPrepared)).To(HaveField("Reason", v1alpha1.ReasonRemoved))

	create(w.t, w.c, benchmark("next", "leaf"))
	w.reaches("next", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()).To(HaveLen(6))
}

// What it printed cannot act on a terminal. Nothing is started on the device, hooks after the lease run all the same, and no other
// benchmark gets the bed before its owner has looked.
func beforeFails(w *world) {
	w.kubelet.hold("hook-before-1")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"), benchmark("next", "leaf"))
	w.appears("b", "hook-before-1")
	w.hookEnds(w.benchmark("b"), "hook-before-1", exits(3, strings.Repeat("old line\n", 200)+"\x1b[31mflash is full\x1b[0m\u202e\a\n"))
	b := w.reaches("b", v1alpha1.PhaseError)
	w.Expect(b.Status.Message).To(And(
		HavePrefix("beforeLease hook check failed with exit code 3: old line"), HaveSuffix("old line [31mflash is full [0m"),
		WithTransform(func(s string) int { return len(s) }, BeNumerically("<", 600))))
	w.Expect(b.Status.Conditions).To(ContainElements(
		And(HaveField("Type", v1alpha1.ConditionBedPrepared), HaveField("Reason", v1alpha1.ReasonHookFailed)),
		And(HaveField("Type", v1alpha1.ConditionCleanedUp), HaveField("Reason", v1alpha1.ReasonHookFailed)),
		And(HaveField("Type", v1alpha1.ConditionBedLeased), HaveField("Reason", v1alpha1.ReasonBedQuarantined)),
	))
	w.Expect(w.isQuarantined("leaf")).To(And(HavePrefix("after benchmark "+team+"/b: beforeLease hook check failed with exit code 3"), HaveSuffix("flash is full [0m")))
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"load", ""}, {"clean", ""}, {"verify", ""}}))
	w.Consistently(func() v1alpha1.BenchmarkPhase { return w.benchmark("next").Status.Phase }, "1s").Should(Equal(v1alpha1.PhaseQueued))

	w.kubelet.release(w)
	w.releaseQuarantine("leaf")
	w.reaches("next", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()[3:]).To(Equal([]hookRun{{"load", ""}, {"check", ""}}), "nothing of the first benchmark ran again")
	w.Expect(w.bed("leaf").Annotations).NotTo(HaveKey(v1alpha1.AnnotationReleaseQuarantine))
}

func beforeTakesLong(w *world) {
	w.kubelet.hold("hook-before-0")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.Expect(*w.appears("b", "hook-before-0").Spec.ActiveDeadlineSeconds).To(Equal(int64(60)))
	w.hookEnds(w.benchmark("b"), "hook-before-0", func(s *corev1.PodStatus) {
		exits(137, "loading 1 of 9\n")(s)
		s.Reason = "DeadlineExceeded"
	})
	w.Expect(w.reaches("b", v1alpha1.PhaseError).Status.Message).To(Equal("beforeLease hook load did not end within its timeout of 1m0s: loading 1 of 9"))
	w.isQuarantined("leaf")
}

// A pod that no node takes has no end of its own.
func beforeWaits(w *world) {
	w.impatient(shortDevice)
	w.kubelet.hold("hook-before-0")
	w.createManaged(hooked("leaf", func(h *v1alpha1.LeaseHooks) {
		for i := range h.BeforeLease {
			h.BeforeLease[i].Timeout = &metav1.Duration{Duration: time.Second}
		}
	}))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.Expect(w.reaches("b", v1alpha1.PhaseError).Status.Message).To(Equal("the hooks before the lease did not end within 2.4s: beforeLease hook load runs"))
	w.isQuarantined("leaf")
}

func beforeRefused(w *world) {
	limits := &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "small"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		}}},
	}
	w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(w.c.Delete(context.Background(), limits))).To(Succeed()) })
	create(w.t, w.c, limits)
	w.impatient(shortDevice)
	w.createManaged(hooked("leaf", func(h *v1alpha1.LeaseHooks) {
		for i := range h.BeforeLease {
			h.BeforeLease[i].Timeout = &metav1.Duration{Duration: time.Second}
		}
		h.AfterLease = nil
	}))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.Expect(w.reaches("b", v1alpha1.PhaseError).Status.Message).To(And(
		HavePrefix("the hooks before the lease did not end within 2.4s: beforeLease hook load cannot be started: "), ContainSubstring("maximum memory usage per Container is 128Mi")))
	w.isQuarantined("leaf")
}

// The result stays. After its release, the hook runs again, and may fail again.
func afterFails(w *world) {
	w.kubelet.hold("hook-after-1")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"), benchmark("next", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.appears("b", "hook-after-1")
	w.hookEnds(b, "hook-after-1", exits(1, "port 7 has errors"))
	b = w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.rows(b)).To(HaveLen(1))
	w.Expect(w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonHookFailed).Message).To(Equal("bed leaf is quarantined: afterLease hook verify failed with exit code 1: port 7 has errors"))
	w.Expect(w.isQuarantined("leaf")).To(HaveSuffix("b: afterLease hook verify failed with exit code 1: port 7 has errors"))
	w.Expect(w.podOf(b, "hook-after-1")).NotTo(BeNil(), "the owner of the lab can read its log")
	w.Consistently(func() v1alpha1.BenchmarkPhase { return w.benchmark("next").Status.Phase }, "1s").Should(Equal(v1alpha1.PhaseQueued))

	w.releaseQuarantine("leaf")
	w.Eventually(func() corev1.PodPhase {
		if pod := w.podOf(b, "hook-after-1"); pod != nil {
			return pod.Status.Phase
		}
		return ""
	}).Should(Equal(corev1.PodPending), "it runs again")
	w.hookEnds(b, "hook-after-1", exits(2, "port 8 has errors"))
	w.Eventually(func() string { return w.isQuarantined("leaf") }).Should(HaveSuffix("exit code 2: port 8 has errors"))
	w.kubelet.release(w)
	w.releaseQuarantine("leaf")
	w.reaches("next", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"load", ""}, {"check", ""}, {"clean", baseText}, {"verify", baseText}, {"load", baseText}, {"check", baseText}}))
}

// The run has its hooks from before the edit. After the release the hooks of the bed run, from the first one.
func hookCorrected(w *world) {
	w.kubelet.hold("hook-after-1")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.appears("b", "hook-after-1")
	w.hookEnds(b, "hook-after-1", exits(127, "verify: not found"))
	w.isQuarantined("leaf")
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.kubelet.release(w)
	w.changeBed("leaf", func(bed *v1alpha1.TestBed) {
		bed.Spec.Hooks.AfterLease = []v1alpha1.LeaseHook{aHook("erase"), aHook("check-links")}
	})
	w.releaseQuarantine("leaf")
	w.bedIsCleanEventually("leaf")
	w.Expect(w.hooksRun()[2:]).To(Equal([]hookRun{{"clean", baseText}, {"erase", baseText}, {"check-links", baseText}}))
}

// One that was evicted or deleted begins anew. One that had succeeded does not.
func hookPodsGo(w *world) {
	w.kubelet.hold("hook-before-1", "hook-after-1")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	first := w.appears("b", "hook-before-1")
	b := w.benchmark("b")
	w.hookEnds(b, "hook-before-1", func(s *corev1.PodStatus) { s.Reason = "Evicted" })
	w.replacedHook(b, first)
	second := w.pod("b", "hook-before-1")
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "hook-before-0"), client.GracePeriodSeconds(0))).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), second, client.GracePeriodSeconds(0))).To(Succeed())
	w.replacedHook(b, second)
	w.hookEnds(b, "hook-before-1", func(s *corev1.PodStatus) {
		exits(143, "terminated")(s)
		s.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	})
	w.kubelet.mu.Lock()
	delete(w.kubelet.held, "hook-before-1")
	w.kubelet.mu.Unlock()
	w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"load", ""}, {"check", ""}}))
	w.runners.report(b, measured(row(64)))
	third := w.appears("b", "hook-after-1")
	w.hookEnds(b, "hook-after-1", func(s *corev1.PodStatus) { s.Reason = "NodeLost" })
	w.replacedHook(b, third)
	w.kubelet.release(w)
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
	w.Expect(w.hooksRun()).To(HaveLen(4))
}

// The next operator goes on with the hook that runs, before and after the lease.
func operatorKilledAtHooks(w *world) {
	w.kubelet.hold("hook-before-1", "hook-after-0")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"), benchmark("next", "leaf"))
	pod := w.appears("b", "hook-before-1")
	w.stop()
	w.kubelet.mu.Lock()
	delete(w.kubelet.held, "hook-before-1")
	w.kubelet.mu.Unlock()
	succeeded(pod)
	w.Expect(w.c.Status().Update(w.t.Context(), pod)).To(Succeed())
	w.start()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.appears("b", "hook-after-0")
	w.stop()
	w.Expect(w.bed("leaf").Status.Lease.Holder).To(Equal(team+"/b"), "no other benchmark gets the bed")
	w.hookEnds(b, "hook-after-0", exits(1, "no space"))
	w.start()
	w.Expect(w.isQuarantined("leaf")).To(HaveSuffix("afterLease hook clean failed with exit code 1: no space"))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.benchmark("next").Status.Phase).To(Equal(v1alpha1.PhaseQueued))
}

// Its hook is ended, and those after the lease run before another one gets the bed.
func benchmarkGoesAtHook(w *world) {
	w.kubelet.hold("hook-before-0", "hook-after-1")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.appears("b", "hook-before-0")
	b := w.benchmark("b")
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.Eventually(func() *corev1.Pod { return w.podOf(b, "hook-after-1") }).ShouldNot(BeNil())
	w.Expect(w.podOf(b, "hook-before-0")).To(BeNil())
	create(w.t, w.c, benchmark("next", "leaf"))
	w.reaches("next", v1alpha1.PhaseQueued)
	w.Expect(w.bed("leaf").Status.Lease.UID).To(Equal(string(b.UID)))
	w.kubelet.release(w)
	w.reaches("next", v1alpha1.PhaseRunning)
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"clean", ""}, {"verify", ""}, {"load", ""}, {"check", ""}}))
}

// The bed is quarantined although nothing but the pod shows that its hook failed.
func benchmarkGoesAfterHook(w *world) {
	w.kubelet.hold("hook-before-0")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	w.appears("b", "hook-before-0")
	b := w.benchmark("b")
	w.stop()
	w.hookEnds(b, "hook-before-0", exits(1, "no such image"))
	w.Expect(w.c.Delete(w.t.Context(), b)).To(Succeed())
	w.start()
	w.Expect(w.isQuarantined("leaf")).To(HaveSuffix("beforeLease hook load failed with exit code 1: no such image"))
	w.Expect(w.hooksRun()).To(Equal([]hookRun{{"clean", ""}, {"verify", ""}}))
	w.releaseQuarantine("leaf")
	w.bedIsCleanEventually("leaf")
}

// Who deletes it does not keep hooks after the lease from running.
func hookSecretGoes(w *world) {
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.c.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: labobjects.HooksSecretName(labobjects.RunOf(b))}})).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), w.bed("leaf"))).To(Succeed())
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.Expect(w.hooksRun()[2:]).To(Equal([]hookRun{{"clean", baseText}, {"verify", baseText}}))
	w.Eventually(w.leftovers).Should(BeEmpty())
}

// A clean-up has the time of its hooks in addition to its own.
func afterTakesLong(w *world) {
	w.impatient(shortCleanUp)
	w.kubelet.hold("hook-after-0")
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64)))
	w.appears("b", "hook-after-0")
	w.Eventually(func() string { return w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleaningUp).Message }).Should(HavePrefix("afterLease hook clean runs"))
	w.Consistently(func() bool { return kit.IsQuarantined(w.bed("leaf")) }, "2s").Should(BeFalse())
	w.pass(time.Minute)
	w.kubelet.release(w)
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

// Each lease has its hooks, also of one benchmark.
func hooksPreempted(w *world) {
	w.createManaged(hooked("leaf"))
	create(w.t, w.c, benchmark("b", "leaf", preemptible))
	w.preemptedAt("leaf")
	w.Expect(w.hooksRun()).To(HaveLen(6))
	w.urgentEnds()
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	var names []string
	for _, run := range w.hooksRun() {
		names = append(names, run.name)
	}
	lease := []string{"load", "check", "clean", "verify"}
	w.Expect(names).To(Equal(slices.Concat(lease, lease, lease)))
	w.bedIsClean("leaf")
}

// A benchmark that would end in time for a reservation, but for the hooks after it, waits.
func hooksBeforeReservation(w *world) {
	w.createManaged(hooked("leaf"))
	w.isReady("leaf")
	r := booked(w, team, "nightly", 44*time.Minute, 60*time.Minute)
	r.Spec.TestBedNames = []string{"leaf"}
	create(w.t, w.c, r)
	w.Eventually(func() []v1alpha1.BedReservation { return w.bed("leaf").Status.Reservations }).Should(HaveLen(1))
	create(w.t, w.c, benchmark("long", "leaf", limitedTo(40*time.Minute)))
	w.waitsBecause(named("long"), v1alpha1.ReasonReserved, "reservation")
	w.Expect(w.place(named("long")).Why).To(
		ContainSubstring("it may have the bed for 45m (activeDeadlineSeconds 2400, and 5m to start and to clean up)"))
	create(w.t, w.c, benchmark("short", "leaf", limitedTo(38*time.Minute)))
	w.reaches("short", v1alpha1.PhaseRunning)
}

// A bed can give hooks no Secret that was not made for hooks.
func hookSecret(w *world) {
	bed := hooked("leaf", func(h *v1alpha1.LeaseHooks) { h.AfterLease[1].SecretName = "leaf" })
	w.createManaged(bed) // The Secret leaf is for configuring the device.
	create(w.t, w.c, benchmark("b", "leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonBedInvalid)).To(Equal("spec.hooks.afterLease[1].secretName: namespace nodrop-lab has no Secret leaf of type nodrop.dev/hook: create it there with that type and the files that the hook reads"))
	create(w.t, w.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "leaf-hook"}, Type: v1alpha1.HookSecretType, StringData: map[string]string{"token": "do-not-show"}})
	w.changeBed("leaf", func(bed *v1alpha1.TestBed) { bed.Spec.Hooks.AfterLease[1].SecretName = "leaf-hook" })
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.noPasswordIn(b)
}

func hooksRefused(w *world) {
	many := func(n int) []v1alpha1.LeaseHook {
		var hooks []v1alpha1.LeaseHook
		for i := range n {
			hooks = append(hooks, aHook("h"+string(rune('0'+i))))
		}
		return hooks
	}
	first := func(change func(*v1alpha1.LeaseHook)) func(*v1alpha1.LeaseHooks) {
		return func(h *v1alpha1.LeaseHooks) { change(&h.BeforeLease[0]) }
	}
	for want, change := range map[string]func(*v1alpha1.LeaseHooks){
		"hooks is empty: give beforeLease, afterLease or both": func(h *v1alpha1.LeaseHooks) { *h = v1alpha1.LeaseHooks{} },
		"spec.hooks.beforeLease: Too many: 5":                  func(h *v1alpha1.LeaseHooks) { h.BeforeLease = many(5) },
		"spec.hooks.afterLease: Too many: 5":                   func(h *v1alpha1.LeaseHooks) { h.AfterLease = many(5) },
		`spec.hooks.beforeLease[1]: Duplicate value`:           first(func(h *v1alpha1.LeaseHook) { h.Name = "check" }),
		`"Load" is not a name of a hook`:                       first(func(h *v1alpha1.LeaseHook) { h.Name = "Load" }),
		`"Lab tools" is not the reference of an image`:         first(func(h *v1alpha1.LeaseHook) { h.Image = "Lab tools" }),
		"timeout is 2h0m0s: give 1s to 1h":                     first(func(h *v1alpha1.LeaseHook) { h.Timeout.Duration = 2 * time.Hour }),
		"timeout is 500ms: give 1s to 1h":                      first(func(h *v1alpha1.LeaseHook) { h.Timeout.Duration = 500 * time.Millisecond }),
		`"NODROP_BED" is not a name of a variable of the lab`:  first(func(h *v1alpha1.LeaseHook) { h.Env = []v1alpha1.HookVariable{{Name: "NODROP_BED"}} }),
		`"A-B" is not a name of a variable of the lab`:         first(func(h *v1alpha1.LeaseHook) { h.Env = []v1alpha1.HookVariable{{Name: "A-B"}} }),
		"spec.hooks.beforeLease[0].env[0].value: Too long": first(func(h *v1alpha1.LeaseHook) {
			h.Env = []v1alpha1.HookVariable{{Name: "A", Value: strings.Repeat("x", 1025)}}
		}),
		"spec.hooks.beforeLease[0].args[0]: Too long": first(func(h *v1alpha1.LeaseHook) { h.Args[0] = strings.Repeat("x", 4097) }),
	} {
		w.Expect(w.c.Create(w.t.Context(), hooked("leaf", change))).To(MatchError(ContainSubstring(want)))
	}
	sim := modelled("sim")
	sim.Spec.Hooks = hooked("leaf").Spec.Hooks
	w.Expect(w.c.Create(w.t.Context(), sim)).To(MatchError(ContainSubstring("hooks is given, and device.simulated is a model in the runner")))
	group := physical("group")
	group.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf"}
	group.Spec.Hooks = hooked("leaf").Spec.Hooks
	w.Expect(w.c.Create(w.t.Context(), group)).To(MatchError(ContainSubstring("hooks and portGroup are both given: a hook acts on the whole device")))
}

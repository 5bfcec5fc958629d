package histories

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// Roles of the pods of the hooks of the managed bed.
const (
	hookBefore = "hook-before-0"
	hookClean  = "hook-after-0"
	hookVerify = "hook-after-1"
)

func leaseHooks() *v1alpha1.LeaseHooks {
	hook := func(name string) v1alpha1.LeaseHook {
		return v1alpha1.LeaseHook{Name: name, Image: "registry.example/lab-tools:1", Timeout: &metav1.Duration{Duration: 2 * time.Minute}}
	}
	return &v1alpha1.LeaseHooks{
		BeforeLease: []v1alpha1.LeaseHook{hook("load")},
		AfterLease:  []v1alpha1.LeaseHook{hook("clean"), hook("verify")},
	}
}

// hook lets the pod of a hook go on, and reports whether its status is new.
func (l *fakeLab) hook(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning {
		l.check.seeHookBegin(pod)
		pod.Status.Phase = corev1.PodRunning
		return true
	}
	if l.since(l.entered, pod) < 2*l.delay(pod, "enter") {
		return false
	}
	pod.Status.Phase = corev1.PodSucceeded
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing[pod.Labels[labobjects.LabelUID]] {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "hook", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "flash is full"}},
		}}
	}
	return true
}

// failHooks lets all hooks of a benchmark fail until the lab is healed.
func (w *world) failHooks(ctx context.Context, name string) {
	uid := string(w.uidOf(ctx, name))
	if uid == "" {
		return
	}
	w.check.allow(name, v1alpha1.PhaseError)
	w.check.allowSick(uid)
	w.lab.mu.Lock()
	defer w.lab.mu.Unlock()
	w.lab.failing[uid] = true
}

// loseRunning waits for a pod of a role that runs, and takes it away: deleted when which is even, failed when it is odd. It returns the pod; nil
// without one.
func (w *world) loseRunning(ctx context.Context, role string, e event) *corev1.Pod {
	for range 2 * e.much {
		var pods corev1.PodList
		_ = w.List(ctx, &pods, client.InNamespace(labNamespace), client.MatchingLabels{labobjects.LabelRole: role})
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase != corev1.PodRunning || !pod.DeletionTimestamp.IsZero() {
				continue
			}
			if e.which%2 == 0 {
				_ = w.Delete(ctx, pod)
				return pod
			}
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "evicted"
			_ = w.Status().Update(ctx, pod)
			return pod
		}
		time.Sleep(w.unit / 2)
	}
	return nil
}

// attemptOf names the run of a benchmark on a bed that a pod belongs to.
func attemptOf(pod *corev1.Pod) string {
	return attemptName(pod.Labels[labobjects.LabelUID], labobjects.AttemptOf(pod.Labels))
}

func attemptName(uid string, attempt int32) string { return fmt.Sprint(uid, "/", attempt) }

// hookProgress describes the hooks of a run.
type hookProgress struct {
	// begun reports whether one has begun, and configured whether a pod has begun to configure the device.
	begun, configured bool
	// succeeded are the roles of pods that have succeeded.
	succeeded map[string]bool
}

// hooksOf returns the progress of a run. The caller holds the lock.
func (c *checker) hooksOf(attempt string) *hookProgress {
	if c.hooks[attempt] == nil {
		c.hooks[attempt] = &hookProgress{succeeded: map[string]bool{}}
	}
	return c.hooks[attempt]
}

// seeHookBegin judges the begin of a hook: a benchmark has the bed, the device was not touched before a hook before the lease, and has its base
// before a hook after it.
func (c *checker) seeHookBegin(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, uid := c.hooksOf(attemptOf(pod)), pod.Labels[labobjects.LabelUID]
	h.begun = true
	if c.behind {
		return
	}
	switch role := roleOf(pod); {
	case c.beds[uid] != managedBed:
		c.violated("hook %s of %s runs, and its bed is %q", role, uid, c.beds[uid])
	case role == hookBefore && h.configured:
		c.violated("hook %s of %s runs after the device was configured", role, uid)
	case role != hookBefore && c.device != baseText:
		c.violated("hook %s of %s runs while the device has %q", role, uid, c.device)
	case role == hookVerify && !h.succeeded[hookClean]:
		c.violated("hook %s of %s runs before %s has succeeded", role, uid, hookClean)
	}
	for _, other := range c.pods {
		if o := other.Labels[labobjects.LabelRole]; other.Labels[labobjects.LabelUID] == uid && runs(other) && (o == labobjects.RoleRunner || o == labobjects.RoleTelemetry) {
			c.violated("hook %s of %s runs, and pod %s is there", roleOf(pod), uid, other.Name)
		}
	}
}

// seeConfigureBegin judges that the hooks before the lease have succeeded when the device gets the configuration of a run.
func (c *checker) seeConfigureBegin(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooksOf(attemptOf(pod))
	if roleOf(pod) != "device-up" {
		return
	}
	h.configured = true
	if !c.behind && !h.succeeded[hookBefore] {
		c.violated("the device is configured for %s, and hook %s has not succeeded", pod.Labels[labobjects.LabelUID], hookBefore)
	}
}

// seeHook notes hooks that have succeeded. The caller holds the lock.
func (c *checker) seeHook(pod *corev1.Pod) {
	if pod.Labels[labobjects.LabelRole] == labobjects.RoleHook && pod.Status.Phase == corev1.PodSucceeded {
		c.hooksOf(attemptOf(pod)).succeeded[roleOf(pod)] = true
		c.hooksRun++
	}
}

// seeHooksEnd judges that the hooks after a lease have succeeded when the bed is given back. The caller holds the lock.
func (c *checker) seeHooksEnd(bed, uid string) {
	h := c.hooks[attemptName(uid, c.attempts[uid])]
	if h == nil || !h.begun || c.behind {
		return
	}
	for _, role := range []string{hookClean, hookVerify} {
		if !h.succeeded[role] {
			c.violated("bed %s was given back by %s, and hook %s has not succeeded", bed, uid, role)
		}
	}
}

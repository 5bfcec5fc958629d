package histories

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

const nodeName = "node1"

// longestReboot is how long a node is down at most, in units: a clean-up that waits for it, and then restores a
// device, ends before its deadline.
const longestReboot = 90

// rebootNode restarts the node of the beds with devices. While it is down no pod of it starts or
// ends. Then its pods are as much decides: their containers start again in place, they have failed,
// or they were evicted. Devices are gone.
func (w *world) rebootNode(ctx context.Context, e event) {
	w.setNode(ctx, corev1.ConditionFalse)
	w.lab.slow(time.Hour)
	w.check.loseNode()
	on := w.lab.onNode(ctx)
	for i := range on {
		w.lab.setReady(ctx, &on[i], false)
		w.lab.runners.lose(on[i].Labels[labobjects.LabelUID])
		w.lab.forgetWork(on[i].UID)
		if b := w.check.keyOf(on[i].Labels[labobjects.LabelUID]).Name; b != "" {
			w.check.allow(b, v1alpha1.PhaseError) // What it had measured with is gone.
		}
		if e.much%3 == 2 {
			_ = w.Delete(ctx, &on[i])
		}
	}
	time.Sleep(time.Duration(min(2*e.much, longestReboot)) * w.unit)
	for _, pod := range w.lab.onNode(ctx) {
		ends := e.much%3 == 1 || pod.Spec.RestartPolicy == corev1.RestartPolicyNever
		if ends && pod.Status.Phase == corev1.PodRunning {
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "NodeShutdown", "the node was shut down"
			_ = w.Status().Update(ctx, &pod)
		} else if pod.Status.Phase == corev1.PodRunning {
			w.lab.setReady(ctx, &pod, true)
		}
	}
	w.lab.slow(0)
	w.setNode(ctx, corev1.ConditionTrue)
}

// setNode sets the condition Ready of the node.
func (w *world) setNode(ctx context.Context, ready corev1.ConditionStatus) {
	for range 50 {
		node := &corev1.Node{}
		if err := w.Get(ctx, client.ObjectKey{Name: nodeName}, node); err != nil {
			return
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "Kubelet", LastTransitionTime: metav1.NewTime(time.Now())}}
		if w.Status().Update(ctx, node) == nil {
			break
		}
	}
	w.check.setNode(ready == corev1.ConditionTrue)
}

// onNode returns the pods on the node: all but the pods of runs on the modelled bed.
func (l *fakeLab) onNode(ctx context.Context) []corev1.Pod {
	var pods corev1.PodList
	if err := l.List(ctx, &pods, client.InNamespace(labNamespace), client.HasLabels{labobjects.LabelUID}); err != nil {
		return nil
	}
	var on []corev1.Pod
	for i := range pods.Items {
		if bed := l.check.bedOf(pods.Items[i].Labels[labobjects.LabelUID]); bed != "" && bed != bedNames[0] {
			on = append(on, pods.Items[i])
		}
	}
	return on
}

// setReady sets the condition Ready of a pod that runs.
func (l *fakeLab) setReady(ctx context.Context, pod *corev1.Pod, ready bool) {
	if pod.Status.Phase != corev1.PodRunning {
		return
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	_ = l.Status().Update(ctx, pod)
}

// lose ends the processes of the runners of a run, whose device is gone: the next ones find no neighbor.
func (f *fakeRunners) lose(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[uid] = true
	for _, r := range f.pods {
		if r.uid == uid {
			r.checkpoint = r.log(f.unit)
			r.process, r.begun = r.process+1, false
		}
	}
}

// setNode notes whether the node is up.
func (c *checker) setNode(ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodeDown = time.Time{}
	if !ready {
		c.nodeDown = time.Now()
	}
}

// nodeKnown is the time after which an operator has seen that a node is down: the interval of the
// checks of a ready bed.
const nodeKnown = 70 * time.Second

// seeNode judges a lease of a bed while its node is down. The caller holds the lock.
func (c *checker) seeNode(bed *v1alpha1.TestBed) {
	if !c.behind && bed.Name != bedNames[0] && !c.nodeDown.IsZero() && time.Since(c.nodeDown) > nodeKnown {
		c.violated("bed %s was leased to %s, and its node is down since %s", bed.Name, bed.Status.Lease.Holder, time.Since(c.nodeDown))
	}
}

func (c *checker) bedOf(uid string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beds[uid]
}

// keyOf returns the name and the namespace of a benchmark; both are empty if it is not known.
func (c *checker) keyOf(uid string) (key client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.last[uid]; b != nil {
		key = client.ObjectKeyFromObject(b)
	}
	return key
}

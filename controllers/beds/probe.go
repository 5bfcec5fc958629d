package beds

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/lab/bedprobe"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/calibration"
)

// probeDeadline is the time within which a probe must end. A bed waits no longer for its first
// lease because of it.
const probeDeadline = time.Minute

// answered is the answer of a node, between two times by the clocks of API server and operator.
type answered struct {
	bedprobe.Answer
	node            labobjects.ProbedNode
	after, notAfter time.Time
	// device is the answer of the device itself; nil of a node.
	device *configure.Comparison
}

// clockDifference returns by how much the clock of a node is ahead; negative if it is behind, and
// 0 within the tolerance.
func (a answered) clockDifference() time.Duration {
	switch {
	case a.Time.Before(a.after.Add(-maxClockDifference)):
		return a.Time.Sub(a.after)
	case a.Time.After(a.notAfter.Add(maxClockDifference)):
		return a.Time.Sub(a.notAfter)
	}
	return 0
}

// probe advances the probe of a bed that is sound otherwise, and returns when to go on; 0 for the
// usual time. The probe moves nothing and holds nothing: a benchmark may get the bed meanwhile,
// which ends the probe.
func (r *Reconciler) probe(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) (time.Duration, error) {
	var nodes []labobjects.ProbedNode
	if r.ProbeEvery > 0 {
		nodes = labobjects.ProbedNodes(bed)
	}
	if len(nodes) == 0 {
		if err := r.stopProbe(ctx, bed); err != nil {
			return 0, err
		}
		bed.Status.Health = nil
		meta.RemoveStatusCondition(&bed.Status.Conditions, v1alpha1.ConditionHealthy)
		return 0, nil
	}
	digest := labobjects.Digest(bed, nodes)
	if h := bed.Status.Health; h == nil || h.Interfaces != digest {
		if err := r.stopProbe(ctx, bed); err != nil {
			return 0, err
		}
		bed.Status.Health = &v1alpha1.BedHealth{Interfaces: digest, Doubted: bed.Status.Lease != nil}
		kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, metav1.Condition{
			Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProbing,
			Message: "the interfaces of the bed have not been read yet",
		})
	}
	h := bed.Status.Health
	if bed.Status.Lease != nil {
		return 0, r.stopProbe(ctx, bed)
	}
	if h.StartTime == nil {
		if due := r.probeDue(bed, now); due > 0 {
			return min(due, r.usualCheck(bed)), nil
		}
		if busy, err := r.measuresNearby(ctx, bed, nodes); err != nil || busy {
			return 0, err
		}
		h.StartTime = &metav1.Time{Time: now.Truncate(time.Second)}
		return kit.Soon, nil // The pods are made once it is stored that there are some.
	}
	return r.awaitProbe(ctx, bed, nodes, now)
}

// measuresNearby reports whether a benchmark has another bed on a node of this bed. A probe that
// may wait is not started there, since the start of a pod takes processor time.
func (r *Reconciler) measuresNearby(ctx context.Context, bed *v1alpha1.TestBed, nodes []labobjects.ProbedNode) (bool, error) {
	if unready, _ := unhealthy(bed); unready != "" {
		return false, nil
	}
	leased, err := r.leased(ctx, bed)
	if err != nil {
		return false, err
	}
	for i := range leased {
		for _, p := range leased[i].Spec.Ports {
			for _, n := range nodes {
				if p.Node == n.Node {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// leased returns the other beds that benchmarks have, as the API server knows them.
func (r *Reconciler) leased(ctx context.Context, bed *v1alpha1.TestBed) ([]v1alpha1.TestBed, error) {
	var all v1alpha1.TestBedList
	if err := r.Live.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing test beds: %w", err)
	}
	var leased []v1alpha1.TestBed
	for i := range all.Items {
		if other := &all.Items[i]; other.Name != bed.Name && other.Status.Lease != nil {
			leased = append(leased, *other)
		}
	}
	return leased, nil
}

// awaitProbe makes the pods of a probe, and ends it once all have answered or its time is over.
func (r *Reconciler) awaitProbe(ctx context.Context, bed *v1alpha1.TestBed, nodes []labobjects.ProbedNode, now time.Time) (time.Duration, error) {
	since := now.Sub(bed.Status.Health.StartTime.Time)
	late := since < 0 || since > probeDeadline
	var answers []answered
	var pending string
	for _, n := range nodes {
		pod, err := r.probePod(ctx, bed, n)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			return 0, r.giveUp(ctx, bed, now, kit.Refusal(err, r.Lab.Namespace).Error())
		case err != nil && !late:
			return 0, err
		case err != nil:
			pending = err.Error()
		case pod == nil || !kit.IsLost(pod):
			pending = r.probeWaitsFor(ctx, n, pod, late)
		default:
			answer, err := answerOf(pod, n, now)
			if err != nil {
				return 0, r.giveUp(ctx, bed, now, fmt.Sprintf("%s: %s", n, kit.EndOf(pod)))
			}
			answers = append(answers, answer)
		}
	}
	switch {
	case pending != "" && late:
		return 0, r.giveUp(ctx, bed, now, fmt.Sprintf("no answer within %s: %s", probeDeadline, pending))
	case pending != "":
		return r.Poll, nil
	}
	used, err := r.interfacesInUse(ctx, bed)
	if err != nil {
		return 0, err
	}
	if err := r.removeProbePods(ctx, bed); err != nil {
		return 0, err
	}
	return 0, r.setHealthy(ctx, bed, now, judgeAnswers(bed, answers, used))
}

// answerOf reads the answer of a pod that has ended.
func answerOf(pod *corev1.Pod, n labobjects.ProbedNode, now time.Time) (answered, error) {
	a := answered{node: n, after: pod.CreationTimestamp.Time, notAfter: now}
	if n.IsDevice() {
		c, err := labobjects.DeviceComparison(pod)
		a.device = &c
		return a, err
	}
	answer, err := labobjects.ProbeAnswer(pod)
	a.Answer = answer
	return a, err
}

// giveUp ends a probe that has no answer.
func (r *Reconciler) giveUp(ctx context.Context, bed *v1alpha1.TestBed, now time.Time, why string) error {
	if err := r.removeProbePods(ctx, bed); err != nil {
		return err
	}
	setUnknown(bed, now, why)
	return nil
}

// probeWaitsFor describes what the pod of a node waits for. Only the last message of a probe is
// shown, so that events are read only then.
func (r *Reconciler) probeWaitsFor(ctx context.Context, n labobjects.ProbedNode, pod *corev1.Pod, late bool) string {
	if pod != nil && late {
		if why := kit.WaitsFor(ctx, r.Live, pod); why != "" {
			return n.String() + ": " + why
		}
	}
	if n.IsDevice() {
		return "the pod that compares the device with its base has not run"
	}
	return n.String() + " has not run the pod"
}

// interfacesInUse returns the interfaces that benchmarks on other beds have now, as node/interface.
func (r *Reconciler) interfacesInUse(ctx context.Context, bed *v1alpha1.TestBed) (map[string]bool, error) {
	leased, err := r.leased(ctx, bed)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for i := range leased {
		for _, name := range calibration.Interfaces(&leased[i]) {
			used[name] = true
		}
	}
	return used, nil
}

// probePod returns the pod of the present probe on a node, and makes it unless it exists; nil
// while that of an earlier probe is being removed.
func (r *Reconciler) probePod(ctx context.Context, bed *v1alpha1.TestBed, n labobjects.ProbedNode) (*corev1.Pod, error) {
	probe := bed.Status.Health.Interfaces + " " + kit.Stamp(bed.Status.Health.StartTime.Time)
	pod := &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: labobjects.ProbePodName(bed, n.Index)}, pod)
	switch {
	case apierrors.IsNotFound(err):
		seconds := int64(probeDeadline / time.Second)
		if n.IsDevice() {
			pod = labobjects.DeviceProbePod(r.Lab, bed, n, probe, seconds, restoresBase(bed))
		} else {
			pod = labobjects.ProbePod(r.Lab, bed, n, probe, seconds)
		}
		if err := r.Create(ctx, pod); err != nil {
			return nil, fmt.Errorf("making pod %s: %w", pod.Name, err)
		}
		return pod, nil
	case err != nil:
		return nil, fmt.Errorf("reading the pod that probes test bed %s: %w", bed.Name, err)
	case pod.Annotations[labobjects.AnnotationProbe] != probe || !pod.DeletionTimestamp.IsZero():
		return nil, r.removePod(ctx, pod)
	}
	return pod, nil
}

// stopProbe ends a probe without a result.
func (r *Reconciler) stopProbe(ctx context.Context, bed *v1alpha1.TestBed) error {
	h := bed.Status.Health
	if h == nil || h.StartTime == nil {
		return nil
	}
	if err := r.removeProbePods(ctx, bed); err != nil {
		return err
	}
	h.StartTime = nil
	return nil
}

// removeProbePods removes all pods that probe a bed, also on nodes that its spec does not name any more.
func (r *Reconciler) removeProbePods(ctx context.Context, bed *v1alpha1.TestBed) error {
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(r.Lab.Namespace), client.MatchingLabels(labobjects.ProbeSelector(bed))); err != nil {
		return fmt.Errorf("listing the pods that probe test bed %s: %w", bed.Name, err)
	}
	for i := range pods.Items {
		if err := r.removePod(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// removePod removes a pod at once: it has nothing to finish.
func (r *Reconciler) removePod(ctx context.Context, pod *corev1.Pod) error {
	if err := r.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing pod %s: %w", pod.Name, err)
	}
	return nil
}

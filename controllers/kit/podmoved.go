package kit

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// PodMoved passes changes of a pod on which a reconcile of its benchmark acts, and its removal. It drops the
// steps of its start and end in between, each of which would cost a reconcile that changes nothing.
func PodMoved() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			pod, is := e.Object.(*corev1.Pod)
			return is && newsOf(pod) != podNews{}
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, is1 := e.ObjectOld.(*corev1.Pod)
			after, is2 := e.ObjectNew.(*corev1.Pod)
			return is1 && is2 && (before.UID != after.UID || newsOf(before) != newsOf(after))
		},
	}
}

// podNews contains all that reconciles read of a pod; the zero value is a pod that starts.
type podNews struct {
	deleted bool
	// address of a pod that is ready.
	address string
	// ended is the phase of a pod that has ended, with the reason.
	ended string
	// words explain why containers wait or have ended, and why the pod is not scheduled.
	words string
}

func newsOf(pod *corev1.Pod) podNews {
	news := podNews{deleted: !pod.DeletionTimestamp.IsZero()}
	if news.deleted {
		switch pod.Labels[labobjects.LabelRole] {
		case labobjects.RoleAgent, labobjects.RoleRunner, labobjects.RoleTelemetry:
			return news // It is lost, however its containers end.
		}
	}
	if IsReady(pod) {
		news.address = pod.Status.PodIP
	}
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		news.ended = fmt.Sprint(phase, " ", pod.Status.Reason, " ", pod.Status.Message)
	}
	var words strings.Builder
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && !isStarting(w.Reason) {
			fmt.Fprintln(&words, c.Name, w.Reason, w.Message)
		}
		for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if t != nil {
				fmt.Fprintln(&words, c.Name, t.Reason, t.ExitCode, t.Message)
			}
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			fmt.Fprintln(&words, c.Reason, c.Message)
		}
	}
	news.words = words.String()
	return news
}

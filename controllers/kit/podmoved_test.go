package kit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// podIn returns a pod of a role after changes.
func podIn(role string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1", Labels: map[string]string{labobjects.LabelRole: role}}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func scheduled(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = "node1"
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: "Unschedulable"})
	}
}

func waiting(reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
}

func serving(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

func over(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
	}
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }

func TestPodMoved(t *testing.T) {
	moved, runner := PodMoved(), labobjects.RoleRunner
	started := func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3" }
	for name, tc := range map[string]struct {
		before, after *corev1.Pod
		want          bool
	}{
		"it is scheduled":                         {podIn(runner), podIn(runner, scheduled(corev1.ConditionTrue)), false},
		"no node takes it":                        {podIn(runner), podIn(runner, scheduled(corev1.ConditionFalse)), true},
		"its container is created":                {podIn(runner), podIn(runner, waiting("ContainerCreating")), false},
		"its image is not there":                  {podIn(runner, waiting("ContainerCreating")), podIn(runner, waiting("ImagePullBackOff")), true},
		"its container runs":                      {podIn(runner, waiting("ContainerCreating")), podIn(runner, started), false},
		"it is ready":                             {podIn(runner, started), podIn(runner, serving), true},
		"it is not ready any more":                {podIn(runner, serving), podIn(runner, started), true},
		"it has failed":                           {podIn(runner, serving), podIn(runner, over(corev1.PodFailed)), true},
		"it is deleted":                           {podIn(runner, serving), podIn(runner, serving, deleted), true},
		"a deleted runner ends":                   {podIn(runner, serving, deleted), podIn(runner, over(corev1.PodSucceeded), deleted), false},
		"a deleted pod of a device ends":          {podIn(labobjects.RoleDevice, deleted), podIn(labobjects.RoleDevice, over(corev1.PodSucceeded), deleted), true},
		"a deleted pod that configures ends":      {podIn(labobjects.RoleConfigure, deleted), podIn(labobjects.RoleConfigure, over(corev1.PodFailed), deleted), true},
		"a deleted hook ends":                     {podIn(labobjects.RoleHook, deleted), podIn(labobjects.RoleHook, over(corev1.PodFailed), deleted), true},
		"another pod has its name, and is as far": {podIn(runner, serving), podIn(runner, serving, func(pod *corev1.Pod) { pod.UID = "2" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := moved.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("passed: %v, want %v", got, tc.want)
			}
		})
	}
	if moved.Create(event.CreateEvent{Object: podIn(runner)}) || !moved.Create(event.CreateEvent{Object: podIn(runner, serving)}) {
		t.Error("of pods that appear, those pass that do not start only")
	}
	if !moved.Delete(event.DeleteEvent{Object: podIn(runner, deleted)}) {
		t.Error("a pod that is gone has to pass")
	}
}

package kit

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// HookProgress describes how far the hooks of a stage are. They have succeeded if both texts are empty.
type HookProgress struct {
	// Failed describes why a hook failed. Nothing more runs until a person has looked at the bed.
	Failed string
	// WaitsFor describes the hook that runs, or why it does not.
	WaitsFor string
}

// RunHooks runs the hooks of a stage one after the other. It notes in their Secret how far they are, so that one that has
// succeeded does not run again when its pod is gone.
func (o RunObjects) RunHooks(ctx context.Context, run labobjects.Run, sec *corev1.Secret, stage labobjects.Stage) (HookProgress, error) {
	if why := labobjects.HookFailure(sec, stage); why != "" {
		return HookProgress{Failed: why}, nil
	}
	hooks, err := labobjects.ReadHooks(sec)
	if err != nil {
		return HookProgress{}, err
	}
	for i := labobjects.HooksDone(sec, stage); i < len(hooks.Of(stage)); i++ {
		h := &hooks.Of(stage)[i]
		named := fmt.Sprintf("%s hook %s", stage, h.Name)
		pod := labobjects.HookPod(o.Lab, run, hooks, stage, i)
		if err := o.Ensure(ctx, run, pod); NoAnswer(err) {
			return HookProgress{}, err
		} else if err != nil { // Such as a quota of the lab, which may have room later.
			return HookProgress{WaitsFor: named + " cannot be started: " + err.Error()}, nil
		}
		switch end, words := endOfHook(pod, h.Within()); end {
		case hookSucceeded:
			labobjects.SetHooksDone(sec, stage, i+1)
			if err := o.updateHooks(ctx, sec); err != nil {
				return HookProgress{}, err
			}
		case hookFailed:
			why := named + " " + words
			return HookProgress{Failed: why}, o.failHook(ctx, sec, stage, why)
		case hookLost:
			return HookProgress{WaitsFor: named + " runs again, since its pod was lost: " + words}, o.deletePod(ctx, pod)
		default:
			return HookProgress{WaitsFor: named + " runs" + Colon(WaitsFor(ctx, o.Live, pod))}, nil
		}
	}
	return HookProgress{}, nil
}

// failHook notes why a hook failed, so that the bed is quarantined whatever happens to operator, benchmark and pod.
func (o RunObjects) failHook(ctx context.Context, sec *corev1.Secret, stage labobjects.Stage, why string) error {
	labobjects.SetHookFailure(sec, stage, Bounded(why))
	return o.updateHooks(ctx, sec)
}

// HooksLate notes that the hooks before a lease did not end in their time.
func (o RunObjects) HooksLate(ctx context.Context, sec *corev1.Secret, why string) error {
	return o.failHook(ctx, sec, labobjects.BeforeLease, why)
}

func (o RunObjects) updateHooks(ctx context.Context, sec *corev1.Secret) error {
	if err := o.Client.Update(ctx, sec); err != nil {
		return fmt.Errorf("noting how far the hooks of the bed are: %w", err)
	}
	return nil
}

// deletePod asks for the removal of a pod, and of no other one with its name.
func (o RunObjects) deletePod(ctx context.Context, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := o.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing pod %s: %w", pod.Name, err)
	}
	return nil
}

// hooksOf returns the Secret with the hooks of a run; nil without one.
func (o RunObjects) hooksOf(ctx context.Context, run labobjects.Run) (*corev1.Secret, error) {
	sec := &corev1.Secret{}
	err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.Lab.Namespace, Name: labobjects.HooksSecretName(run)}, sec)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the hooks of the bed: %w", err)
	}
	return sec, nil
}

// closeStage keeps hooks of a stage from starting that are made from now on.
func (o RunObjects) closeStage(ctx context.Context, sec *corev1.Secret, stage labobjects.Stage) error {
	if !labobjects.CloseStage(sec, stage) {
		return nil
	}
	return o.updateHooks(ctx, sec)
}

// stopBefore ends the hooks before the lease, and returns what is still there of them. One that had failed by itself
// is noted before its pod is removed.
func (o RunObjects) stopBefore(ctx context.Context, run labobjects.Run, sec *corev1.Secret) (left string, _ error) {
	hooks, err := labobjects.ReadHooks(sec)
	if err != nil {
		return "", err
	}
	if err := o.closeStage(ctx, sec, labobjects.BeforeLease); err != nil {
		return "", err
	}
	all, err := o.Pods(ctx, run)
	if err != nil {
		return "", err
	}
	pods := map[string]*corev1.Pod{}
	for i := range hooks.BeforeLease {
		h := &hooks.BeforeLease[i]
		pod := all[labobjects.HookPodName(run, labobjects.BeforeLease, i)]
		if pod == nil {
			continue
		}
		pods[pod.Name] = pod
		end, words := endOfHook(pod, h.Within())
		if end == hookFailed && labobjects.HookFailure(sec, labobjects.BeforeLease) == "" {
			if err := o.failHook(ctx, sec, labobjects.BeforeLease, fmt.Sprintf("%s hook %s %s", labobjects.BeforeLease, h.Name, words)); err != nil {
				return "", err
			}
		}
	}
	return o.removePods(ctx, pods)
}

// endLease runs the hooks after a lease, and removes everything of hooks when they have succeeded. A failure, also
// of a hook before the lease, stays until Forgive.
func (o RunObjects) endLease(ctx context.Context, run labobjects.Run, sec *corev1.Secret) (Remains, error) {
	hooks, err := labobjects.ReadHooks(sec)
	if err != nil {
		return Remains{}, err
	}
	allowed := hooks.TimeAfterLease()
	after, err := o.RunHooks(ctx, run, sec, labobjects.AfterLease)
	if err != nil {
		return Remains{Allowed: allowed}, err
	}
	if after.WaitsFor != "" {
		return Remains{What: after.WaitsFor, Allowed: allowed}, nil
	}
	if before := labobjects.HookFailure(sec, labobjects.BeforeLease); before != "" || after.Failed != "" {
		if before != "" && after.Failed != "" {
			before += "; "
		}
		return Remains{What: before + after.Failed, Final: true}, nil
	}
	if err := o.closeStage(ctx, sec, labobjects.AfterLease); err != nil {
		return Remains{Allowed: allowed}, err
	}
	left, err := o.removeRest(ctx, run, true)
	if left != "" || err != nil {
		return Remains{What: left, Allowed: allowed}, err
	}
	if controllerutil.RemoveFinalizer(sec, labobjects.FinalizerHooks) {
		if err := o.updateHooks(ctx, sec); err != nil {
			return Remains{Allowed: allowed}, err
		}
	}
	if err := o.Client.Delete(ctx, sec); client.IgnoreNotFound(err) != nil {
		return Remains{Allowed: allowed}, fmt.Errorf("removing the hooks of the bed: %w", err)
	}
	return Remains{}, nil
}

// Forgive lets the clean-up of a run go on after a hook failed: a person has looked at the bed. A hook after the
// lease runs again. If the bed has other hooks after the lease by now, these run; nil leaves them as they are.
func (o RunObjects) Forgive(ctx context.Context, run labobjects.Run, bed *v1alpha1.TestBed) error {
	if o.Bench != nil {
		return nil
	}
	sec, err := o.hooksOf(ctx, run)
	if err != nil || sec == nil {
		return err
	}
	again := labobjects.HookFailure(sec, labobjects.AfterLease) != ""
	if bed != nil {
		changed, err := labobjects.ReplaceAfterLease(sec, bed.Spec.Hooks)
		if err != nil {
			return err
		}
		again = again || changed
	}
	if !again && labobjects.HookFailure(sec, labobjects.BeforeLease) == "" {
		return nil
	}
	if again {
		pods, err := o.Pods(ctx, run)
		if err != nil {
			return err
		}
		maps.DeleteFunc(pods, func(_ string, pod *corev1.Pod) bool { return pod.Labels[labobjects.LabelRole] != labobjects.RoleHook })
		if _, err := o.removePods(ctx, pods); err != nil { // RunHooks waits until they are gone.
			return err
		}
	}
	labobjects.SetHookFailure(sec, labobjects.BeforeLease, "")
	labobjects.SetHookFailure(sec, labobjects.AfterLease, "")
	return o.updateHooks(ctx, sec)
}

// hookEnd is how the pod of a hook ended.
type hookEnd int

const (
	// hookRuns means that it has not ended.
	hookRuns hookEnd = iota
	hookSucceeded
	// hookFailed means that the program failed, or did not end in its time.
	hookFailed
	// hookLost means that something else ended the pod, such as its node.
	hookLost
)

// deadlineExceeded is the reason of a pod that did not end within its activeDeadlineSeconds.
const deadlineExceeded = "DeadlineExceeded"

// endOfHook returns how the pod of a hook ended, with its exit code and its last lines.
func endOfHook(pod *corev1.Pod, within time.Duration) (hookEnd, string) {
	var end *corev1.ContainerStateTerminated
	for _, c := range pod.Status.ContainerStatuses {
		end = c.State.Terminated
	}
	output := ""
	if end != nil {
		output = Colon(lastLines(end.Message))
	}
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return hookLost, "it is being deleted"
	case pod.Status.Phase == corev1.PodSucceeded:
		return hookSucceeded, ""
	case pod.Status.Phase != corev1.PodFailed:
		return hookRuns, ""
	case pod.Status.Reason == deadlineExceeded:
		return hookFailed, fmt.Sprintf("did not end within its timeout of %s%s", within, output)
	case pod.Status.Reason != "" || end == nil || end.ExitCode == 0 || isDisrupted(pod):
		return hookLost, EndOf(pod)
	case end.Reason != "" && end.Reason != "Error":
		return hookFailed, fmt.Sprintf("failed with exit code %d (%s)%s", end.ExitCode, end.Reason, output)
	}
	return hookFailed, fmt.Sprintf("failed with exit code %d%s", end.ExitCode, output)
}

// isDisrupted reports whether the cluster ended a pod, and not its program.
func isDisrupted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

package labobjects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// FinalizerHooks keeps the Secret of a run's hooks until the hooks after the lease have succeeded.
const FinalizerHooks = "nodrop.dev/hooks"

// AnnotationHook of a pod is the name of the hook that it runs, for people.
const AnnotationHook = "nodrop.dev/hook"

// Stage is the time at which hooks run.
type Stage string

// The stages.
const (
	BeforeLease Stage = "beforeLease"
	AfterLease  Stage = "afterLease"
)

// short is the stage in names of objects.
func (s Stage) short() string {
	if s == BeforeLease {
		return "before"
	}
	return "after"
}

// Annotations of the hooks' Secret: how many hooks of a stage have succeeded, and why one failed.
func (s Stage) annotationDone() string   { return "nodrop.dev/" + s.short() + "-lease-done" }
func (s Stage) annotationFailed() string { return "nodrop.dev/" + s.short() + "-lease-failed" }

// Hooks are the hooks of a bed as they were when it was leased, with the variables that all of them get. They are kept
// with the run: what runs after it needs neither the benchmark nor the bed.
type Hooks struct {
	v1alpha1.LeaseHooks
	Env []corev1.EnvVar `json:"variables"`
}

// Of returns the hooks of a stage.
func (h *Hooks) Of(stage Stage) []v1alpha1.LeaseHook {
	if stage == BeforeLease {
		return h.BeforeLease
	}
	return h.AfterLease
}

const (
	// hooksFile is the key of the Secret with the hooks.
	hooksFile = "hooks.json"
	// hookDir has the files of the Secret that a hook names.
	hookDir = "/etc/nodrop/hook"
	// hookMemory limits a hook that sets no limit.
	hookMemory = "256Mi"
)

// HooksSecretName is the name of the Secret with the hooks of a run.
func HooksSecretName(run Run) string { return run.Prefix() + "-hooks" }

// HookPodName is the name of the pod that runs a hook.
func HookPodName(run Run, stage Stage, index int) string {
	return fmt.Sprintf("%s-%s-%s-%d", run.Prefix(), RoleHook, stage.short(), index)
}

// HooksSecret has the hooks of a bed for a run, and how far they are. As long as it exists, hooks after the
// lease are to run.
func HooksSecret(s Settings, run Run, bed *v1alpha1.TestBed, variants []v1alpha1.VariantName) (*corev1.Secret, error) {
	if bed.Spec.Hooks == nil {
		return nil, fmt.Errorf("bed %s has no hooks", bed.Name)
	}
	names := make([]string, len(variants))
	for i, v := range variants {
		names[i] = string(v)
	}
	address := ""
	if m := bed.Spec.Device.Management(); m != nil {
		address = m.Address()
	}
	text, err := encodeHooks(&Hooks{LeaseHooks: *bed.Spec.Hooks, Env: []corev1.EnvVar{
		{Name: "NODROP_BED", Value: bed.Name},
		{Name: "NODROP_BENCHMARK_NAMESPACE", Value: run.Namespace},
		{Name: "NODROP_BENCHMARK", Value: run.Name},
		{Name: "NODROP_VARIANTS", Value: strings.Join(names, ",")},
		{Name: "NODROP_DEVICE_ADDRESS", Value: address},
	}})
	if err != nil {
		return nil, err
	}
	if len(text) > maxFiles {
		return nil, fmt.Errorf("the hooks of bed %s have %d KiB, and at most %d KiB are allowed: put long scripts into their images", bed.Name, kib(len(text)), kib(maxFiles))
	}
	sec := secret(s, run, HooksSecretName(run), RoleHook, map[string][]byte{hooksFile: text, string(BeforeLease): []byte(BeforeLease), string(AfterLease): []byte(AfterLease)})
	sec.Finalizers = []string{FinalizerHooks}
	return sec, nil
}

// encodeHooks leaves signs of scripts as they are, which would be longer otherwise.
func encodeHooks(h *Hooks) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(h); err != nil {
		return nil, fmt.Errorf("writing the hooks: %w", err)
	}
	return text.Bytes(), nil
}

// ReadHooks reads back what HooksSecret wrote.
func ReadHooks(sec *corev1.Secret) (*Hooks, error) {
	h := &Hooks{}
	if err := json.Unmarshal(sec.Data[hooksFile], h); err != nil {
		return nil, fmt.Errorf("reading secret %s: %w", sec.Name, err)
	}
	return h, nil
}

// ReplaceAfterLease gives a run the hooks after the lease that its bed has now, and reports whether they are others. Then
// all of them run.
func ReplaceAfterLease(sec *corev1.Secret, now *v1alpha1.LeaseHooks) (changed bool, _ error) {
	h, err := ReadHooks(sec)
	if err != nil {
		return false, err
	}
	if now == nil {
		now = &v1alpha1.LeaseHooks{}
	}
	if equality.Semantic.DeepEqual(h.AfterLease, now.AfterLease) {
		return false, nil
	}
	h.AfterLease = now.AfterLease
	if sec.Data[hooksFile], err = encodeHooks(h); err != nil {
		return false, err
	}
	SetHooksDone(sec, AfterLease, 0)
	return true, nil
}

// CloseStage keeps pods of a stage that are made from now on from starting, and reports whether they could start before: an operator that
// was replaced may write late. They read the stage from a key of the Secret.
func CloseStage(sec *corev1.Secret, stage Stage) (changed bool) {
	_, changed = sec.Data[string(stage)]
	delete(sec.Data, string(stage))
	return changed
}

// HooksDone returns how many hooks of a stage have succeeded.
func HooksDone(sec *corev1.Secret, stage Stage) int {
	n, _ := strconv.Atoi(sec.Annotations[stage.annotationDone()])
	return n
}

// SetHooksDone notes how many hooks of a stage have succeeded.
func SetHooksDone(sec *corev1.Secret, stage Stage, n int) {
	sec.Annotations[stage.annotationDone()] = strconv.Itoa(n)
}

// HookFailure returns why a hook of a stage failed; empty if none has.
func HookFailure(sec *corev1.Secret, stage Stage) string {
	return sec.Annotations[stage.annotationFailed()]
}

// SetHookFailure notes why a hook of a stage failed; empty removes the note.
func SetHookFailure(sec *corev1.Secret, stage Stage, why string) {
	if why == "" {
		delete(sec.Annotations, stage.annotationFailed())
		return
	}
	sec.Annotations[stage.annotationFailed()] = why
}

// stageOf reads the stage from the Secret of the hooks. Without the key no container starts, see CloseStage.
func stageOf(run Run, stage Stage) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: HooksSecretName(run)}, Key: string(stage),
	}}
}

// HookPod runs a hook once. It has no right in the cluster and no capability, may write to /tmp only, and reaches what
// the pods reach that configure devices.
func HookPod(s Settings, run Run, hooks *Hooks, stage Stage, index int) *corev1.Pod {
	h := &hooks.Of(stage)[index]
	pod := pod(s, run, HookPodName(run, stage, index), RoleHook)
	pod.Annotations[AnnotationHook] = h.Name
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.ActiveDeadlineSeconds = ptr(int64(math.Ceil(h.Within().Seconds())))
	pod.Spec.SecurityContext.FSGroup = ptr(int64(user))
	pod.Spec.Volumes = []corev1.Volume{scratchVolume("tmp", storageLimit)}
	c := corev1.Container{
		Name:            RoleHook,
		Image:           string(h.Image),
		ImagePullPolicy: s.PullPolicy,
		Command:         h.Command,
		Args:            h.Args,
		Env: append(slices.Clone(hooks.Env),
			corev1.EnvVar{Name: "NODROP_STAGE", ValueFrom: stageOf(run, stage)}, corev1.EnvVar{Name: "NODROP_HOOK", Value: h.Name}),
		VolumeMounts:             []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
		Resources:                sharing("50m", "16Mi", hookMemory),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if !slices.ContainsFunc(h.Env, func(v v1alpha1.HookVariable) bool { return v.Name == "HOME" }) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "HOME", Value: "/tmp"})
	}
	for _, v := range h.Env {
		c.Env = append(c.Env, corev1.EnvVar{Name: v.Name, Value: v.Value})
	}
	if h.Memory != nil {
		c.Resources.Limits[corev1.ResourceMemory] = *h.Memory
	}
	if h.SecretName != "" {
		pod.Spec.Volumes = append(pod.Spec.Volumes, secretVolume("hook", h.SecretName))
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "hook", MountPath: hookDir, ReadOnly: true})
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod
}

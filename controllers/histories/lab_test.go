package histories

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

const (
	labNamespace = "nodrop-lab"
	team         = "team-routing"
	// finalizerKubelet keeps a pod until its process has ended.
	finalizerKubelet = "histories.nodrop.dev/kubelet"
)

// fakeLab is the lab around the operator: the kubelet, and the runners in its pods.
type fakeLab struct {
	client.Client
	// unit is the unit of all durations: a second, or less on a real API server.
	unit    time.Duration
	check   *checker
	runners *fakeRunners

	mu sync.Mutex
	// sick are runs whose device does not stop.
	sick map[string]bool
	// failing are runs whose hooks fail, and resets what pods have made of the device.
	failing map[string]bool
	resets  map[types.UID]*deviceReset
	// lists contains the lists that pods have given the device.
	lists map[types.UID]*deviceLists
	// defect is a defect of the lab; empty for none.
	defect string
	// slowUntil is the time until which pods neither start nor end.
	slowUntil time.Time
	born      map[types.UID]time.Time
	ended     map[types.UID]time.Time
	entered   map[types.UID]time.Time
}

func newFakeLab(c client.Client, unit time.Duration, check *checker) *fakeLab {
	return &fakeLab{
		Client: c, unit: unit, check: check, runners: newFakeRunners(c, unit, check),
		sick: map[string]bool{}, failing: map[string]bool{}, resets: map[types.UID]*deviceReset{}, lists: map[types.UID]*deviceLists{}, born: map[types.UID]time.Time{}, ended: map[types.UID]time.Time{},
		entered: map[types.UID]time.Time{},
	}
}

// work plays the kubelet until the context ends.
func (l *fakeLab) work(ctx context.Context) {
	for ctx.Err() == nil {
		l.reconcile(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(l.unit / 2):
		}
	}
}

func (l *fakeLab) reconcile(ctx context.Context) {
	var pods corev1.PodList
	if err := l.List(ctx, &pods, client.InNamespace(labNamespace), client.HasLabels{labobjects.LabelUID}); err != nil {
		return
	}
	l.mu.Lock()
	slow := time.Now().Before(l.slowUntil)
	l.mu.Unlock()
	for i := range pods.Items {
		if !slow {
			l.play(ctx, &pods.Items[i])
		}
	}
}

// delay returns the time that a pod takes to start or to end: the same in every run of a
// history.
func (l *fakeLab) delay(pod *corev1.Pod, what string) time.Duration {
	h := fnv.New32()
	fmt.Fprint(h, pod.UID, what)
	return time.Duration(h.Sum32()%5) * l.unit
}

// since returns the time since a pod was first asked about.
func (l *fakeLab) since(of map[types.UID]time.Time, pod *corev1.Pod) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := of[pod.UID]; !known {
		of[pod.UID] = time.Now()
	}
	return time.Since(of[pod.UID])
}

func (l *fakeLab) play(ctx context.Context, pod *corev1.Pod) {
	role := roleOf(pod)
	if pod.Labels[labobjects.LabelRole] == labobjects.RoleTelemetry {
		if l.check.scales(pod.Labels[labobjects.LabelUID]) {
			l.scaleDevice(pod)
		} else {
			l.resetDevice(pod)
		}
	}
	if !pod.DeletionTimestamp.IsZero() {
		if l.since(l.ended, pod) >= l.delay(pod, "end") {
			l.runners.end(pod)
			l.deployLate(ctx, pod)
			l.finalize(ctx, pod)
		}
		return
	}
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || l.since(l.born, pod) < l.delay(pod, "start") {
		return
	}
	configures := pod.Labels[labobjects.LabelRole] == labobjects.RoleConfigure
	isHook := pod.Labels[labobjects.LabelRole] == labobjects.RoleHook
	deploys := l.nodeOf(ctx, pod)
	if pod.Status.Phase == corev1.PodRunning && !configures && !isHook && deploys == nil || !l.hasSecrets(ctx, pod) {
		return
	}
	l.mu.Lock()
	sick := l.sick[pod.Labels[labobjects.LabelUID]] && role == "device-down"
	l.mu.Unlock()
	switch {
	case sick && !configures:
		return
	case configures && !l.configure(ctx, pod, sick):
		return
	case isHook && !l.hook(pod):
		return
	case deploys != nil && !l.deploy(pod, deploys):
		return
	case configures, isHook, deploys != nil:
	case strings.HasPrefix(role, "device-"):
		pod.Status.Phase = corev1.PodSucceeded
	default:
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
		pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.2.3"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	_ = l.Status().Update(ctx, pod) // A conflict is tried again at the next reconcile.
}

// hasSecrets reports whether the secrets are there that a pod mounts or has in its environment: without them no container starts.
func (l *fakeLab) hasSecrets(ctx context.Context, pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if s := pod.Spec.Volumes[i].Secret; s != nil && l.Get(ctx, client.ObjectKey{Namespace: labNamespace, Name: s.SecretName}, &corev1.Secret{}) != nil {
			return false
		}
	}
	for i := range pod.Spec.Containers {
		for _, v := range pod.Spec.Containers[i].Env {
			if v.ValueFrom == nil || v.ValueFrom.SecretKeyRef == nil {
				continue
			}
			sec, ref := &corev1.Secret{}, v.ValueFrom.SecretKeyRef
			if l.Get(ctx, client.ObjectKey{Namespace: labNamespace, Name: ref.Name}, sec) != nil || sec.Data[ref.Key] == nil {
				return false
			}
		}
	}
	return true
}

// finalize removes the finalizer of a pod whose process has ended.
func (l *fakeLab) finalize(ctx context.Context, pod *corev1.Pod) {
	before := pod.DeepCopy()
	pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == finalizerKubelet })
	_ = l.Patch(ctx, pod, client.MergeFrom(before))
}

// roleOf returns the part of the name of a pod after the name of the run: runner, agent-0,
// device-up.
func roleOf(pod *corev1.Pod) string {
	_, role, _ := strings.Cut(strings.TrimPrefix(pod.Name, "nd-"), "-")
	return role
}

// podsOf returns the pods of a run whose role begins as given.
func (l *fakeLab) podsOf(ctx context.Context, uid types.UID, role string) []corev1.Pod {
	var pods corev1.PodList
	if err := l.List(ctx, &pods, client.InNamespace(labNamespace), client.MatchingLabels{labobjects.LabelUID: string(uid)}); err != nil {
		return nil
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !strings.HasPrefix(roleOf(&p), role) })
}

func (l *fakeLab) setSick(uid types.UID, sick bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sick[string(uid)] = sick
}

func (l *fakeLab) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sick, l.failing, l.slowUntil = map[string]bool{}, map[string]bool{}, time.Time{}
	l.runners.silence(0)
}

func (l *fakeLab) slow(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowUntil = time.Now().Add(d)
}

package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// trafficPods starts the agents and the runner of a run.
type trafficPods struct {
	client client.Client
	// live reads from the API server.
	live     client.Reader
	settings labobjects.Settings
	files    kit.LabFiles
	objects  kit.RunObjects
	devices  *devices
	runners  *runnerPods
	// expiry is the time at which the certificates of a run expire, which were read since the operator started.
	expiry remembered[time.Time]
	// deadline is the time within which all of them must be ready.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// start starts agents and runner: certificates, networks, one traffic pod
// per node, and when all of them are ready the runner, which needs their
// addresses.
func (t *trafficPods) start(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Status.Phase == v1alpha1.PhaseRunning {
		return kit.Proceed(), nil
	}
	why, err := t.ensure(ctx, s)
	if err != nil {
		var expired *expiredError
		if errors.As(err, &expired) {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionTrafficReady, v1alpha1.ReasonCertificatesExpired, expired.Error()), nil
		}
		var broken *kit.BrokenError
		if errors.As(err, &broken) {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, broken.Error()), nil
		}
		return kit.Step{}, err
	}
	if why == "" {
		s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
		s.Set(v1alpha1.ConditionMeasured, metav1.ConditionUnknown, v1alpha1.ReasonMeasuring, "trials run")
		s.Status.Phase = v1alpha1.PhaseRunning
		return kit.Again(kit.Soon), nil
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonTrafficStarting, "traffic pods are being started: "+why)
	if next, late := s.Late(v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, t.deadline, "the traffic pods were not ready ("+why+")"); late {
		return next, nil
	}
	return kit.Again(t.poll), nil
}

// ensure creates what is missing, and returns what the benchmark waits for; "" if all is
// ready.
func (t *trafficPods) ensure(ctx context.Context, s *kit.Scope) (waitsFor string, _ error) {
	objects := t.objects
	if kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) != v1alpha1.ReasonTrafficStarting {
		objects = objects.ForNew()
	} else if until := t.expiry.of(s.Benchmark); until.IsZero() || hasPassed(until, s.Now) {
		t.expiry.forget(keyOf(s.Benchmark)) // The certificates are read again.
	} else if waitsFor, err := t.waitsFor(ctx, s); err != nil || waitsFor != "" {
		return waitsFor, err
	}
	agents, hosts := labobjects.Agents(s.Bed), plan.NeedHosts(s.Spec.Tests)
	certificates, err := t.certificates(ctx, s, objects, labobjects.Certificates(s.Bed))
	if err != nil {
		return "", err
	}
	placement, err := t.devices.placement(ctx, s)
	if err != nil {
		return "", err
	}
	passwords, problem, err := t.files.Passwords(ctx, s.Bed)
	if err != nil {
		return "", err
	}
	if problem != "" {
		return "", kit.Permanent(fmt.Errorf("TestBed %s: %s", s.Bed.Name, problem))
	}
	var endpoints []runner.AgentEndpoint
	for _, a := range agents {
		if a.Node == s.Bed.Spec.Ports[0].Node { // where the device is
			a.Device = placement
		}
		a.Hosts = hosts
		pod, err := t.agent(ctx, s, objects, a.WithCertificate(s.Run, certificates), passwords)
		if err != nil {
			return "", err
		}
		if !kit.IsReady(pod) {
			if waitsFor == "" {
				waitsFor = t.whyNotReady(ctx, pod)
			}
			if err := t.discard(ctx, pod); err != nil {
				return "", err
			}
			continue
		}
		endpoints = append(endpoints, a.Endpoint(s.Run, pod.Status.PodIP))
	}
	telemetry, why, err := t.telemetry(ctx, s, objects, certificates)
	if err != nil {
		return "", err
	}
	if waitsFor = cmp.Or(waitsFor, why); waitsFor != "" {
		return waitsFor, nil
	}
	configuration, waitsFor, err := t.devices.configuration(ctx, s)
	if err != nil || waitsFor != "" {
		return waitsFor, err
	}
	pod, err := t.runners.ensure(ctx, s, objects, endpoints, telemetry, configuration)
	if err != nil {
		return "", err
	}
	if !kit.IsReady(pod) {
		return t.whyNotReady(ctx, pod), t.discard(ctx, pod)
	}
	return "", nil
}

// waitsFor returns what pods wait for that were made by an earlier check, by one list; "" if something is to be made or
// replaced, such as a runner that was made for other addresses.
func (t *trafficPods) waitsFor(ctx context.Context, s *kit.Scope) (string, error) {
	pods, err := t.objects.Pods(ctx, s.Run)
	if err != nil {
		return "", err
	}
	var made []*corev1.Pod // all but the runner's
	var endpoints []runner.AgentEndpoint
	for _, a := range labobjects.Agents(s.Bed) {
		pod := pods[a.PodName(s.Run)]
		if kit.IsLost(pod) {
			return "", nil
		}
		made, endpoints = append(made, pod), append(endpoints, a.Endpoint(s.Run, pod.Status.PodIP))
	}
	var telemetry *runner.TelemetryEndpoint
	if described := labobjects.TelemetryOf(s.Bed); described != nil {
		pod := pods[described.PodName(s.Run)]
		if kit.IsLost(pod) {
			return "", nil
		}
		made, telemetry = append(made, pod), described.Endpoint(s.Run, pod.Status.PodIP)
	}
	if i := slices.IndexFunc(made, func(pod *corev1.Pod) bool { return !kit.IsReady(pod) }); i >= 0 {
		return t.whyNotReady(ctx, made[i]), nil
	}
	pod := pods[s.Run.RunnerName()]
	if kit.IsLost(pod) || kit.IsReady(pod) || pod.Annotations[labobjects.AnnotationAgents] != labobjects.AgentAddresses(endpoints, telemetry) {
		return "", nil
	}
	return t.whyNotReady(ctx, pod), nil
}

// whyNotReady describes what a pod waits for.
func (t *trafficPods) whyNotReady(ctx context.Context, pod *corev1.Pod) string {
	return cmp.Or(kit.WaitsFor(ctx, t.live, pod), "pod "+pod.Name+" is not ready")
}

// telemetry makes the pod that reads the device, if it is read, and returns its address.
func (t *trafficPods) telemetry(ctx context.Context, s *kit.Scope, objects kit.RunObjects, certificates *corev1.Secret) (_ *runner.TelemetryEndpoint, waitsFor string, _ error) {
	described := labobjects.TelemetryOf(s.Bed)
	if described == nil {
		return nil, "", nil
	}
	pod, err := described.WithCertificate(s.Run, certificates).Pod(t.settings, s.Run)
	if err != nil {
		return nil, "", kit.Permanent(err)
	}
	if err := objects.Ensure(ctx, s.Run, pod); err != nil {
		return nil, "", kit.Refusal(err, t.settings.Namespace)
	}
	if !kit.IsReady(pod) {
		return nil, t.whyNotReady(ctx, pod), t.discard(ctx, pod)
	}
	return described.Endpoint(s.Run, pod.Status.PodIP), "", nil
}

// discard removes a pod that has ended before the measurement began, such as one that
// was evicted: the next reconcile makes another one, as long as there is time.
func (t *trafficPods) discard(ctx context.Context, pod *corev1.Pod) error {
	if !kit.IsLost(pod) || !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := t.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing pod %s, which has ended: %w", pod.Name, err)
	}
	return nil
}

// certificates issues the run's certificates, unless they are there, and returns the
// secret that is written last.
func (t *trafficPods) certificates(ctx context.Context, s *kit.Scope, objects kit.RunObjects, number int) (*corev1.Secret, error) {
	sec := &corev1.Secret{}
	if !objects.New {
		err := t.live.Get(ctx, client.ObjectKey{Namespace: t.settings.Namespace, Name: labobjects.CertificatesName(s.Run)}, sec)
		if err == nil {
			return t.unexpired(s, sec)
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading the certificates of the run: %w", err)
		}
	}
	left := kit.Seconds(s.Spec.ActiveDeadlineSeconds) - s.Timers.Active(s.Benchmark, s.Now)
	set, err := pki.Issue(s.Run.UID, number, s.Now, s.Now.Add(left))
	if err != nil {
		return nil, fmt.Errorf("issuing certificates for the run: %w", err)
	}
	for _, sec = range labobjects.CertificatesSecrets(t.settings, s.Run, set) {
		if err := t.objects.ForNew().Ensure(ctx, s.Run, sec); err != nil {
			return nil, err
		}
	}
	return t.unexpired(s, sec)
}

// unexpired returns the certificates of a run, or an expiredError.
func (t *trafficPods) unexpired(s *kit.Scope, sec *corev1.Secret) (*corev1.Secret, error) {
	own, err := labobjects.OperatorCertificate(sec)
	if err != nil {
		return sec, nil //nolint:nilerr // Who follows the runner needs it.
	}
	if hasPassed(own.ValidUntil(), s.Now) {
		return nil, &expiredError{own.ValidUntil()}
	}
	t.expiry.remember(s.Benchmark, own.ValidUntil())
	return sec, nil
}

// agent makes one traffic pod with what it needs.
func (t *trafficPods) agent(ctx context.Context, s *kit.Scope, of kit.RunObjects, a labobjects.Agent, passwords labobjects.Passwords) (*corev1.Pod, error) {
	sec, err := labobjects.AgentSecret(t.settings, s.Run, a, s.Bed, s.Profile, passwords)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	networks, err := labobjects.Networks(t.settings, s.Run, a)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	objects := []client.Object{sec}
	for _, n := range networks {
		objects = append(objects, n)
	}
	pod, err := labobjects.AgentPod(t.settings, s.Run, a, s.Bed)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	for _, obj := range append(objects, pod) {
		if err := of.Ensure(ctx, s.Run, obj); err != nil {
			return nil, kit.Refusal(err, t.settings.Namespace)
		}
	}
	return pod, nil
}

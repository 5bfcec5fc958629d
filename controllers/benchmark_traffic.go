package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/internal/pki"
	"nodrop.dev/nodrop/internal/runner"
	"nodrop.dev/nodrop/internal/stored"
)

// startTraffic starts agents and runner: certificates, networks, one traffic pod
// per node, and when all of them are ready the runner, which needs their
// addresses.
func (r *benchmarkReconciler) startTraffic(ctx context.Context, s *scope) (step, error) {
	if s.Status.Phase == v1alpha1.PhaseRunning {
		return proceed(), nil
	}
	why, err := r.traffic(ctx, s)
	if err != nil {
		var broken *brokenError
		if errors.As(err, &broken) {
			return s.end(v1alpha1.PhaseError, v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, broken.Error()), nil
		}
		return step{}, err
	}
	if why == "" {
		s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
		s.set(v1alpha1.ConditionMeasured, metav1.ConditionUnknown, v1alpha1.ReasonMeasuring, "trials run")
		s.Status.Phase = v1alpha1.PhaseRunning
		return again(soon), nil
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonTrafficStarting, "traffic pods are being started: "+why)
	if next, late := s.late(v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, r.Deadlines.Traffic, "the traffic pods were not ready ("+why+")"); late {
		return next, nil
	}
	return again(r.Poll), nil
}

// brokenError is a failure that a retry does not solve.
type brokenError struct{ error }

// traffic creates what is missing, and returns what the benchmark waits for; "" if all is
// ready.
func (r *benchmarkReconciler) traffic(ctx context.Context, s *scope) (waitsFor string, _ error) {
	agents := lab.Agents(s.bed)
	certificates, err := r.certificates(ctx, s, len(agents))
	if err != nil {
		return "", err
	}
	placement, err := r.placement(ctx, s)
	if err != nil {
		return "", err
	}
	passwords, problem, err := r.passwords(ctx, s.bed)
	if err != nil {
		return "", err
	}
	if problem != "" {
		return "", &brokenError{fmt.Errorf("TestBed %s: %s", s.bed.Name, problem)}
	}
	var endpoints []runner.AgentEndpoint
	for _, a := range agents {
		if a.Node == s.bed.Spec.Ports[0].Node { // where the device is
			a.Device = placement
		}
		pod, err := r.agent(ctx, s, a.WithCertificate(s.run, certificates), passwords)
		if err != nil {
			return "", err
		}
		if !isReady(pod) {
			waitsFor = firstOf(waitsFor, r.waitsFor(ctx, pod), "pod "+pod.Name+" is not ready")
			if err := r.discard(ctx, pod); err != nil {
				return "", err
			}
			continue
		}
		endpoints = append(endpoints, a.Endpoint(s.run, pod.Status.PodIP))
	}
	if waitsFor != "" {
		return waitsFor, nil
	}
	pod, err := r.runner(ctx, s, endpoints)
	if err != nil {
		return "", err
	}
	if !isReady(pod) {
		return firstOf(r.waitsFor(ctx, pod), "pod "+pod.Name+" is not ready"), r.discard(ctx, pod)
	}
	return "", nil
}

// discard removes a pod that has ended before the measurement began, such as one that
// was evicted: the next reconcile makes another one, as long as there is time.
func (r *benchmarkReconciler) discard(ctx context.Context, pod *corev1.Pod) error {
	if !isLost(pod) || !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing pod %s, which has ended: %w", pod.Name, err)
	}
	return nil
}

// certificates issues the run's certificates, unless they are there, and returns the
// secret that is written last.
func (r *benchmarkReconciler) certificates(ctx context.Context, s *scope, agents int) (*corev1.Secret, error) {
	sec := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.CertificatesName(s.run)}, sec)
	if err == nil {
		return sec, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading the certificates of the run: %w", err)
	}
	left := seconds(s.Spec.ActiveDeadlineSeconds) - s.timers.active(s.Benchmark, s.now)
	set, err := pki.Issue(s.run.UID, agents, s.now, s.now.Add(left))
	if err != nil {
		return nil, fmt.Errorf("issuing certificates for the run: %w", err)
	}
	for _, sec = range lab.CertificatesSecrets(r.Lab, s.run, set) {
		if err := r.ensure(ctx, s.run, sec); err != nil {
			return nil, err
		}
	}
	return sec, nil
}

// agent makes one traffic pod with what it needs.
func (r *benchmarkReconciler) agent(ctx context.Context, s *scope, a lab.Agent, passwords lab.Passwords) (*corev1.Pod, error) {
	sec, err := lab.AgentSecret(r.Lab, s.run, a, s.bed, s.profile, passwords)
	if err != nil {
		return nil, &brokenError{err}
	}
	networks, err := lab.Networks(r.Lab, s.run, a)
	if err != nil {
		return nil, &brokenError{err}
	}
	objects := []client.Object{sec}
	for _, n := range networks {
		objects = append(objects, n)
	}
	pod, err := lab.AgentPod(r.Lab, s.run, a, s.bed)
	if err != nil {
		return nil, &brokenError{err}
	}
	for _, obj := range append(objects, pod) {
		if err := r.ensure(ctx, s.run, obj); err != nil {
			return nil, r.refusal(err)
		}
	}
	return pod, nil
}

// runner makes the runner's pod. Its configuration is written once and describes the run
// from then on: benchmark, profile and bed as they were.
func (r *benchmarkReconciler) runner(ctx context.Context, s *scope, endpoints []runner.AgentEndpoint) (*corev1.Pod, error) {
	hints, err := r.earlier(ctx, s, s.profile)
	if err != nil {
		return nil, err
	}
	calibration, err := r.calibration(ctx, s.bed)
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{
		Benchmark: *s.DeepCopy(), Profile: *s.profile.DeepCopy(), Bed: *s.bed.DeepCopy(),
		Variant: s.Status.Variant, Agents: endpoints, Calibration: calibration, Hints: hints,
	}
	r.addRecorder(ctx, s, &cfg)
	cfg.Benchmark.Status, cfg.Bed.Status = v1alpha1.BenchmarkStatus{}, v1alpha1.TestBedStatus{}
	for _, m := range []*metav1.ObjectMeta{&cfg.Benchmark.ObjectMeta, &cfg.Profile.ObjectMeta, &cfg.Bed.ObjectMeta} {
		*m = stored.Kept(*m) // Annotations by users can be of any size.
	}
	problem, err := readTables(ctx, s.keptFile, &cfg)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, &brokenError{fmt.Errorf("TestBed %s: %s", s.bed.Name, problem)}
	}
	sec, err := lab.RunnerSecret(r.Lab, s.run, cfg, 1)
	if err != nil {
		return nil, &brokenError{err}
	}
	pod := lab.RunnerPod(r.Lab, s.run, 1)
	for _, obj := range []client.Object{sec, pod} {
		if err := r.ensure(ctx, s.run, obj); err != nil {
			return nil, r.refusal(err)
		}
	}
	return pod, r.sameAgents(ctx, sec, pod, endpoints)
}

// addRecorder gives the runner access to the recorder. A run does without one that cannot
// be reached.
func (r *benchmarkReconciler) addRecorder(ctx context.Context, s *scope, cfg *runner.Config) {
	if s.Status.StartTime != nil {
		cfg.Started = *s.Status.StartTime
	}
	if r.Metrics == nil {
		return
	}
	left := seconds(s.Spec.ActiveDeadlineSeconds) - s.timers.active(s.Benchmark, s.now)
	access, err := r.Metrics.Access(ctx, s.run.UID, s.now.Add(left))
	if err != nil {
		log.FromContext(ctx).Error(err, "The run begins without metrics")
		return
	}
	cfg.Recorder = access
}

// sameAgents removes secret and pod of a runner that was started with other agents: one of
// them was replaced since, and has another address.
func (r *benchmarkReconciler) sameAgents(ctx context.Context, sec *corev1.Secret, pod *corev1.Pod, endpoints []runner.AgentEndpoint) error {
	cfg, _, err := lab.RunnerConfig(sec)
	if err != nil || equality.Semantic.DeepEqual(cfg.Agents, endpoints) {
		return err
	}
	// The secret goes last: as long as it is there, the pod is known to be outdated.
	for _, obj := range []client.Object{pod, sec} {
		if err := r.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %s, which was made for other agents: %w", obj.GetName(), err)
		}
	}
	pod.Status = corev1.PodStatus{} // It is not ready any more.
	return nil
}

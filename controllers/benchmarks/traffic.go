package benchmarks

import (
	"cmp"
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
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/internal/pki"
	"nodrop.dev/nodrop/internal/runner"
	"nodrop.dev/nodrop/internal/stored"
)

// startTraffic starts agents and runner: certificates, networks, one traffic pod
// per node, and when all of them are ready the runner, which needs their
// addresses.
func (r *Reconciler) startTraffic(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.Status.Phase == v1alpha1.PhaseRunning {
		return kit.Proceed(), nil
	}
	why, err := r.traffic(ctx, s)
	if err != nil {
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
	if next, late := s.Late(v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, r.Deadlines.Traffic, "the traffic pods were not ready ("+why+")"); late {
		return next, nil
	}
	return kit.Again(r.Poll), nil
}

// traffic creates what is missing, and returns what the benchmark waits for; "" if all is
// ready.
func (r *Reconciler) traffic(ctx context.Context, s *kit.Scope) (waitsFor string, _ error) {
	agents := lab.Agents(s.Bed)
	certificates, err := r.certificates(ctx, s, len(agents))
	if err != nil {
		return "", err
	}
	placement, err := r.placement(ctx, s)
	if err != nil {
		return "", err
	}
	passwords, problem, err := r.LabFiles().Passwords(ctx, s.Bed)
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
		pod, err := r.agent(ctx, s, a.WithCertificate(s.Run, certificates), passwords)
		if err != nil {
			return "", err
		}
		if !kit.IsReady(pod) {
			waitsFor = cmp.Or(waitsFor, kit.WaitsFor(ctx, r.Live, pod), "pod "+pod.Name+" is not ready")
			if err := r.discard(ctx, pod); err != nil {
				return "", err
			}
			continue
		}
		endpoints = append(endpoints, a.Endpoint(s.Run, pod.Status.PodIP))
	}
	if waitsFor != "" {
		return waitsFor, nil
	}
	pod, err := r.runner(ctx, s, endpoints)
	if err != nil {
		return "", err
	}
	if !kit.IsReady(pod) {
		return cmp.Or(kit.WaitsFor(ctx, r.Live, pod), "pod "+pod.Name+" is not ready"), r.discard(ctx, pod)
	}
	return "", nil
}

// discard removes a pod that has ended before the measurement began, such as one that
// was evicted: the next reconcile makes another one, as long as there is time.
func (r *Reconciler) discard(ctx context.Context, pod *corev1.Pod) error {
	if !kit.IsLost(pod) || !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing pod %s, which has ended: %w", pod.Name, err)
	}
	return nil
}

// certificates issues the run's certificates, unless they are there, and returns the
// secret that is written last.
func (r *Reconciler) certificates(ctx context.Context, s *kit.Scope, agents int) (*corev1.Secret, error) {
	sec := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.CertificatesName(s.Run)}, sec)
	if err == nil {
		return sec, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading the certificates of the run: %w", err)
	}
	left := kit.Seconds(s.Spec.ActiveDeadlineSeconds) - s.Timers.Active(s.Benchmark, s.Now)
	set, err := pki.Issue(s.Run.UID, agents, s.Now, s.Now.Add(left))
	if err != nil {
		return nil, fmt.Errorf("issuing certificates for the run: %w", err)
	}
	for _, sec = range lab.CertificatesSecrets(r.Lab, s.Run, set) {
		if err := r.RunObjects().Ensure(ctx, s.Run, sec); err != nil {
			return nil, err
		}
	}
	return sec, nil
}

// agent makes one traffic pod with what it needs.
func (r *Reconciler) agent(ctx context.Context, s *kit.Scope, a lab.Agent, passwords lab.Passwords) (*corev1.Pod, error) {
	sec, err := lab.AgentSecret(r.Lab, s.Run, a, s.Bed, s.Profile, passwords)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	networks, err := lab.Networks(r.Lab, s.Run, a)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	objects := []client.Object{sec}
	for _, n := range networks {
		objects = append(objects, n)
	}
	pod, err := lab.AgentPod(r.Lab, s.Run, a, s.Bed)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	for _, obj := range append(objects, pod) {
		if err := r.RunObjects().Ensure(ctx, s.Run, obj); err != nil {
			return nil, kit.Refusal(err, r.Lab.Namespace)
		}
	}
	return pod, nil
}

// runner makes the runner's pod. Its configuration is written once and describes the run
// from then on: benchmark, profile and bed as they were.
func (r *Reconciler) runner(ctx context.Context, s *kit.Scope, endpoints []runner.AgentEndpoint) (*corev1.Pod, error) {
	hints, err := r.earlier(ctx, s, s.Profile)
	if err != nil {
		return nil, err
	}
	calibration, err := r.calibration(ctx, s.Bed)
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{
		Benchmark: *s.DeepCopy(), Profile: *s.Profile.DeepCopy(), Bed: *s.Bed.DeepCopy(),
		Variant: s.Status.Variant, Agents: endpoints, Calibration: calibration, Hints: hints,
	}
	r.addRecorder(ctx, s, &cfg)
	cfg.Benchmark.Status, cfg.Bed.Status = v1alpha1.BenchmarkStatus{}, v1alpha1.TestBedStatus{}
	for _, m := range []*metav1.ObjectMeta{&cfg.Benchmark.ObjectMeta, &cfg.Profile.ObjectMeta, &cfg.Bed.ObjectMeta} {
		*m = stored.Kept(*m) // Annotations by users can be of any size.
	}
	problem, err := kit.ReadTables(ctx, func(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (*corev1.ConfigMap, string, error) {
		return keptFile(ctx, s, ref)
	}, &cfg)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, kit.Permanent(fmt.Errorf("TestBed %s: %s", s.Bed.Name, problem))
	}
	sec, err := lab.RunnerSecret(r.Lab, s.Run, cfg, 1)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	pod := lab.RunnerPod(r.Lab, s.Run, 1)
	for _, obj := range []client.Object{sec, pod} {
		if err := r.RunObjects().Ensure(ctx, s.Run, obj); err != nil {
			return nil, kit.Refusal(err, r.Lab.Namespace)
		}
	}
	return pod, r.sameAgents(ctx, sec, pod, endpoints)
}

// addRecorder gives the runner access to the recorder. A run does without one that cannot
// be reached.
func (r *Reconciler) addRecorder(ctx context.Context, s *kit.Scope, cfg *runner.Config) {
	if s.Status.StartTime != nil {
		cfg.Started = *s.Status.StartTime
	}
	if r.Metrics == nil {
		return
	}
	left := kit.Seconds(s.Spec.ActiveDeadlineSeconds) - s.Timers.Active(s.Benchmark, s.Now)
	access, err := r.Metrics.Access(ctx, s.Run.UID, s.Now.Add(left))
	if err != nil {
		log.FromContext(ctx).Error(err, "The run begins without metrics")
		return
	}
	cfg.Recorder = access
}

// sameAgents removes secret and pod of a runner that was started with other agents: one of
// them was replaced since, and has another address.
func (r *Reconciler) sameAgents(ctx context.Context, sec *corev1.Secret, pod *corev1.Pod, endpoints []runner.AgentEndpoint) error {
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

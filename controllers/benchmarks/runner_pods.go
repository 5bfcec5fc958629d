package benchmarks

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// runnerPods makes the pods of runners, gives up those that do not answer, and replaces those
// that are lost.
type runnerPods struct {
	client client.Client
	// live reads from the API server.
	live     client.Reader
	settings labobjects.Settings
	objects  kit.RunObjects
	// metrics is the recorder of the lab; nil without one.
	metrics kit.Metrics
	// deadline is the time for which a runner may not answer, and its pod may take to end.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// ensure makes the runner's pod. Its configuration is written once and describes the run
// from then on: benchmark, profile and bed as they were.
func (p *runnerPods) ensure(ctx context.Context, s *kit.Scope, objects kit.RunObjects, endpoints []runner.AgentEndpoint, telemetry *runner.TelemetryEndpoint, configuration *v1alpha1.DeviceConfiguration) (*corev1.Pod, error) {
	hints, err := earlierHints(ctx, p.client, p.live, s, s.Profile)
	if err != nil {
		return nil, err
	}
	calibration, err := calibrationOf(ctx, p.live, s.Bed)
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{
		Benchmark: *s.DeepCopy(), Profile: *s.Profile.DeepCopy(), Bed: *s.Bed.DeepCopy(),
		Variant: s.Status.Variant, Configuration: configuration, Agents: endpoints, Telemetry: telemetry, Calibration: calibration, Hints: hints,
	}
	p.addRecorder(ctx, s, &cfg)
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
	sec, err := labobjects.RunnerSecret(p.settings, s.Run, cfg, 1)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	pod := labobjects.RunnerPod(p.settings, s.Run, 1)
	pod.Annotations[labobjects.AnnotationAgents] = labobjects.AgentAddresses(endpoints, telemetry)
	for _, obj := range []client.Object{sec, pod} {
		if err := objects.Ensure(ctx, s.Run, obj); err != nil {
			return nil, kit.Refusal(err, p.settings.Namespace)
		}
	}
	return pod, p.sameAgents(ctx, sec, pod, endpoints, telemetry)
}

// addRecorder gives the runner access to the recorder. A run does without one that cannot
// be reached.
func (p *runnerPods) addRecorder(ctx context.Context, s *kit.Scope, cfg *runner.Config) {
	if s.Status.StartTime != nil {
		cfg.Started = *s.Status.StartTime
	}
	if p.metrics == nil {
		return
	}
	left := kit.Seconds(s.Spec.ActiveDeadlineSeconds) - s.Timers.Active(s.Benchmark, s.Now)
	access, err := p.metrics.Access(ctx, s.Run.UID, s.Now.Add(left))
	if err != nil {
		log.FromContext(ctx).Error(err, "The run begins without metrics")
		return
	}
	cfg.Recorder = access
}

// sameAgents removes secret and pod of a runner that was started with other agents: one of
// them was replaced since, and has another address.
func (p *runnerPods) sameAgents(ctx context.Context, sec *corev1.Secret, pod *corev1.Pod, endpoints []runner.AgentEndpoint, telemetry *runner.TelemetryEndpoint) error {
	cfg, _, err := labobjects.RunnerConfig(sec)
	if err != nil || equality.Semantic.DeepEqual(cfg.Agents, endpoints) && equality.Semantic.DeepEqual(cfg.Telemetry, telemetry) {
		return err
	}
	// The secret goes last: as long as it is there, the pod is known to be outdated.
	for _, obj := range []client.Object{pod, sec} {
		if err := p.client.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %s, which was made for other agents: %w", obj.GetName(), err)
		}
	}
	pod.Status = corev1.PodStatus{} // It is not ready any more.
	return nil
}

// config reads the configuration of the runner; nil when it is gone.
func (p *runnerPods) config(ctx context.Context, s *kit.Scope) (*runner.Config, int, error) {
	sec := &corev1.Secret{}
	err := p.live.Get(ctx, client.ObjectKey{Namespace: p.settings.Namespace, Name: s.Run.RunnerName()}, sec)
	if apierrors.IsNotFound(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the runner's secret: %w", err)
	}
	cfg, attempt, err := labobjects.RunnerConfig(sec)
	if err != nil {
		return nil, 0, err
	}
	return &cfg, attempt, nil
}

// unreachable waits for a runner that does not answer: its container may be
// restarting. After a while the pod is given up.
func (p *runnerPods) unreachable(ctx context.Context, s *kit.Scope, pod *corev1.Pod, failure error) (kit.Step, error) {
	message := "the runner does not answer" + kit.Colon(cmp.Or(kit.WaitsFor(ctx, p.live, pod), failure.Error()))
	reason := v1alpha1.ReasonRunnerUnreachable
	if kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting {
		reason = v1alpha1.ReasonRunnerRestarting
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, reason, message)
	if !s.Overdue(v1alpha1.ReasonRunnerUnreachable, p.deadline) {
		return kit.Again(p.poll), nil
	}
	if err := p.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return kit.Step{}, fmt.Errorf("giving up the runner's pod: %w", err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerUnreachable, message)
	return kit.Again(p.poll), nil
}

// maxRunners is the maximum number of runner pods for one benchmark.
const maxRunners = 4

// replace starts another runner. The attempt is counted before the new pod can
// exist. A pod names its attempt; one that vanished unseen was counted when the condition says so.
func (p *runnerPods) replace(ctx context.Context, s *kit.Scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (kit.Step, error) {
	counted := kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting
	if pod != nil {
		counted = labobjects.RunnerAttempt(pod) < attempt
	}
	if !counted {
		return p.countNext(ctx, s, cfg, attempt, pod)
	}
	switch {
	case pod == nil:
		if err := p.objects.Ensure(ctx, s.Run, labobjects.RunnerPod(p.settings, s.Run, attempt)); err != nil {
			return kit.Step{}, err
		}
	case pod.DeletionTimestamp.IsZero():
		if err := p.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return kit.Step{}, fmt.Errorf("removing the runner's pod: %w", err)
		}
	case s.Overdue(v1alpha1.ReasonRunnerFailed, p.deadline):
		// It may still drive the agents, so no other one may begin.
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost, and its pod %s does not end on node %q: see kubectl get nodes; %s", pod.Name, pod.Spec.NodeName, rowsKept(s))), nil
	}
	return kit.Again(p.poll), nil
}

// countNext counts the next runner, unless there were too many.
func (p *runnerPods) countNext(ctx context.Context, s *kit.Scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (kit.Step, error) {
	why := "its pod was deleted"
	if pod != nil && pod.DeletionTimestamp.IsZero() {
		why = kit.EndOf(pod)
	}
	if attempt >= maxRunners {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost %d times, the last time because %s; %s", attempt, why, rowsKept(s))), nil
	}
	sec, err := labobjects.RunnerSecret(p.settings, s.Run, *cfg, attempt+1)
	if err != nil {
		return kit.Step{}, err
	}
	if err := p.client.Update(ctx, sec); err != nil {
		return kit.Step{}, fmt.Errorf("counting the runners: %w", err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerRestarting, fmt.Sprintf(
		"the runner was lost (%s); runner %d of %d continues after %d rows", why, attempt+1, maxRunners, rowsStored(s)))
	return kit.Again(kit.Soon), nil
}

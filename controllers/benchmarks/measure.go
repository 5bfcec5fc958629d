package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/runner"
)

// measure follows the measurement: it stores the rows that the runner finishes, and
// ends the benchmark when the runner is done or an agent is lost. A lost runner is
// replaced; the next one gets the stored rows.
func (r *Reconciler) measure(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	cfg, attempt, err := r.runnerConfig(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	if cfg == nil {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed,
			"the runner's secret was deleted during the measurement; "+rowsKept(s)), nil
	}
	if err := r.noteSharing(ctx, s); err != nil {
		return kit.Step{}, err
	}
	heard, err := r.takeIn(ctx, s)
	var other *notResumableError
	if errors.As(err, &other) {
		return r.refuseResumption(s, other.changed), nil
	}
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return r.refuse(s, err), nil
	}
	if err != nil {
		return kit.Step{}, err
	}
	pods, err := r.RunObjects().Pods(ctx, s.Run)
	if err != nil {
		return kit.Step{}, err
	}
	for _, a := range lab.Agents(&cfg.Bed) {
		if kit.IsLost(pods[a.PodName(s.Run)]) {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAgentLost, fmt.Sprintf(
				"traffic pod %s on node %s disappeared during the measurement, and with it counters of the current trial; %s",
				a.PodName(s.Run), a.Node, rowsKept(s))), nil
		}
	}
	pod := pods[s.Run.RunnerName()]
	if kit.IsLost(pod) {
		return r.replaceRunner(ctx, s, cfg, attempt, pod)
	}
	if !r.Poller.following(keyOf(s.Benchmark), pod.UID) {
		if err := r.followRunner(ctx, s, cfg, pod); err != nil {
			return r.unreachable(ctx, s, pod, err)
		}
		return kit.Again(r.ProgressEvery), nil
	}
	return r.react(ctx, s, pod, heard)
}

// react handles the answer of the runner.
func (r *Reconciler) react(ctx context.Context, s *kit.Scope, pod *corev1.Pod, heard heard) (kit.Step, error) {
	switch {
	case !heard.answered:
		return kit.Again(r.ProgressEvery), nil
	case heard.refused != nil:
		return r.refuse(s, heard.refused), nil
	case heard.err != nil:
		return r.unreachable(ctx, s, pod, heard.err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
	s.Status.Message = cmp.Or(heard.state.Progress.Trial, "trials run")
	if !heard.begun {
		l, err := r.ledger(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		r.Poller.letBegin(keyOf(s.Benchmark), l.Rows())
		return kit.Again(r.ProgressEvery), nil
	}
	if !heard.state.Done || heard.more {
		return kit.Again(r.ProgressEvery), nil
	}
	if next, more := s.Spec.VariantAfter(s.Status.Variant); more && heard.state.Finished() {
		return leaveVariant(s, next), nil
	}
	return s.End(heard.state.Outcome, v1alpha1.ConditionMeasured, heard.state.Reason, heard.state.Message), nil
}

// refuse ends a benchmark whose runner's answer is invalid or cannot be stored. It
// would answer the same again.
func (r *Reconciler) refuse(s *kit.Scope, why error) kit.Step {
	return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAnswerRefused, fmt.Sprintf(
		"the answer of the runner was refused: %v; %s", why, rowsKept(s)))
}

// followRunner begins to poll the runner in a pod.
func (r *Reconciler) followRunner(ctx context.Context, s *kit.Scope, cfg *runner.Config, pod *corev1.Pod) error {
	if pod.Status.PodIP == "" {
		return errors.New("the runner's pod has no address yet")
	}
	sec := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.CertificatesName(s.Run)}, sec); err != nil {
		return fmt.Errorf("reading the certificates of the run: %w", err)
	}
	certificate, err := lab.OperatorCertificate(sec)
	if err != nil {
		return err
	}
	r.Poller.follow(keyOf(s.Benchmark), pod.UID, kit.RunnerTarget{
		Address: lab.RunnerAddress(pod.Status.PodIP), ServerName: s.Run.RunnerHost(), Pod: pod.UID, Certificate: certificate,
	}, results.NewChecker(cfg))
	return nil
}

// lastPoll stores what the runner has before it is stopped. It reports whether an answer is
// still to come, which wakes the benchmark.
func (r *Reconciler) lastPoll(ctx context.Context, s *kit.Scope) (waits bool, _ error) {
	pods, err := r.RunObjects().Pods(ctx, s.Run)
	if err != nil {
		return false, err
	}
	pod := pods[s.Run.RunnerName()]
	if kit.IsLost(pod) {
		_, err := r.takeIn(ctx, s)
		return false, errors.Join(errors.New("the runner is gone"), err)
	}
	if !r.Poller.following(keyOf(s.Benchmark), pod.UID) {
		cfg, _, err := r.runnerConfig(ctx, s)
		if err != nil || cfg == nil {
			return false, errors.Join(errors.New("the runner's secret is gone"), err)
		}
		if err := r.followRunner(ctx, s, cfg, pod); err != nil {
			return false, err
		}
	}
	heard, err := r.takeIn(ctx, s)
	if err != nil {
		return false, err
	}
	if !heard.polled {
		r.Poller.pollNow(keyOf(s.Benchmark))
		return true, nil
	}
	return false, errors.Join(heard.err, heard.refused)
}

// runnerConfig reads the configuration of the runner; nil when it is gone.
func (r *Reconciler) runnerConfig(ctx context.Context, s *kit.Scope) (*runner.Config, int, error) {
	sec := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: s.Run.RunnerName()}, sec)
	if apierrors.IsNotFound(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the runner's secret: %w", err)
	}
	cfg, attempt, err := lab.RunnerConfig(sec)
	if err != nil {
		return nil, 0, err
	}
	return &cfg, attempt, nil
}

// unreachable waits for a runner that does not answer: its container may be
// restarting. After a while the pod is given up.
func (r *Reconciler) unreachable(ctx context.Context, s *kit.Scope, pod *corev1.Pod, failure error) (kit.Step, error) {
	message := "the runner does not answer" + kit.Colon(cmp.Or(kit.WaitsFor(ctx, r.Live, pod), failure.Error()))
	reason := v1alpha1.ReasonRunnerUnreachable
	if kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting {
		reason = v1alpha1.ReasonRunnerRestarting
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, reason, message)
	if !s.Overdue(v1alpha1.ReasonRunnerUnreachable, r.Deadlines.Runner) {
		return kit.Again(r.Poll), nil
	}
	if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return kit.Step{}, fmt.Errorf("giving up the runner's pod: %w", err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerUnreachable, message)
	return kit.Again(r.Poll), nil
}

// maxRunners is the maximum number of runner pods for one benchmark.
const maxRunners = 4

// replaceRunner starts another runner. The attempt is counted before the new pod can
// exist. A pod
// names its attempt; one that vanished unseen was counted when the condition says so.
func (r *Reconciler) replaceRunner(ctx context.Context, s *kit.Scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (kit.Step, error) {
	counted := kit.ReasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting
	if pod != nil {
		counted = lab.RunnerAttempt(pod) < attempt
	}
	if !counted {
		return r.countRunner(ctx, s, cfg, attempt, pod)
	}
	switch {
	case pod == nil:
		if err := r.RunObjects().Ensure(ctx, s.Run, lab.RunnerPod(r.Lab, s.Run, attempt)); err != nil {
			return kit.Step{}, err
		}
	case pod.DeletionTimestamp.IsZero():
		if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return kit.Step{}, fmt.Errorf("removing the runner's pod: %w", err)
		}
	case s.Overdue(v1alpha1.ReasonRunnerFailed, r.Deadlines.Runner):
		// It may still drive the agents, so no other one may begin.
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost, and its pod %s does not end on node %q: see kubectl get nodes; %s", pod.Name, pod.Spec.NodeName, rowsKept(s))), nil
	}
	return kit.Again(r.Poll), nil
}

// countRunner counts the next runner, unless there were too many.
func (r *Reconciler) countRunner(ctx context.Context, s *kit.Scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (kit.Step, error) {
	why := "its pod was deleted"
	if pod != nil && pod.DeletionTimestamp.IsZero() {
		why = kit.EndOf(pod)
	}
	if attempt >= maxRunners {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost %d times, the last time because %s; %s", attempt, why, rowsKept(s))), nil
	}
	sec, err := lab.RunnerSecret(r.Lab, s.Run, *cfg, attempt+1)
	if err != nil {
		return kit.Step{}, err
	}
	if err := r.Update(ctx, sec); err != nil {
		return kit.Step{}, fmt.Errorf("counting the runners: %w", err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerRestarting, fmt.Sprintf(
		"the runner was lost (%s); runner %d of %d continues after %d rows", why, attempt+1, maxRunners, rowsStored(s)))
	return kit.Again(kit.Soon), nil
}

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/runner"
)

// measure follows the measurement: it stores the rows that the runner finishes, and
// ends the benchmark when the runner is done or an agent is lost. A lost runner is
// replaced; the next one gets the stored rows.
func (r *benchmarkReconciler) measure(ctx context.Context, s *scope) (step, error) {
	cfg, attempt, err := r.runnerConfig(ctx, s)
	if err != nil {
		return step{}, err
	}
	if cfg == nil {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed,
			"the runner's secret was deleted during the measurement; "+rowsKept(s)), nil
	}
	if err := r.noteSharing(ctx, s); err != nil {
		return step{}, err
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
		return step{}, err
	}
	pods, err := r.pods(ctx, s.run)
	if err != nil {
		return step{}, err
	}
	for _, a := range lab.Agents(&cfg.Bed) {
		if isLost(pods[a.PodName(s.run)]) {
			return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAgentLost, fmt.Sprintf(
				"traffic pod %s on node %s disappeared during the measurement, and with it counters of the current trial; %s",
				a.PodName(s.run), a.Node, rowsKept(s))), nil
		}
	}
	pod := pods[s.run.RunnerName()]
	if isLost(pod) {
		return r.replaceRunner(ctx, s, cfg, attempt, pod)
	}
	if !r.poller.following(keyOf(s.Benchmark), pod.UID) {
		if err := r.followRunner(ctx, s, cfg, pod); err != nil {
			return r.unreachable(ctx, s, pod, err)
		}
		return again(r.ProgressEvery), nil
	}
	return r.react(ctx, s, pod, heard)
}

// react handles the answer of the runner.
func (r *benchmarkReconciler) react(ctx context.Context, s *scope, pod *corev1.Pod, heard heard) (step, error) {
	switch {
	case !heard.answered:
		return again(r.ProgressEvery), nil
	case heard.refused != nil:
		return r.refuse(s, heard.refused), nil
	case heard.err != nil:
		return r.unreachable(ctx, s, pod, heard.err)
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
	s.Status.Message = firstOf(heard.state.Progress.Trial, "trials run")
	if !heard.begun {
		l, err := r.ledger(ctx, s)
		if err != nil {
			return step{}, err
		}
		r.poller.letBegin(keyOf(s.Benchmark), l.Rows())
		return again(r.ProgressEvery), nil
	}
	if !heard.state.Done || heard.more {
		return again(r.ProgressEvery), nil
	}
	if next, more := s.Spec.VariantAfter(s.Status.Variant); more && heard.state.Finished() {
		return s.leaveVariant(next), nil
	}
	return s.end(heard.state.Outcome, v1alpha1.ConditionMeasured, heard.state.Reason, heard.state.Message), nil
}

// refuse ends a benchmark whose runner's answer is invalid or cannot be stored. It
// would answer the same again.
func (r *benchmarkReconciler) refuse(s *scope, why error) step {
	return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAnswerRefused, fmt.Sprintf(
		"the answer of the runner was refused: %v; %s", why, rowsKept(s)))
}

// followRunner begins to poll the runner in a pod.
func (r *benchmarkReconciler) followRunner(ctx context.Context, s *scope, cfg *runner.Config, pod *corev1.Pod) error {
	if pod.Status.PodIP == "" {
		return errors.New("the runner's pod has no address yet")
	}
	sec := &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.CertificatesName(s.run)}, sec); err != nil {
		return fmt.Errorf("reading the certificates of the run: %w", err)
	}
	certificate, err := lab.OperatorCertificate(sec)
	if err != nil {
		return err
	}
	r.poller.follow(keyOf(s.Benchmark), pod.UID, RunnerTarget{
		Address: lab.RunnerAddress(pod.Status.PodIP), ServerName: s.run.RunnerHost(), Pod: pod.UID, Certificate: certificate,
	}, results.NewChecker(cfg))
	return nil
}

// lastPoll stores what the runner has before it is stopped. It reports whether an answer is
// still to come, which wakes the benchmark.
func (r *benchmarkReconciler) lastPoll(ctx context.Context, s *scope) (waits bool, _ error) {
	pods, err := r.pods(ctx, s.run)
	if err != nil {
		return false, err
	}
	pod := pods[s.run.RunnerName()]
	if isLost(pod) {
		_, err := r.takeIn(ctx, s)
		return false, errors.Join(errors.New("the runner is gone"), err)
	}
	if !r.poller.following(keyOf(s.Benchmark), pod.UID) {
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
		r.poller.pollNow(keyOf(s.Benchmark))
		return true, nil
	}
	return false, errors.Join(heard.err, heard.refused)
}

// runnerConfig reads the configuration of the runner; nil when it is gone.
func (r *benchmarkReconciler) runnerConfig(ctx context.Context, s *scope) (*runner.Config, int, error) {
	sec := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: s.run.RunnerName()}, sec)
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
func (r *benchmarkReconciler) unreachable(ctx context.Context, s *scope, pod *corev1.Pod, failure error) (step, error) {
	message := "the runner does not answer" + colon(firstOf(r.waitsFor(ctx, pod), failure.Error()))
	reason := v1alpha1.ReasonRunnerUnreachable
	if reasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting {
		reason = v1alpha1.ReasonRunnerRestarting
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, reason, message)
	if !s.overdue(v1alpha1.ReasonRunnerUnreachable, r.Deadlines.Runner) {
		return again(r.Poll), nil
	}
	if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		return step{}, fmt.Errorf("giving up the runner's pod: %w", err)
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerUnreachable, message)
	return again(r.Poll), nil
}

// maxRunners is the maximum number of runner pods for one benchmark.
const maxRunners = 4

// replaceRunner starts another runner. The attempt is counted before the new pod can
// exist. A pod
// names its attempt; one that vanished unseen was counted when the condition says so.
func (r *benchmarkReconciler) replaceRunner(ctx context.Context, s *scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (step, error) {
	counted := reasonOf(s.Status.Conditions, v1alpha1.ConditionTrafficReady) == v1alpha1.ReasonRunnerRestarting
	if pod != nil {
		counted = lab.RunnerAttempt(pod) < attempt
	}
	if !counted {
		return r.countRunner(ctx, s, cfg, attempt, pod)
	}
	switch {
	case pod == nil:
		if err := r.ensure(ctx, s.run, lab.RunnerPod(r.Lab, s.run, attempt)); err != nil {
			return step{}, err
		}
	case pod.DeletionTimestamp.IsZero():
		if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return step{}, fmt.Errorf("removing the runner's pod: %w", err)
		}
	case s.overdue(v1alpha1.ReasonRunnerFailed, r.Deadlines.Runner):
		// It may still drive the agents, so no other one may begin.
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost, and its pod %s does not end on node %q: see kubectl get nodes; %s", pod.Name, pod.Spec.NodeName, rowsKept(s))), nil
	}
	return again(r.Poll), nil
}

// countRunner counts the next runner, unless there were too many.
func (r *benchmarkReconciler) countRunner(ctx context.Context, s *scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (step, error) {
	why := "its pod was deleted"
	if pod != nil && pod.DeletionTimestamp.IsZero() {
		why = endOf(pod)
	}
	if attempt >= maxRunners {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost %d times, the last time because %s; %s", attempt, why, rowsKept(s))), nil
	}
	sec, err := lab.RunnerSecret(r.Lab, s.run, *cfg, attempt+1)
	if err != nil {
		return step{}, err
	}
	if err := r.Update(ctx, sec); err != nil {
		return step{}, fmt.Errorf("counting the runners: %w", err)
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerRestarting, fmt.Sprintf(
		"the runner was lost (%s); runner %d of %d continues after %d rows", why, attempt+1, maxRunners, rowsStored(s)))
	return again(soon), nil
}

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/internal/runner"
)

// askTimeout bounds one question to a runner.
const askTimeout = 5 * time.Second

// measure follows the measurement: it takes over what the runner has, and ends
// the benchmark when the runner is done or an agent is lost. A runner may be
// lost and replaced; its rows are in the status by then.
func (r *benchmarkReconciler) measure(ctx context.Context, s *scope) (step, error) {
	cfg, attempt, err := r.runnerConfig(ctx, s)
	if err != nil {
		return step{}, err
	}
	if cfg == nil {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed,
			"the runner's secret was deleted during the measurement; "+rowsKept(s)), nil
	}
	pods, err := r.pods(ctx, s.run)
	if err != nil {
		return step{}, err
	}
	for _, a := range lab.Agents(&cfg.Bed) {
		if isLost(pods[a.PodName(s.run)]) {
			return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAgentLost, fmt.Sprintf(
				"traffic pod %s on node %s disappeared during the measurement, and with it counters of the trial in hand; %s",
				a.PodName(s.run), a.Node, rowsKept(s))), nil
		}
	}
	pod := pods[s.run.RunnerName()]
	if isLost(pod) {
		return r.replaceRunner(ctx, s, cfg, attempt, pod)
	}
	state, err := r.ask(ctx, s, pod)
	if err != nil {
		return r.unreachable(ctx, s, pod, err)
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
	takeOver(s, state)
	if next, more := s.Spec.VariantAfter(s.Status.Variant); more && state.Finished() {
		return s.leaveVariant(next), nil
	}
	if state.Done {
		return s.end(state.Outcome, v1alpha1.ConditionMeasured, state.Reason, state.Message), nil
	}
	s.Status.Message = firstOf(state.Progress.Trial, "trials run")
	return again(r.Poll), nil
}

// takeOver copies what the runner has. Rows never shrink: a runner that started
// anew knows at least those it was given.
func takeOver(s *scope, state runner.State) {
	progress := state.Progress
	s.Status.Progress = &progress
	if len(state.Rows) >= len(s.Status.Rows) {
		s.Status.Rows = state.Rows
	}
	if state.Environment != nil {
		s.Status.Environment = state.Environment
	}
}

// lastLook takes over what the runner has before it is stopped.
func (r *benchmarkReconciler) lastLook(ctx context.Context, s *scope) error {
	pods, err := r.pods(ctx, s.run)
	if err != nil {
		return err
	}
	pod := pods[s.run.RunnerName()]
	if isLost(pod) {
		return errors.New("the runner is gone")
	}
	state, err := r.ask(ctx, s, pod)
	if err != nil {
		return err
	}
	takeOver(s, state)
	return nil
}

// ask asks the runner in a pod for its state.
func (r *benchmarkReconciler) ask(ctx context.Context, s *scope, pod *corev1.Pod) (runner.State, error) {
	if pod.Status.PodIP == "" {
		return runner.State{}, errors.New("the runner's pod has no address yet")
	}
	sec := &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.CertificatesName(s.run)}, sec); err != nil {
		return runner.State{}, fmt.Errorf("reading the certificates of the run: %w", err)
	}
	certificate, err := lab.OperatorCertificate(sec)
	if err != nil {
		return runner.State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.Runner.State(ctx, RunnerTarget{
		Address: lab.RunnerAddress(pod.Status.PodIP), ServerName: s.run.RunnerHost(), Certificate: certificate,
	})
}

// runnerConfig reads what the runner was given; nil when it is gone.
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
// starting again. After a while the pod is given up.
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

// maxRunners is how many runner pods one benchmark may use up.
const maxRunners = 4

// replaceRunner starts another runner with the rows known so far. The attempt is
// counted, and the rows are written, before the new pod can exist. A pod says
// for which attempt it was made; one that vanished unseen was counted when the
// condition says so.
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
		// It may still drive the agents, so that no other one may begin.
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost, and its pod %s does not end on node %q: see kubectl get nodes; %s", pod.Name, pod.Spec.NodeName, rowsKept(s))), nil
	}
	return again(r.Poll), nil
}

// countRunner hands the rows to the next runner, unless there were too many.
func (r *benchmarkReconciler) countRunner(ctx context.Context, s *scope, cfg *runner.Config, attempt int, pod *corev1.Pod) (step, error) {
	why := "its pod was deleted"
	if pod != nil && pod.DeletionTimestamp.IsZero() {
		why = endOf(pod)
	}
	if attempt >= maxRunners {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed, fmt.Sprintf(
			"the runner was lost %d times, the last time because %s; %s", attempt, why, rowsKept(s))), nil
	}
	cfg.Rows = s.Status.Rows
	sec, err := lab.RunnerSecret(r.Lab, s.run, *cfg, attempt+1)
	if err != nil {
		return step{}, err
	}
	if err := r.Update(ctx, sec); err != nil {
		return step{}, fmt.Errorf("handing the rows to the next runner: %w", err)
	}
	s.set(v1alpha1.ConditionTrafficReady, metav1.ConditionFalse, v1alpha1.ReasonRunnerRestarting, fmt.Sprintf(
		"the runner was lost (%s); runner %d of %d goes on after %d rows", why, attempt+1, maxRunners, len(s.Status.Rows)))
	return again(soon), nil
}

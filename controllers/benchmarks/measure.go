package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// measurement follows a benchmark while its trials run.
type measurement struct {
	// cache contains the objects that the operator watches.
	cache      client.Reader
	objects    kit.RunObjects
	poller     *Poller
	intake     *intake
	runners    *runnerPods
	ledgers    *ledgers
	resumption *resumption
	refusals   refusals
	// progressEvery is the interval at which progress is stored.
	progressEvery time.Duration
}

// follow follows the measurement: it stores the rows that the runner finishes, and
// ends the benchmark when the runner is done or an agent is lost. A lost runner is
// replaced; the next one gets the stored rows.
func (m *measurement) follow(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if err := noteSharing(ctx, m.cache, s); err != nil {
		return kit.Step{}, err
	}
	heard, err := m.intake.takeIn(ctx, s)
	var other *notResumableError
	if errors.As(err, &other) {
		return m.refuseResumption(s, other.changed), nil
	}
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return refuse(s, err), nil
	}
	if err != nil {
		return kit.Step{}, err // What cannot be stored stays in the runner, until it can be or the benchmark's deadline.
	}
	next, err := m.attend(ctx, s, heard)
	if kit.IsRefused(err) && heard.answered && heard.err == nil {
		return m.react(ctx, s, nil, heard) // The runner measures without the API server.
	}
	return m.refusals.await(ctx, s, next, err)
}

// attend handles what was heard from the runner, and the loss of pods.
func (m *measurement) attend(ctx context.Context, s *kit.Scope, heard heard) (kit.Step, error) {
	pods, err := m.pods(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	for _, a := range labobjects.Agents(s.Bed) {
		if kit.IsLost(pods[a.PodName(s.Run)]) {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAgentLost, fmt.Sprintf(
				"traffic pod %s on node %s disappeared during the measurement, and with it counters of the current trial; %s",
				a.PodName(s.Run), a.Node, rowsKept(s))), nil
		}
	}
	pod := pods[s.Run.RunnerName()]
	if !kit.IsLost(pod) && m.poller.following(keyOf(s.Benchmark), pod.UID) && hasMovedOn(heard) {
		return m.react(ctx, s, pod, heard)
	}
	cfg, attempt, err := m.runners.config(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	if cfg == nil {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonRunnerFailed,
			"the runner's secret was deleted during the measurement; "+rowsKept(s)), nil
	}
	if kit.IsLost(pod) {
		return m.runners.replace(ctx, s, cfg, attempt, pod)
	}
	if !m.poller.following(keyOf(s.Benchmark), pod.UID) {
		if err := m.intake.follow(ctx, s, cfg, pod); err != nil {
			return m.runners.unreachable(ctx, s, pod, err)
		}
		return kit.Again(m.progressEvery), nil
	}
	return m.react(ctx, s, pod, heard)
}

// pods returns the pods of the run. The cache is enough while it has all that are needed, and the runner that is
// followed. That one of them is lost is read from the API server.
func (m *measurement) pods(ctx context.Context, s *kit.Scope) (map[string]*corev1.Pod, error) {
	known, err := m.objects.CachedPods(ctx, s.Run)
	if err != nil {
		return nil, err
	}
	runner := known[s.Run.RunnerName()]
	there := !kit.IsLost(runner) && m.poller.following(keyOf(s.Benchmark), runner.UID)
	for _, a := range labobjects.Agents(s.Bed) {
		there = there && !kit.IsLost(known[a.PodName(s.Run)])
	}
	if there {
		return known, nil
	}
	return m.objects.Pods(ctx, s.Run)
}

// hasMovedOn reports whether a runner that answers waits to begin, or is done. What then follows does not depend on the runner's secret,
// which is checked while trials run.
func hasMovedOn(h heard) bool {
	return h.answered && h.err == nil && h.refused == nil && (!h.begun || h.state.Done && !h.more)
}

// react handles the answer of the runner.
func (m *measurement) react(ctx context.Context, s *kit.Scope, pod *corev1.Pod, heard heard) (kit.Step, error) {
	if until := m.poller.validUntil(keyOf(s.Benchmark)); hasPassed(until, s.Now) {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonCertificatesExpired,
			expiredText(until)+"; "+rowsKept(s)), nil
	}
	switch {
	case !heard.answered:
		return kit.Again(m.progressEvery), nil
	case heard.refused != nil:
		return refuse(s, heard.refused), nil
	case heard.err != nil:
		return m.runners.unreachable(ctx, s, pod, heard.err)
	}
	s.Set(v1alpha1.ConditionTrafficReady, metav1.ConditionTrue, v1alpha1.ReasonTrafficReady, "agents and runner are ready")
	s.Status.Message = cmp.Or(heard.state.Progress.Trial, "trials run")
	if !heard.begun {
		l, err := m.ledgers.open(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		m.poller.letBegin(keyOf(s.Benchmark), l.Rows())
		return kit.Again(m.progressEvery), nil
	}
	if !heard.state.Done || heard.more {
		return kit.Again(m.progressEvery), nil
	}
	if next, more := s.Spec.VariantAfter(s.Status.Variant); more && heard.state.Finished() {
		return leaveVariant(s, next), nil
	}
	return s.End(heard.state.Outcome, v1alpha1.ConditionMeasured, heard.state.Reason, heard.state.Message), nil
}

// refuse ends a benchmark whose runner's answer is invalid or cannot be stored. It
// would answer the same again.
func refuse(s *kit.Scope, why error) kit.Step {
	return s.End(v1alpha1.PhaseError, v1alpha1.ConditionMeasured, v1alpha1.ReasonAnswerRefused, fmt.Sprintf(
		"the answer of the runner was refused: %v; %s", why, rowsKept(s)))
}

// refuseResumption ends a run that was resumed in another environment, and begins anew: what
// was started is removed first, as before the next variant.
func (m *measurement) refuseResumption(s *kit.Scope, changed []string) kit.Step {
	m.poller.forget(keyOf(s.Benchmark))
	s.Status.Phase = v1alpha1.PhasePreparing
	m.resumption.beginAnew(s, changed)
	return kit.Again(kit.Soon)
}

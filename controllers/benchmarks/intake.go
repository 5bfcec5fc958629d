package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// intake follows the runners of benchmarks, and stores the rows that they finish.
type intake struct {
	// live reads from the API server.
	live     client.Reader
	settings labobjects.Settings
	objects  kit.RunObjects
	poller   *Poller
	runners  *runnerPods
	ledgers  *ledgers
}

// follow begins to poll the runner in a pod.
func (t *intake) follow(ctx context.Context, s *kit.Scope, cfg *runner.Config, pod *corev1.Pod) error {
	if pod.Status.PodIP == "" {
		return errors.New("the runner's pod has no address yet")
	}
	sec := &corev1.Secret{}
	if err := t.live.Get(ctx, client.ObjectKey{Namespace: t.settings.Namespace, Name: labobjects.CertificatesName(s.Run)}, sec); err != nil {
		return fmt.Errorf("reading the certificates of the run: %w", err)
	}
	certificate, err := labobjects.OperatorCertificate(sec)
	if err != nil {
		return err
	}
	t.poller.follow(keyOf(s.Benchmark), pod.UID, kit.RunnerTarget{
		Address: labobjects.RunnerAddress(pod.Status.PodIP), ServerName: s.Run.RunnerHost(), Pod: pod.UID, Certificate: certificate,
	}, results.NewChecker(cfg))
	return nil
}

// lastPoll stores what the runner has before it is stopped. It reports whether an answer is
// still to come, which wakes the benchmark.
func (t *intake) lastPoll(ctx context.Context, s *kit.Scope) (waits bool, _ error) {
	pods, err := t.objects.Pods(ctx, s.Run)
	if err != nil {
		return false, err
	}
	pod := pods[s.Run.RunnerName()]
	if kit.IsLost(pod) {
		_, err := t.takeIn(ctx, s)
		return false, errors.Join(errors.New("the runner is gone"), err)
	}
	if !t.poller.following(keyOf(s.Benchmark), pod.UID) {
		cfg, _, err := t.runners.config(ctx, s)
		if err != nil || cfg == nil {
			return false, errors.Join(errors.New("the runner's secret is gone"), err)
		}
		if err := t.follow(ctx, s, cfg, pod); err != nil {
			return false, err
		}
	}
	heard, err := t.takeIn(ctx, s)
	if err != nil {
		return false, err
	}
	if !heard.polled {
		t.poller.pollNow(keyOf(s.Benchmark))
		return true, nil
	}
	return false, errors.Join(heard.err, heard.refused)
}

// takeIn stores the rows that the runner has finished since the last poll, and the
// environment.
func (t *intake) takeIn(ctx context.Context, s *kit.Scope) (heard, error) {
	h, rows := t.poller.hear(keyOf(s.Benchmark))
	if !h.answered {
		return h, nil
	}
	l, err := t.ledgers.open(ctx, s)
	if err != nil {
		return h, err
	}
	if err := sameEnvironment(s, l, h.state.Environment); err != nil {
		return h, err
	}
	if _, err := l.Add(rows...); err != nil {
		return h, err
	}
	l.SetEnvironment(h.state.Environment)
	if err := t.ledgers.store(ctx, s, l); err != nil {
		return h, err
	}
	t.poller.stored(keyOf(s.Benchmark), len(rows))
	if h.state.Progress.RowsTotal > 0 || h.state.Progress.Summary != "" {
		progress := h.state.Progress
		s.Status.Progress = &progress
	}
	return h, nil
}

// notResumableError contains the differences from the environment of earlier rows.
type notResumableError struct{ changed []string }

func (e *notResumableError) Error() string {
	return "rows of another environment are not added to the earlier ones: " + strings.Join(e.changed, ", ")
}

// sameEnvironment fails where a runner that was given the rows of earlier runs measures in
// another environment.
func sameEnvironment(s *kit.Scope, l *results.Ledger, now *v1alpha1.ResultEnvironment) error {
	if s.Status.Resumption == nil {
		return nil
	}
	changed := results.EnvironmentChanges(l.Environment(), now)
	if was := l.Environment(); was != nil && now != nil && s.Bed != nil && s.Bed.Spec.Calibration != nil && !equality.Semantic.DeepEqual(was.Calibration, now.Calibration) {
		changed = append(changed, "the calibration of the tester")
	}
	if len(changed) > 0 {
		return &notResumableError{changed}
	}
	return nil
}

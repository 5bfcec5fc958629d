package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// baselineTimeout bounds one attempt to read the baselines of a benchmark.
const baselineTimeout = time.Minute

// gateJudge judges the gates of benchmarks.
type gateJudge struct {
	// live reads from the API server.
	live client.Reader
	// archive has the earlier results that gates compare with; nil without one.
	archive   kit.Archive
	snapshots *snapshots
	// large is held while the gates of a large result are judged: one at a time.
	large sync.Mutex
	// deadline is the time for which reading an unreadable baseline is repeated.
	deadline time.Duration
}

// judge judges the gates of a benchmark that had its bed, which is free by now, and makes
// the verdict a part of its outcome. What gates compare with is kept as it is now, so that
// later reports are the same. It waits for baselines that cannot be read, if it may; a gate
// without one is inconclusive.
func (j *gateJudge) judge(ctx context.Context, s *kit.Scope, mayWait bool) (waits bool, _ error) {
	if len(s.Spec.Gates) == 0 || s.Status.Gates != nil || s.Status.StartTime == nil || !s.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if stored.IsLarge(s.Benchmark) {
		j.large.Lock()
		defer j.large.Unlock()
	}
	content, err := stored.Figures(ctx, j.live, s.Benchmark)
	if err != nil {
		return unjudged(s, err, mayWait, j.deadline)
	}
	if content.Baselines == nil && s.Status.Outcome.Measured() {
		content.Baselines, err = j.baselines(ctx, s.Benchmark, content)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err() // The operator stops.
		case err != nil && mayWait && !s.Overdue(v1alpha1.ReasonBaselineUnreadable, j.deadline):
			setGates(s, metav1.ConditionUnknown, v1alpha1.ReasonBaselineUnreadable, err.Error())
			return true, nil
		case err != nil:
			log.FromContext(ctx).Info("Gates are judged without a baseline that cannot be read", "reason", err.Error())
		}
		if content.Baselines != nil {
			if err := j.snapshots.keep(ctx, s, v1alpha1.SnapshotBaselines, metav1.ObjectMeta{Name: "gates"}, content.Baselines); err != nil {
				return false, err
			}
		}
	}
	judgement := report.Judge(content)
	status, reason, message := judgement.Condition()
	setGates(s, metav1.ConditionStatus(status), reason, message)
	s.Status.Gates = judgement.Status()
	s.Status.Outcome, s.Status.Message = judgement.Outcome(s.Status.Outcome, s.Status.Message)
	return false, nil
}

// unjudged waits for a result that cannot be read, if it may. After that its gates are
// inconclusive: a result of which a part was deleted does not come back.
func unjudged(s *kit.Scope, err error, mayWait bool, limit time.Duration) (waits bool, _ error) {
	if kit.NoAnswer(err) {
		return false, err
	}
	message := fmt.Sprintf("the gates cannot be judged: %v", err)
	setGates(s, metav1.ConditionUnknown, v1alpha1.ReasonGateInconclusive, message)
	if mayWait && !s.Overdue(v1alpha1.ReasonGateInconclusive, limit) {
		return true, nil
	}
	if s.Status.Outcome.Succeeded() {
		s.Status.Outcome, s.Status.Message = v1alpha1.PhaseInconclusive, message
	}
	return false, nil
}

// setGates sets the condition without changing the message, which describes the outcome.
func setGates(s *kit.Scope, status metav1.ConditionStatus, reason, message string) {
	kit.SetCondition(&s.Status.Conditions, s.Now, s.Generation, metav1.Condition{
		Type: v1alpha1.ConditionGatesPassed, Status: status, Reason: reason, Message: message,
	})
}

// baselines reads what the gates of a benchmark compare with: nil when no gate compares. With
// an error come those that could be read.
func (j *gateJudge) baselines(ctx context.Context, b *v1alpha1.Benchmark, content report.Content) (map[string]gate.Baseline, error) {
	ctx, cancel := context.WithTimeout(ctx, baselineTimeout)
	defer cancel()
	found, err := report.NewBaselines(report.New(content))
	if err != nil {
		return nil, err
	}
	var failure error
	try := func(err error) {
		if failure == nil {
			failure = err
		}
	}
	trends := false
	for i := range b.Spec.Gates {
		relative := b.Spec.Gates[i].Relative
		if relative == nil {
			continue
		}
		switch of := relative.Baseline; {
		case of.Trend != nil:
			trends = true
		case of.BenchmarkSelector != nil:
			try(j.baselineBySelector(ctx, b, of.BenchmarkSelector, found))
		default:
			try(j.baselineByName(ctx, b, of.BenchmarkName, found))
		}
	}
	if trends && j.archive != nil {
		unreadable, err := j.eachOf(ctx, b.Namespace, b.Spec.History(b.Name), trend.MaxValues, found.Add)
		if err != nil {
			try(fmt.Errorf("reading the history of the benchmark: %w", err))
		}
		for _, u := range unreadable {
			log.FromContext(ctx).Info("A result of the history cannot be read and is left out of the baseline", "document", u.Name, "reason", u.Reason)
		}
	}
	return found.Found(), failure
}

// eachOf passes the newest results of a history of a namespace to a function.
func (j *gateJudge) eachOf(ctx context.Context, namespace, name string, newest int, do func(*report.Document) error) ([]history.Unreadable, error) {
	key, err := stored.HistoryOf(ctx, j.live, namespace, name)
	if err != nil {
		return nil, err
	}
	return j.archive.EachOf(ctx, key, newest, do)
}

// baselineByName adds a benchmark of the namespace, or where that is gone the newest of its
// name in the archive.
func (j *gateJudge) baselineByName(ctx context.Context, b *v1alpha1.Benchmark, name string, found *report.Baselines) error {
	other := &v1alpha1.Benchmark{}
	err := j.live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, other)
	if err == nil && other.UID != b.UID && other.Status.Phase.Finished() {
		return j.addBaseline(ctx, other, found)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading benchmark %s: %w", name, err)
	}
	if j.archive == nil {
		return nil
	}
	unreadable, err := j.eachOf(ctx, b.Namespace, name, 1, found.Add)
	if err == nil && len(unreadable) > 0 {
		err = errors.New(unreadable[0].String())
	}
	if err != nil {
		return fmt.Errorf("reading the newest result of benchmark %s in the archive: %w", name, err)
	}
	return nil
}

// baselineBySelector adds the newest finished benchmark of the namespace with these labels.
func (j *gateJudge) baselineBySelector(ctx context.Context, b *v1alpha1.Benchmark, selector *metav1.LabelSelector, found *report.Baselines) error {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fmt.Errorf("reading the labels of a baseline: %w", err)
	}
	var all v1alpha1.BenchmarkList
	if err := j.live.List(ctx, &all, client.InNamespace(b.Namespace), client.MatchingLabelsSelector{Selector: s}); err != nil {
		return fmt.Errorf("listing the benchmarks with the labels %s: %w", s, err)
	}
	var newest *v1alpha1.Benchmark
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == b.UID || !other.Status.Phase.Finished() || !kit.WasMeasured(other) {
			continue
		}
		if newest == nil || newest.Status.StartTime.Before(other.Status.StartTime) {
			newest = other
		}
	}
	if newest == nil {
		return nil
	}
	return j.addBaseline(ctx, newest, found)
}

func (j *gateJudge) addBaseline(ctx context.Context, other *v1alpha1.Benchmark, found *report.Baselines) error {
	content, err := stored.Figures(ctx, j.live, other)
	if err != nil {
		return err
	}
	return found.Add(report.New(content))
}

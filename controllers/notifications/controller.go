package notifications

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/notify"
)

const (
	// notifyWorkers bounds how many events are sent at once, one for each sink.
	notifyWorkers = 8
	// notReadyPause is the time for which an event waits if its sink cannot receive events.
	notReadyPause = 15 * time.Second
)

// NotifyReconciler sends the events of finished benchmarks. What is to be sent is stored in
// the status of the benchmark before it is sent, so that an operator that ends in between
// leaves it to the next one: every event is sent at least once.
type NotifyReconciler struct {
	kit.Base
	Lines *Lines
}

// Setup adds the controller of notifications to a manager.
func (r *NotifyReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("notify").
		For(&v1alpha1.Benchmark{}, builder.WithPredicates(notifyMoved())).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
			r.Lines.wakeBy(func(who types.NamespacedName) { queue.Add(ctrl.Request{NamespacedName: who}) })
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: notifyWorkers, RateLimiter: kit.Patiently()}).
		Complete(r)
}

// notifyMoved passes benchmarks that end, or of which a regression was found.
func notifyMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.Benchmark)
			after, ok2 := e.ObjectNew.(*v1alpha1.Benchmark)
			return ok1 && ok2 && len(notify.Happened(after)) > len(notify.Happened(before))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile decides what is sent about a finished benchmark, and sends it.
func (r *NotifyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	waits := map[types.UID]bool{}
	defer func() { r.Lines.leave(req.NamespacedName, waits) }()
	b := &v1alpha1.Benchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil || !b.Status.Phase.Finished() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	sinks, err := kit.SinksOf(ctx, r.Client, b.Namespace)
	if err != nil || len(sinks) == 0 && !kit.NotificationsPending(b) {
		return ctrl.Result{}, err
	}
	// The cache may not have yet what this controller has stored.
	if err := r.Live.Get(ctx, req.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if due := notify.Due(b, kit.EndedAt(b), sinks, r.Now()); len(due) > 0 {
		before := b.DeepCopy()
		b.Status.Notifications = append(b.Status.Notifications, due...)
		if err := kit.PatchStatus(ctx, r.Client, r.Live, before, b); err != nil {
			return kit.Settle(ctrl.Result{}, fmt.Errorf("storing which events are sent: %w", client.IgnoreNotFound(err)))
		}
	}
	if !kit.NotificationsPending(b) {
		return ctrl.Result{}, nil
	}
	wait := r.Sweep
	behind := map[string]bool{} // Events of one sink are sent in their order.
	for _, n := range slices.Clone(b.Status.Notifications) {
		if n.State != v1alpha1.NotificationPending || behind[n.Sink] {
			continue
		}
		again, err := r.advance(ctx, b, n, sinks, waits)
		if err != nil {
			return kit.Settle(ctrl.Result{}, err)
		}
		if again > 0 {
			behind[n.Sink] = true
			wait = min(wait, again)
		}
	}
	if kit.NotificationsPending(b) {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, nil
}

// advance sends an event, if it is time, and stores the result. It returns when to look at it
// again, 0 when it is settled. It notes the sinks that the benchmark waits for.
func (r *NotifyReconciler) advance(ctx context.Context, b *v1alpha1.Benchmark, n v1alpha1.Notification, sinks []v1alpha1.NotificationSink, waits map[types.UID]bool) (time.Duration, error) {
	i := slices.IndexFunc(sinks, func(s v1alpha1.NotificationSink) bool { return s.Name == n.Sink })
	if i < 0 {
		n.State, n.NextAttempt, n.Message = v1alpha1.NotificationFailed, nil, "the sink is gone"
		return 0, r.keep(ctx, b, n)
	}
	s := &sinks[i]
	now := r.Now()
	if end := n.Time.Add(notify.RetryFor(s)); !now.Before(end) {
		n.State, n.NextAttempt = v1alpha1.NotificationFailed, nil
		n.Message = kit.Bounded(fmt.Sprintf("it was not taken within %s: %s", notify.RetryFor(s), cmp.Or(n.Message, "no attempt was made")))
		r.say(s, b, n, now)
		return 0, errors.Join(r.keep(ctx, b, n), r.shown(ctx, s, b, n, now))
	}
	if n.NextAttempt != nil && n.NextAttempt.After(now) {
		return n.NextAttempt.Sub(now), nil
	}
	release, wait := r.Lines.enter(s.UID, client.ObjectKeyFromObject(b), now)
	if release == nil {
		waits[s.UID] = true
		return cmp.Or(wait, r.Sweep), nil // It is woken before.
	}
	began := n.Message
	tried, pause, err := r.send(ctx, s, b, n, now)
	if ctx.Err() != nil {
		release(time.Time{})
		return 0, ctx.Err() // The operator stops; the event is still pending.
	}
	if tried {
		n.Attempts++
	}
	if pause == 0 {
		pause = notify.Pause(n.Attempts, notify.ID(b, n.Event))
	}
	var refused *notify.RefusedError
	switch {
	case err == nil:
		n.State, n.NextAttempt, n.Message = v1alpha1.NotificationDelivered, nil, ""
		release(time.Time{})
	case errors.As(err, &refused) && refused.Final:
		n.State, n.NextAttempt, n.Message = v1alpha1.NotificationFailed, nil, refused.Reason
		release(time.Time{})
	default:
		// The last attempt is at the end of the time for it.
		next := now.Add(pause)
		if end := n.Time.Add(notify.RetryFor(s)); next.After(end) {
			next = end
		}
		n.NextAttempt, n.Message = &metav1.Time{Time: next}, kit.Bounded(err.Error())
		release(next)
	}
	if n.State != v1alpha1.NotificationPending || n.Message != began {
		r.say(s, b, n, now)
	}
	if err := errors.Join(r.keep(ctx, b, n), r.shown(ctx, s, b, n, now)); err != nil {
		return 0, err
	}
	if n.State == v1alpha1.NotificationPending {
		return max(n.NextAttempt.Sub(now), kit.Soon), nil
	}
	return 0, nil
}

// send makes one attempt. Tried is false where the receiver was not asked. Pause is when to
// try again; 0 leaves that to the caller.
func (r *NotifyReconciler) send(ctx context.Context, s *v1alpha1.NotificationSink, b *v1alpha1.Benchmark, n v1alpha1.Notification, now time.Time) (tried bool, pause time.Duration, _ error) {
	if s.Spec.Suspend {
		return false, notReadyPause, errors.New("the sink is suspended")
	}
	if err := sender(&r.Base).Allows(s.Spec.URL); err != nil {
		return false, notReadyPause, err
	}
	keys, problem, err := keys(ctx, &r.Base, s)
	if err == nil && problem != "" {
		err = errors.New(problem)
	}
	if err != nil {
		return false, notReadyPause, err
	}
	body, err := notify.Encode(b, n)
	if err != nil {
		return false, notReadyPause, err
	}
	err = sender(&r.Base).Send(ctx, s.Spec.URL, notify.ID(b, n.Event), keys, body, now)
	var refused *notify.RefusedError
	if errors.As(err, &refused) {
		pause = refused.After
	}
	return true, pause, err
}

// keep stores what became of an event in the status of its benchmark.
func (r *NotifyReconciler) keep(ctx context.Context, b *v1alpha1.Benchmark, n v1alpha1.Notification) error {
	key, uid := client.ObjectKeyFromObject(b), b.UID
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := b.DeepCopy()
		if !put(b, n) {
			return nil
		}
		err := kit.PatchStatus(ctx, r.Client, r.Live, before, b)
		if apierrors.IsConflict(err) {
			if again := r.Live.Get(ctx, key, b); again != nil {
				return again
			}
		}
		return err
	})
	if apierrors.IsNotFound(err) || err == nil && b.UID != uid {
		return nil // The sink no longer asks for it.
	}
	if err != nil {
		return fmt.Errorf("storing what became of an event: %w", err)
	}
	return nil
}

// put replaces an event in a status; it is false where the event is not there.
func put(b *v1alpha1.Benchmark, n v1alpha1.Notification) bool {
	for i := range b.Status.Notifications {
		if o := &b.Status.Notifications[i]; o.Sink == n.Sink && o.Event == n.Event {
			*o = n
			return true
		}
	}
	return false
}

// shown writes the last delivery into the status of the sink.
func (r *NotifyReconciler) shown(ctx context.Context, s *v1alpha1.NotificationSink, b *v1alpha1.Benchmark, n v1alpha1.Notification, now time.Time) error {
	before := s.DeepCopy()
	s.Status.LastDelivery = &v1alpha1.NotificationDelivery{Benchmark: b.Name, Event: n.Event, Time: metav1.NewTime(now), State: n.State, Message: n.Message}
	if err := r.Client.Status().Patch(ctx, s, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing the last delivery of sink %s: %w", s.Name, err)
	}
	return nil
}

// say makes an event of Kubernetes about a delivery.
func (r *NotifyReconciler) say(s *v1alpha1.NotificationSink, b *v1alpha1.Benchmark, n v1alpha1.Notification, _ time.Time) {
	kind, reason, note := corev1.EventTypeWarning, "Notification"+string(n.State), n.Message
	if n.State == v1alpha1.NotificationDelivered {
		kind, note = corev1.EventTypeNormal, fmt.Sprintf("the receiver took it at attempt %d", n.Attempts)
	}
	r.Recorder.Eventf(s, b, kind, reason, "Notify", "%s", kit.Truncated(fmt.Sprintf("%s of benchmark %s: %s", n.Event, b.Name, note)))
}

// sender returns the sender of the options, or one that sends nowhere.
func sender(b *kit.Base) *notify.Sender {
	if b.Notify != nil {
		return b.Notify
	}
	return notify.NewSender(notify.Guard{}, nil)
}

// keys reads the signing keys of a sink. A problem is something that its owner has to correct;
// it does not contain the value.
func keys(ctx context.Context, b *kit.Base, s *v1alpha1.NotificationSink) (_ []notify.Key, problem string, _ error) {
	ref := s.Spec.SecretRef
	secret := &corev1.Secret{}
	err := b.Live.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("spec.secretRef.name: there is no Secret %s in this namespace: create it, or correct the name", ref.Name), nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("spec.secretRef.name: the operator may not read Secret %s: apply a Role for get of this Secret, bound to its ServiceAccount (docs/notifications.md#the-secret)", ref.Name), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading the Secret of the sink: %w", err)
	}
	value, has := secret.Data[ref.Key]
	if !has {
		return nil, fmt.Sprintf("spec.secretRef.key: Secret %s has no key %s: add it, or correct the key", ref.Name, ref.Key), nil
	}
	keys, err := notify.ReadKeys(value)
	if err != nil {
		return nil, fmt.Sprintf("key %s of Secret %s: %v", ref.Key, ref.Name, err), nil
	}
	return keys, "", nil
}

// SinkReconciler reports in a condition whether events can be sent to a sink.
type SinkReconciler struct{ kit.Base }

// Setup adds the controller of notification sinks to a manager.
func (r *SinkReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("notificationsink").
		For(&v1alpha1.NotificationSink{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: kit.Patiently()}).
		Complete(r)
}

// Reconcile checks the URL, the selector and the Secret of a sink, and looks at them again
// after a while: Secrets are not watched.
func (r *SinkReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.NotificationSink{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil || !s.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := s.DeepCopy()
	reason, message, err := r.judge(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	ready := ShowSink(s, reason, message, r.Now())
	if !equality.Semantic.DeepEqual(before.Status, s.Status) {
		if err := r.Client.Status().Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return kit.Settle(ctrl.Result{}, fmt.Errorf("storing the status of the sink: %w", client.IgnoreNotFound(err)))
		}
	}
	if !ready {
		return ctrl.Result{RequeueAfter: r.Recheck}, nil
	}
	return ctrl.Result{RequeueAfter: r.Sweep}, nil
}

// ShowSink sets the conditions of a sink. A suspended one is ready.
func ShowSink(s *v1alpha1.NotificationSink, reason, message string, now time.Time) (ready bool) {
	s.Status.ObservedGeneration = s.Generation
	ready = reason == v1alpha1.ReasonSinkReady || reason == v1alpha1.ReasonSinkSuspended
	state, all := metav1.ConditionTrue, &s.Status.Conditions
	if !ready {
		state = metav1.ConditionFalse
	}
	kit.SetCondition(all, now, s.Generation, metav1.Condition{Type: v1alpha1.ConditionReady, Status: state, Reason: reason, Message: message})
	meta.RemoveStatusCondition(all, v1alpha1.ConditionStalled)
	if !ready {
		kit.SetCondition(all, now, s.Generation, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	}
	return ready
}

func (r *SinkReconciler) judge(ctx context.Context, s *v1alpha1.NotificationSink) (reason, message string, _ error) {
	if s.Spec.BenchmarkSelector != nil {
		if _, err := metav1.LabelSelectorAsSelector(s.Spec.BenchmarkSelector); err != nil {
			return v1alpha1.ReasonSinkInvalid, fmt.Sprintf("spec.benchmarkSelector: %v", err), nil
		}
	}
	if err := sender(&r.Base).Allows(s.Spec.URL); err != nil {
		return v1alpha1.ReasonHostNotAllowed, "spec.url: " + err.Error(), nil
	}
	_, problem, err := keys(ctx, &r.Base, s)
	switch {
	case err != nil:
		return "", "", err
	case problem != "":
		return v1alpha1.ReasonSecretUnreadable, problem, nil
	case s.Spec.Suspend:
		return v1alpha1.ReasonSinkSuspended, "spec.suspend is set: nothing is sent", nil
	}
	return v1alpha1.ReasonSinkReady, "events are sent to this receiver", nil
}

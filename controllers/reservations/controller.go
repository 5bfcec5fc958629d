package reservations

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// Reconciler shows what reservations get: in their status, in that of their
// beds, and as events, and hands out the connection data of the beds. It decides nothing: the allocator computes the same calendar. All
// reservations are handled at once, since each depends on the others.
type Reconciler struct {
	kit.Base
	connections *connections
	book        reservation.Book
}

// NewReconciler returns the controller of reservations.
func NewReconciler(b kit.Base) *Reconciler {
	return &Reconciler{Base: b, connections: &connections{Base: b, written: map[string]writtenConnection{}}}
}

// maxPublished is the maximum number of reserved times in the status of a bed.
const maxPublished = 8

// settleReservations is the time for which changes are gathered, in parts of a second at a
// usual pace.
const settleReservations = 2 // times Options.Poll

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	gather := gathered{r.Poll * settleReservations}
	return ctrl.NewControllerManagedBy(mgr).
		Named("reservation").
		Watches(&v1alpha1.Reservation{}, gather.handler(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.TestBed{}, gather.handler(), builder.WithPredicates(predicate.Or(kit.BedMoved(), kit.LeaseMoved()))).
		Watches(&corev1.Namespace{}, gather.handler(), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: kit.Patiently()}).
		Complete(r)
}

// gathered requests one reconcile for all events of a while.
type gathered struct{ while time.Duration }

func (g gathered) handler() handler.EventHandler {
	type limiting = workqueue.TypedRateLimitingInterface[reconcile.Request]
	later := func(q limiting) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: "all"}}, g.while)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q limiting) { later(q) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q limiting) { later(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q limiting) { later(q) },
	}
}

// Reconcile brings the status of all reservations and beds up to date.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var list v1alpha1.ReservationList
	if err := r.List(ctx, &list); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing reservations: %w", err)
	}
	var beds v1alpha1.TestBedList
	if err := r.List(ctx, &beds); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing test beds: %w", err)
	}
	now := r.Now()
	cal, err := r.calendar(ctx, &list, &beds, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	given, err := r.connections.handOut(ctx, list.Items, beds.Items, cal, now)
	failures := []error{err}
	for i := range list.Items {
		failures = append(failures, r.store(ctx, &list.Items[i], cal, given, now))
	}
	for i := range beds.Items {
		failures = append(failures, r.publish(ctx, &beds.Items[i], cal.Of[beds.Items[i].Name]))
	}
	return kit.Settle(ctrl.Result{RequeueAfter: min(r.nextChange(cal, now), r.connections.again(given))}, failures...)
}

// Bookings contains the calendar of reservations, and the benchmark that holds each bed now.
type Bookings struct {
	reservation.Calendar
	holders map[string]*bedHolder
}

// bedHolder is a benchmark that has a bed.
type bedHolder struct {
	// name is namespace/name, and reservation is the name of the reservation that it names.
	name, reservation string
	// until is the latest time at which it has ended; zero if that is not known.
	until time.Time
}

func (r *Reconciler) calendar(ctx context.Context, list *v1alpha1.ReservationList, beds *v1alpha1.TestBedList, now time.Time) (Bookings, error) {
	if len(list.Items) == 0 {
		return Bookings{}, nil
	}
	lab := reservation.CalendarInput{Beds: map[string]*v1alpha1.TestBed{}, Namespaces: map[string]*corev1.Namespace{}, Namespace: r.Lab.Namespace}
	var namespaces corev1.NamespaceList
	if err := r.List(ctx, &namespaces); err != nil {
		return Bookings{}, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		lab.Namespaces[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	for i := range beds.Items {
		lab.Beds[beds.Items[i].Name] = &beds.Items[i]
	}
	for i := range list.Items {
		lab.Reservations = append(lab.Reservations, &list.Items[i])
	}
	in := reservation.Span{From: now, Until: now.Add(reservation.Horizon)}
	b := Bookings{Calendar: r.book.Calendar(lab, in), holders: map[string]*bedHolder{}}
	for name := range b.Of {
		b.holders[name] = r.holderOfBed(ctx, lab.Beds[name])
	}
	return b, nil
}

// store writes the status of a reservation, and makes the event that the status records: of
// two operators only one can write it.
func (r *Reconciler) store(ctx context.Context, o *v1alpha1.Reservation, cal Bookings, given outcomes, now time.Time) error {
	if !o.DeletionTimestamp.IsZero() {
		return nil
	}
	after := o.DeepCopy()
	notice := ShowReservation(after, cal, now)
	showConnection(after, given[reservation.KeyOf(o)], now)
	if equality.Semantic.DeepEqual(o.Status, after.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("storing the status of reservation %s: %w", reservation.KeyOf(o), err)
	}
	if notice != "" {
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, after.Status.LastReminder.Reason, "Remind", "%s", kit.Truncated(notice))
	}
	return nil
}

// holderOfBed returns the benchmark that has a bed, or nil if the bed is free.
func (r *Reconciler) holderOfBed(ctx context.Context, bed *v1alpha1.TestBed) *bedHolder {
	l := kit.LeaseOf(bed)
	if l == nil {
		return nil
	}
	h := &bedHolder{name: l.Holder}
	for _, request := range kit.RequestFor(l.Holder) {
		b := &v1alpha1.Benchmark{}
		if err := r.Get(ctx, request.NamespacedName, b); err == nil {
			h.reservation, h.until = kit.ReservationOf(b).String(), l.AcquireTime.Add(r.Deadlines.HoldOf(b)+bed.Spec.Hooks.TimeAfterLease())
		}
	}
	return h
}

// publish shows the next reserved times of a bed to all who may read beds.
func (r *Reconciler) publish(ctx context.Context, bed *v1alpha1.TestBed, slices []reservation.Slice) error {
	var next []v1alpha1.BedReservation
	for _, s := range slices[:min(len(slices), maxPublished)] {
		next = append(next, v1alpha1.BedReservation{
			Reservation: s.Reservation.String(), TestBedName: s.Via, From: metav1.NewTime(s.From), Until: metav1.NewTime(s.Until),
		})
	}
	if equality.Semantic.DeepEqual(bed.Status.Reservations, next) {
		return nil
	}
	_, err := kit.PatchBed(ctx, r.Client, bed, map[string]any{"reservations": next}, "")
	return client.IgnoreNotFound(err)
}

// nextChange returns the time until the next change by time alone: a begin, an end, or a
// reminder.
func (r *Reconciler) nextChange(cal Bookings, now time.Time) time.Duration {
	next := kit.Recalendar
	consider := func(t time.Time) {
		if d := t.Sub(now); d > 0 {
			next = min(next, d)
		}
	}
	for _, slices := range cal.Of {
		for _, s := range slices {
			consider(s.From)
			consider(s.Until)
			if s.From.After(now) {
				break
			}
		}
	}
	for _, claim := range cal.Claims {
		for _, o := range claim.Occurrences {
			for _, t := range []time.Time{o.From, o.Until} {
				consider(t)
				consider(t.Add(-remindBefore))
			}
			if o.From.Add(-remindBefore).After(now) {
				break
			}
		}
	}
	return next
}

package reservations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// Connection data are handed out in one Secret for each namespace, whose name is the same
// everywhere: rights on Secrets of that name alone are enough, and what has to be deleted is
// known without reading any Secret of a team. What a namespace has to have follows from the
// reservations as they are; nothing is remembered but what need not be written again.

// connectionOwner is the field manager of the Secrets.
const connectionOwner = "nodrop-operator"

// connections hands out connection data, and remembers what it has written to a namespace.
type connections struct {
	kit.Base
	// written has the digest of what a namespace has; an empty one is no Secret.
	written map[string]writtenConnection
}

type writtenConnection struct {
	digest string
	at     time.Time
}

// heldBed is a bed with connection data that a reservation has now.
type heldBed struct {
	reservation *v1alpha1.Reservation
	bed         *v1alpha1.TestBed
}

// outcome is the state of the connection data of a reservation.
type outcome struct {
	// relevant reports whether it has a bed with connection data, held whether it has one now,
	// and given whether the data of such a bed are in the Secret.
	relevant, held, given bool
	// unknown reports whether the API server did not answer.
	unknown bool
	// problem is the reason why it does not have the data of a bed that it has, and reason is
	// the reason for the condition.
	problem, reason string
}

// outcomes contains the outcomes of all reservations.
type outcomes map[types.NamespacedName]*outcome

func (o outcomes) refuse(k types.NamespacedName, reason, problem string) {
	if r := o[k]; r.problem == "" {
		r.reason, r.problem = reason, problem
	}
}

// heldBeds returns for each namespace the beds with connection data that its reservations
// have now, sorted by name. A bed that a benchmark of others still has, or one that shares an
// interface with it, is not among them.
func heldBeds(list []v1alpha1.Reservation, beds map[string]*v1alpha1.TestBed, cal Bookings, now time.Time) (map[string][]heldBed, outcomes) {
	held, all := map[string][]heldBed{}, outcomes{}
	shared := reservation.Sharing(beds)
	for i := range list {
		r := &list[i]
		key := reservation.KeyOf(r)
		o := &outcome{}
		all[key] = o
		claim := cal.Claims[key]
		if claim == nil {
			continue
		}
		for _, name := range claim.Beds[:min(len(claim.Beds), maxShownBeds)] {
			bed := beds[name]
			if bed == nil || bed.Spec.Connection == nil {
				continue
			}
			o.relevant = true
			if b := reservedBedOf(r, name, cal, now); b.Current == nil {
				continue
			}
			busy := slices.ContainsFunc(append([]string{name}, shared[name]...), func(bed string) bool {
				h := cal.holders[bed]
				return h != nil && h.reservation != key.String()
			})
			if !busy {
				o.held = true
				held[r.Namespace] = append(held[r.Namespace], heldBed{r, bed})
			}
		}
	}
	for _, h := range held {
		slices.SortFunc(h, func(a, b heldBed) int { return strings.Compare(a.bed.Name, b.bed.Name) })
	}
	return held, all
}

// handOut makes the Secret of each namespace what it has to be, and deletes it where the
// namespace has no bed with connection data.
func (c *connections) handOut(ctx context.Context, list []v1alpha1.Reservation, beds []v1alpha1.TestBed, cal Bookings, now time.Time) (outcomes, error) {
	named := map[string]*v1alpha1.TestBed{}
	for i := range beds {
		named[beds[i].Name] = &beds[i]
	}
	held, all := heldBeds(list, named, cal, now)
	if !c.Connections {
		for k, o := range all {
			if o.relevant {
				all.refuse(k, v1alpha1.ReasonNotHandedOut, "this lab hands no connection data out: ask its owner for them, or to set connections.enabled of the chart")
			}
		}
		return all, nil
	}
	namespaces, err := c.namespaces(ctx, list, beds)
	if err != nil {
		return all, err
	}
	var failures []error
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		err := c.write(ctx, namespace, held[namespace], all, now)
		for _, h := range held[namespace] {
			all[reservation.KeyOf(h.reservation)].unknown = err != nil
		}
		failures = append(failures, err)
	}
	return all, errors.Join(failures...)
}

// namespaces returns the namespaces that may have a Secret: those that have reservations,
// those that a bed with connection data allows, and those that have a Secret.
func (c *connections) namespaces(ctx context.Context, list []v1alpha1.Reservation, beds []v1alpha1.TestBed) (map[string]bool, error) {
	all := map[string]bool{}
	for i := range list {
		all[list[i].Namespace] = true
	}
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		ns := &namespaces.Items[i]
		allows := func(b v1alpha1.TestBed) bool { return b.Spec.Connection != nil && preflight.Allows(&b, ns) }
		if slices.ContainsFunc(beds, allows) {
			all[ns.Name] = true
		}
	}
	for name, w := range c.written {
		if w.digest != "" {
			all[name] = true
		} else if !all[name] {
			delete(c.written, name)
		}
	}
	return all, nil
}

// write makes the Secret of one namespace what it has to be.
func (c *connections) write(ctx context.Context, namespace string, held []heldBed, all outcomes, now time.Time) error {
	data, owners, err := c.collect(ctx, held, all)
	if err != nil {
		return err
	}
	digest := contentOf(data, owners)
	// Written again after a while: another client may have changed it, or an operator that was
	// replaced may have written late.
	if w, known := c.written[namespace]; known && w.digest == digest && now.Sub(w.at).Abs() < c.Sweep {
		return nil
	}
	if len(data) == 0 {
		err = c.remove(ctx, namespace)
	} else {
		err = c.apply(ctx, namespace, data, owners)
	}
	if apierrors.IsForbidden(err) {
		for _, h := range held {
			key := reservation.KeyOf(h.reservation)
			all[key].given = false
			all.refuse(key, v1alpha1.ReasonNotHandedOut,
				"the operator may not write Secret "+v1alpha1.ConnectionSecretName+" in this namespace: ask the owner of the lab to look at ClusterRole nodrop-operator-connections")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s of namespace %s: %w", v1alpha1.ConnectionSecretName, namespace, err)
	}
	c.written[namespace] = writtenConnection{digest: digest, at: now}
	return nil
}

// collect reads the connection data of beds, and which reservations own them.
func (c *connections) collect(ctx context.Context, held []heldBed, all outcomes) (map[string][]byte, map[types.UID]*v1alpha1.Reservation, error) {
	data, owners := map[string][]byte{}, map[types.UID]*v1alpha1.Reservation{}
	size := 0
	for _, h := range held {
		secret, problem, err := c.LabFiles().Connection(ctx, h.bed)
		if err != nil {
			return nil, nil, err
		}
		if problem == "" && size+kit.SizeOf(secret) > maxConnections {
			problem = fmt.Sprintf("the connection data of all beds that this namespace has are longer than %d KiB: reserve fewer beds at once", maxConnections>>10)
		}
		if problem != "" {
			all.refuse(reservation.KeyOf(h.reservation), v1alpha1.ReasonConnectionUnreadable, "bed "+h.bed.Name+": "+problem)
			continue
		}
		size += kit.SizeOf(secret)
		for key, value := range secret {
			data[kit.ConnectionKey(h.bed, key)] = value
		}
		owners[h.reservation.UID] = h.reservation
		all[reservation.KeyOf(h.reservation)].given = true
	}
	return data, owners, nil
}

// maxConnections bounds the data of a namespace, so that the Secret stays below the 1 MiB of the
// API server.
const maxConnections = 512 << 10

func (c *connections) apply(ctx context.Context, namespace string, data map[string][]byte, owners map[types.UID]*v1alpha1.Reservation) error {
	secret := corev1ac.Secret(v1alpha1.ConnectionSecretName, namespace).
		WithLabels(map[string]string{"app.kubernetes.io/managed-by": "nodrop"}).
		WithAnnotations(map[string]string{"kubernetes.io/description": "Connection data of the beds that reservations of this namespace have now, as BED_KEY."}).
		WithType(corev1.SecretTypeOpaque).WithData(data)
	for _, uid := range slices.Sorted(maps.Keys(owners)) {
		secret.WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(v1alpha1.GroupVersion.String()).
			WithKind("Reservation").WithName(owners[uid].Name).WithUID(uid))
	}
	write := func() error { return c.Apply(ctx, secret, client.FieldOwner(connectionOwner), client.ForceOwnership) }
	err := write()
	if apierrors.IsInvalid(err) {
		// A Secret of this name that cannot be changed exists.
		if err := c.remove(ctx, namespace); err != nil {
			return err
		}
		err = write()
	}
	return err //nolint:wrapcheck // The caller wraps it.
}

func (c *connections) remove(ctx context.Context, namespace string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.ConnectionSecretName}}
	return client.IgnoreNotFound(c.Delete(ctx, secret)) //nolint:wrapcheck // The caller wraps it.
}

// contentOf returns a digest that distinguishes contents without storing them.
func contentOf(data map[string][]byte, owners map[types.UID]*v1alpha1.Reservation) string {
	if len(data) == 0 {
		return ""
	}
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%q=%q,", key, data[key])
	}
	fmt.Fprint(h, slices.Sorted(maps.Keys(owners)))
	return hex.EncodeToString(h.Sum(nil))
}

// again returns the time after which the source of what is handed out, or the Secrets, have to
// be checked.
func (c *connections) again(all outcomes) time.Duration {
	switch {
	case !c.Connections:
		return kit.Recalendar
	case slices.ContainsFunc(slices.Collect(maps.Values(all)), func(o *outcome) bool { return o.held }):
		return c.Recheck
	}
	return c.Sweep
}

// showConnection writes the state of the connection data to the status of a reservation.
func showConnection(r *v1alpha1.Reservation, o *outcome, now time.Time) {
	s := &r.Status
	if o != nil && o.unknown {
		return
	}
	s.ConnectionSecretName = ""
	if o != nil && o.given {
		s.ConnectionSecretName = v1alpha1.ConnectionSecretName
	}
	if o == nil || !o.relevant {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionConnectionData)
		return
	}
	c := metav1.Condition{Type: v1alpha1.ConditionConnectionData, Status: metav1.ConditionFalse}
	switch {
	case o.problem != "":
		c.Reason, c.Message = o.reason, o.problem
	case !o.held:
		c.Reason, c.Message = v1alpha1.ReasonBedNotHeld, "they are handed out while the reservation has the bed, and no benchmark of others does"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonHandedOut
		c.Message = fmt.Sprintf("kubectl get secret %s -n %s -o yaml", v1alpha1.ConnectionSecretName, r.Namespace)
	}
	kit.SetCondition(&s.Conditions, now, r.Generation, c)
}

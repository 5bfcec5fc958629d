package reservations

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/crashtest"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestConnectionSurvivesEveryDeath lets an operator die at every write of two reservations,
// once before and once after it is applied: while one has the bed its namespace has the data,
// and after it no namespace has any.
func TestConnectionSurvivesEveryDeath(t *testing.T) {
	crashtest.EveryDeath(t, 12, "two reservations", twoReservations)
}

func twoReservations(t *testing.T, m *crashtest.FakeAPI) {
	t.Helper()
	ctx := t.Context()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	reserve := func(namespace string, from, until time.Duration) client.Object {
		r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r", UID: types.UID("uid-of-" + namespace)}}
		r.Spec = v1alpha1.ReservationSpec{TestBedNames: []string{"leaf-1"}, From: metav1.NewTime(now.Add(from)), Until: metav1.NewTime(now.Add(until))}
		return r
	}
	bed := objects.TestBed("leaf-1")
	bed.Spec.Connection = &v1alpha1.BedConnection{SecretName: "leaf-1-access"}
	bed.Spec.Access = []v1alpha1.AccessGrant{{Names: []string{"team-a", "team-b"}, MaxDuration: metav1.Duration{Duration: 24 * time.Hour}}}
	m.DieAt += 6 // These are of the test.
	for _, o := range []client.Object{
		bed, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-b"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "leaf-1-access"}, Type: v1alpha1.ConnectionSecretType, Data: map[string][]byte{"console": []byte("ts1:2001")}},
		reserve("team-a", time.Hour, 2*time.Hour), reserve("team-b", 2*time.Hour, 3*time.Hour),
	} {
		m.Must(t, m.Create(ctx, o))
	}
	m.DieAt, m.Writes = m.DieAt-6, 0
	holder := func() string {
		held := ""
		for _, namespace := range []string{"lab", "team-a", "team-b"} {
			s := &corev1.Secret{}
			err := m.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.ConnectionSecretName}, s)
			if err == nil {
				held += fmt.Sprintf("%s %s", namespace, s.Data["leaf-1_console"])
			} else if !apierrors.IsNotFound(err) {
				m.Must(t, err)
			}
		}
		return held
	}
	var r *Reconciler
	for hour, want := range []string{"", "team-a ts1:2001", "team-b ts1:2001", ""} {
		for range 4 {
			// An operator that did not die remembers what it has written.
			if m.Dead || r == nil {
				m.Dead = false
				r = NewReconciler(kit.Base{Client: m, Live: m, Recorder: events.NewFakeRecorder(100), Options: kit.Options{
					Lab: labobjects.Settings{Namespace: "lab"}, Connections: true, Sweep: 100 * time.Hour, Recheck: time.Minute, Poll: time.Millisecond,
					Now: func() time.Time { return now },
				}})
			}
			if _, err := r.Reconcile(ctx, ctrl.Request{}); err != nil && !errors.Is(err, crashtest.ErrDied) {
				m.Must(t, err)
			}
		}
		if got := holder(); got != want {
			t.Fatalf("dies at %d (applied %v): after %d h the data are in %q, want %q", m.DieAt, m.Applied, hour, got, want)
		}
		now = now.Add(time.Hour)
	}
}

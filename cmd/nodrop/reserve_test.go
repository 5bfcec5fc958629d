//go:build !standalone

package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestReservationOfFlags makes reservations of flags, without a cluster.
func TestReservationOfFlags(t *testing.T) {
	sendsNoFrames(t)
	now := time.Date(2026, 12, 1, 9, 30, 0, 500, time.UTC)
	for name, tc := range map[string]struct {
		flags reserveFlags
		beds  []string
		// want is from and until, or a part of the error.
		want string
	}{
		"from now on":           {reserveFlags{length: 2 * time.Hour}, []string{"bed"}, "2026-12-01T09:30:00Z 2026-12-01T11:30:00Z"},
		"in a zone":             {reserveFlags{from: "2026-12-01T22:00", length: time.Hour, zone: "Europe/Berlin"}, []string{"bed"}, "2026-12-01T21:00:00Z 2026-12-01T22:00:00Z"},
		"with an offset":        {reserveFlags{from: "2026-12-01T22:00:00+02:00", until: "2026-12-01 23:00", zone: "UTC"}, []string{"bed"}, "2026-12-01T20:00:00Z 2026-12-01T23:00:00Z"},
		"by labels":             {reserveFlags{selector: "rack=3", length: time.Hour}, nil, "2026-12-01T09:30:00Z 2026-12-01T10:30:00Z"},
		"without an end":        {reserveFlags{}, []string{"bed"}, "give --until or --for, and not both"},
		"with two ends":         {reserveFlags{length: time.Hour, until: "2026-12-01T22:00"}, []string{"bed"}, "give --until or --for, and not both"},
		"backwards":             {reserveFlags{until: "2026-12-01T09:00"}, []string{"bed"}, "would end at 2026-12-01T09:00:00Z, and begin at 2026-12-01T09:30:00Z"},
		"no bed":                {reserveFlags{length: time.Hour}, nil, "no bed is given"},
		"beds twice":            {reserveFlags{length: time.Hour, selector: "a=b"}, []string{"bed"}, "by name and by --selector"},
		"no time":               {reserveFlags{from: "tonight", length: time.Hour}, []string{"bed"}, `--from is "tonight": write a time such as`},
		"no zone":               {reserveFlags{length: time.Hour, zone: "Mars"}, []string{"bed"}, `--time-zone is "Mars", which is not known`},
		"a rule of another day": {reserveFlags{from: "2026-12-01T22:00", length: time.Hour, rule: "FREQ=WEEKLY;BYDAY=FR"}, []string{"bed"}, "is 2026-12-04T22:00:00Z: give that as from"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := tc.flags.reservation(tc.beds, now)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = stampOf(r.Spec.From.Time) + " " + stampOf(r.Spec.Until.Time)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestReserve makes, extends and releases reservations in a cluster.
func TestReserve(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	c.bedWithHolder("bed", "team/other", 0)
	c.nodrop(t, "reserve", "bed", "--name", "fans", "--for", "2h", "--purpose", "look at the fans").wants(0, "default     fans          bed", "")
	c.nodrop(t, "reserve", "bed", "--name", "fans", "--for", "2h").wants(1, "", `there is a Reservation "fans" in namespace "default"`)
	c.nodrop(t, "reserve", "bed", "--for", "800h").wants(1, "", "longer than 720h (30 days)")
	fans := &v1alpha1.Reservation{}
	read := func(name string) {
		t.Helper()
		if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, fans); err != nil {
			t.Fatal(err)
		}
	}
	read("fans")
	until := fans.Spec.Until
	c.nodrop(t, "extend", "fans", "--by", "1h").wants(0, stampOf(until.Add(time.Hour)), "")
	c.nodrop(t, "extend", "fans", "--until", stampOf(until.Time)).wants(1, "", "is not later")
	c.nodrop(t, "extend", "fan", "--by", "1h").wants(1, "", `no Reservation "fan" in namespace "default"`)
	read("fans")
	if want := until.Add(time.Hour); !fans.Spec.Until.Time.Equal(want) {
		t.Errorf("it ends at %s, want %s", fans.Spec.Until, want)
	}

	// What the operator shows of it in the status of the bed.
	bed := &v1alpha1.TestBed{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "bed"}, bed); err != nil {
		t.Fatal(err)
	}
	bed.Status.Lease = nil
	bed.Status.Reservations = []v1alpha1.BedReservation{
		{Reservation: "default/fans", From: fans.Spec.From, Until: fans.Spec.Until},
		{Reservation: "team/later", From: metav1.NewTime(time.Now().Add(100 * time.Hour)), Until: metav1.NewTime(time.Now().Add(101 * time.Hour))},
	}
	if err := c.client.Status().Update(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	c.benchmark("waiting", inPhase(v1alpha1.PhaseQueued, "an old message"))
	p := c.nodrop(t, "queue")
	p.wants(0, "reservation default/fans has bed bed from "+stampOf(fans.Spec.From.Time), "")
	for _, want := range []string{"bed   default/fans   " + stampOf(fans.Spec.From.Time), "bed   team/later     "} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("queue does not say %q:\n%s", want, p.stdout.String())
		}
	}

	c.nodrop(t, "release", "fans").wants(0, "Reservation fans is deleted", "")
	before := bed.DeepCopy()
	bed.Spec.Connection = &v1alpha1.BedConnection{SecretName: "bed-access"}
	if err := c.client.Patch(t.Context(), bed, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	c.nodrop(t, "reserve", "bed", "--name", "console", "--for", "1h").wants(0, "kubectl get secret nodrop-connections -n default -o yaml", "")
	c.nodrop(t, "release", "console").wants(0, "Reservation console is deleted", "")
	c.nodrop(t, "release", "fans").wants(1, "", `no Reservation "fans"`)
	c.nodrop(t, "reserve", "bed", "--name", "daily", "--for", "2h", "--rule", "FREQ=DAILY").wants(0, "FREQ=DAILY UTC", "")
	c.nodrop(t, "extend", "daily", "--by", "1h").wants(1, "", "reservation daily recurs")
	c.nodrop(t, "release", "daily").wants(0, "has ended; the others stay", "")
	c.nodrop(t, "release", "daily").wants(1, "", "recurs, and is not in progress, and begins next at ")
	c.nodrop(t, "release", "daily", "--all").wants(0, "Reservation daily is deleted", "")
}

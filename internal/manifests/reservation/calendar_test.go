package reservation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// bed has interfaces, and is open to namespaces that may hold it for two hours.
func bed(name string, interfaces []string, namespaces ...string) *v1alpha1.TestBed {
	b := objects.TestBed(name, objects.Labels(map[string]string{"name": name, "kind": "bed"}))
	for _, i := range interfaces {
		b.Spec.Ports = append(b.Spec.Ports, v1alpha1.Port{Name: i, Node: "n", Attachment: objects.HostDevice(i)})
	}
	b.Spec.Access = []v1alpha1.AccessGrant{{Names: namespaces, MaxDuration: metav1.Duration{Duration: 2 * time.Hour}}}
	return b
}

// booked is a reservation that was created at a minute, from a minute until another one.
func booked(namespace, name string, created, from, until int, beds ...string) *v1alpha1.Reservation {
	return &v1alpha1.Reservation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(at(created))},
		Spec:       v1alpha1.ReservationSpec{TestBedNames: beds, From: metav1.NewTime(at(from)), Until: metav1.NewTime(at(until))},
	}
}

func labOf(beds ...*v1alpha1.TestBed) CalendarInput {
	l := CalendarInput{Beds: map[string]*v1alpha1.TestBed{}, Namespaces: map[string]*corev1.Namespace{}, Namespace: "lab"}
	for _, b := range beds {
		l.Beds[b.Name] = b
	}
	return l
}

func (l CalendarInput) with(all ...*v1alpha1.Reservation) CalendarInput {
	l.Reservations = all
	return l
}

// shape is a calendar of a bed in short: holder from until, with via.
func shape(slices []Slice) string {
	text := ""
	for _, s := range slices {
		text += fmt.Sprintf("%s %d-%d", s.Reservation, int(s.From.Sub(start).Minutes()), int(s.Until.Sub(start).Minutes()))
		if s.Via != "" {
			text += " via " + s.Via
		}
		if s.Maintenance {
			text += " maintenance"
		}
		text += "; "
	}
	return text
}

var day = Span{From: at(0), Until: at(1440)}

func TestCalendar(t *testing.T) {
	x, y := bed("x", []string{"e1"}, "a", "b"), bed("y", []string{"e1", "e2"}, "a", "b")
	for name, tc := range map[string]struct {
		lab  CalendarInput
		x, y string
		// lost of the last reservation, and its problem.
		lost    int
		problem string
	}{
		"one":                            {labOf(x).with(booked("a", "r", 0, 60, 120, "x")), "a/r 60-120; ", "", 0, ""},
		"the earlier created has it":     {labOf(x).with(booked("a", "old", 0, 60, 120, "x"), booked("b", "new", 1, 30, 90, "x")), "b/new 30-60; a/old 60-120; ", "", 1, ""},
		"in whatever order":              {labOf(x).with(booked("b", "new", 1, 30, 90, "x"), booked("a", "old", 0, 60, 120, "x")), "b/new 30-60; a/old 60-120; ", "", 0, ""},
		"around it":                      {labOf(x).with(booked("a", "old", 0, 60, 70, "x"), booked("b", "new", 1, 30, 90, "x")), "b/new 30-60; a/old 60-70; b/new 70-90; ", "", 1, ""},
		"of one time the first by name":  {labOf(x).with(booked("b", "r", 0, 60, 120, "x"), booked("a", "r", 0, 60, 120, "x")), "a/r 60-120; ", "", 0, ""},
		"none of it":                     {labOf(x).with(booked("a", "old", 0, 60, 120, "x"), booked("b", "new", 1, 70, 80, "x")), "a/old 60-120; ", "", 1, ""},
		"a bed that shares an interface": {labOf(x, y).with(booked("a", "r", 0, 60, 120, "x")), "a/r 60-120; ", "a/r 60-120 via x; ", 0, ""},
		"both": {
			labOf(x, y).with(booked("a", "r", 0, 60, 120, "x", "y")), "a/r 60-120; ", "a/r 60-120; ", 0, "",
		},
		"lost through a shared interface": {
			labOf(x, y).with(booked("a", "r", 0, 60, 120, "x"), booked("b", "r", 1, 90, 150, "y")),
			"a/r 60-120; b/r 120-150 via y; ", "a/r 60-120 via x; b/r 120-150; ", 1, "",
		},
		"maintenance":            {labOf(x).with(booked("lab", "repair", 0, 60, 600, "x")), "lab/repair 60-600 maintenance; ", "", 0, ""},
		"longer than the grant":  {labOf(x).with(booked("a", "r", 0, 60, 181, "x")), "", "", 0, "the grant of namespace a on TestBed x has the bed for at most 2h, and the reservation takes 2h1m: give an earlier until, or ask the bed's owner for a grant with maxDuration: 2h1m"},
		"no grant":               {labOf(x).with(booked("c", "r", 0, 60, 120, "x")), "", "", 0, "TestBed x does not allow namespace c: choose another, or ask the bed's owner to add this to spec.access: {names: [c], maxDuration: 1h}"},
		"no bed":                 {labOf(x).with(booked("a", "r", 0, 60, 120, "z", "x")), "a/r 60-120; ", "", 0, "there is no TestBed z: kubectl get testbeds lists them"},
		"before the span it was": {labOf(x).with(booked("a", "r", 0, -60, 0, "x")), "", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCalendar(tc.lab, day)
			if got := shape(c.Of["x"]); got != tc.x {
				t.Errorf("x: %s\nwant %s", got, tc.x)
			}
			if got := shape(c.Of["y"]); got != tc.y {
				t.Errorf("y: %s\nwant %s", got, tc.y)
			}
			claim := c.Claims[KeyOf(tc.lab.Reservations[len(tc.lab.Reservations)-1])]
			if len(claim.Lost) != tc.lost || claim.Problem != tc.problem {
				t.Errorf("lost %v, problem %q\nwant %d, %q", claim.Lost, claim.Problem, tc.lost, tc.problem)
			}
		})
	}
}

// A selector means the beds that allow the namespace, and only without any it is a problem.
func TestSelector(t *testing.T) {
	l := labOf(bed("x", nil, "a"), bed("y", nil, "b"))
	for namespace, want := range map[string]string{"a": "[x]", "b": "[y]", "lab": "[x y]", "c": "[]"} {
		r := booked(namespace, "r", 0, 60, 120)
		r.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "bed"}}
		claim := NewCalendar(l.with(r), day).Claims[KeyOf(r)]
		if got := fmt.Sprint(claim.Beds); got != want || (claim.Problem != "") != (want == "[]") {
			t.Errorf("%s gets %s, %q; want %s", namespace, got, claim.Problem, want)
		}
	}
}

// TestRules holds calendars of random labs to what they are for, minute by minute.
func TestRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		l := randomLab(rng)
		c := NewCalendar(l, day)
		for minute := range 200 {
			for name := range l.Beds {
				want := ownerOf(l, name, minute)
				got := ""
				for _, s := range c.Of[name] {
					if s.Contains(at(minute)) {
						if got != "" {
							t.Fatalf("seed %d: two have bed %s at %d: %s", seed, name, minute, shape(c.Of[name]))
						}
						got = s.Reservation.String() + " " + fmt.Sprint(s.Via == "")
					}
				}
				if got != want {
					t.Fatalf("seed %d: %q has bed %s at %d, and not %q: %s", seed, got, name, minute, want, shape(c.Of[name]))
				}
			}
		}
		// One that is removed takes nothing from any other.
		gone := rng.IntN(len(l.Reservations))
		less := NewCalendar(l.with(slices.Delete(slices.Clone(l.Reservations), gone, gone+1)...), day)
		for name := range l.Beds {
			for _, s := range c.Of[name] {
				if s.Via != "" || s.Reservation == KeyOf(l.Reservations[gone]) {
					continue
				}
				for at := s.From; at.Before(s.Until); at = at.Add(time.Minute) {
					if !slices.ContainsFunc(less.Of[name], func(o Slice) bool { return o.Contains(at) && o.Reservation == s.Reservation && o.Via == "" }) {
						t.Fatalf("seed %d: without %s, %s loses bed %s", seed, KeyOf(l.Reservations[gone]), s.Reservation, name)
					}
				}
			}
		}
	}
}

func randomLab(rng *rand.Rand) CalendarInput {
	var beds []*v1alpha1.TestBed
	for i := range 1 + rng.IntN(4) {
		beds = append(beds, bed(fmt.Sprintf("bed-%d", i), []string{fmt.Sprint("e", rng.IntN(4)), fmt.Sprint("e", rng.IntN(4))}, "a", "b"))
	}
	l := labOf(beds...)
	for i := range 1 + rng.IntN(6) {
		from := rng.IntN(150)
		r := booked([]string{"a", "b", "lab"}[rng.IntN(3)], fmt.Sprint("r", i), rng.IntN(3), from, from+1+rng.IntN(100))
		for _, b := range beds {
			if len(r.Spec.TestBedNames) == 0 || rng.IntN(2) == 0 {
				r.Spec.TestBedNames = append(r.Spec.TestBedNames, b.Name)
			}
		}
		l.Reservations = append(l.Reservations, r)
	}
	return l
}

// ownerOf returns the reservation that has a bed at a minute, and whether it reserves this
// bed. Of all reservations of the bed, or of a bed that shares an interface with it, that is
// the one that was created first.
func ownerOf(l CalendarInput, name string, minute int) string {
	interfaces := func(b *v1alpha1.TestBed) (all []string) {
		for _, p := range b.Spec.Ports {
			all = append(all, p.Attachment.HostDevice.Interface)
		}
		return all
	}
	for _, r := range slices.SortedFunc(slices.Values(l.Reservations), Compare) {
		if at(minute).Before(r.Spec.From.Time) || !at(minute).Before(r.Spec.Until.Time) {
			continue
		}
		if slices.Contains(r.Spec.TestBedNames, name) {
			return KeyOf(r).String() + " true"
		}
		for _, other := range r.Spec.TestBedNames {
			if slices.ContainsFunc(interfaces(l.Beds[other]), func(i string) bool { return slices.Contains(interfaces(l.Beds[name]), i) }) {
				return KeyOf(r).String() + " false"
			}
		}
	}
	return ""
}

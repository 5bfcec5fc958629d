package reservation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// pooled is a lab of beds of one pool that namespaces a and b may use, and of one more bed that
// only a may use.
func pooled(beds int) CalendarInput {
	l := labOf(bed("mine", []string{"m"}, "a"))
	l.Beds["mine"].Labels[v1alpha1.DefaultPoolLabel] = "p"
	for i := range beds {
		b := bed(fmt.Sprint("x", i), []string{fmt.Sprint("e", i)}, "a", "b")
		b.Labels[v1alpha1.DefaultPoolLabel] = "p"
		l.Beds[b.Name] = b
	}
	for _, name := range []string{"a", "b", "lab"} {
		l.Namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return l
}

// all reserves all beds by their label.
func all(r *v1alpha1.Reservation) *v1alpha1.Reservation {
	r.Spec.TestBedNames, r.Spec.TestBedSelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "bed"}}
	return r
}

// judged judges the last reservation of a lab for team a, without a LabPolicy or by one.
func judged(l CalendarInput, policy *v1alpha1.LabPolicy) (*field.Error, []string) {
	r := l.Reservations[len(l.Reservations)-1]
	teamOf := func(namespace string) team.Team { return team.OfName(policy, l.Namespaces, namespace) }
	own := func(namespace string) bool { return namespace == r.Namespace }
	s := NewShare(teamOf(r.Namespace), policy, l, own, func(namespace string) string { return teamOf(namespace).Name })
	c := NewCalendar(l, day)
	return s.Exceeded(r, c), s.Warnings(r, c)
}

func TestShareOfAPool(t *testing.T) {
	whole := &v1alpha1.LabPolicy{Spec: v1alpha1.LabPolicySpec{Others: v1alpha1.TeamShare{MaxReservedPoolPercent: 100}}}
	quarter := &v1alpha1.LabPolicy{Spec: v1alpha1.LabPolicySpec{Others: v1alpha1.TeamShare{MaxReservedPoolPercent: 25}}}
	both := pooled(2)
	both.Beds["x1"].Spec.Ports = both.Beds["x0"].Spec.Ports
	for name, tc := range map[string]struct {
		lab     CalendarInput
		policy  *v1alpha1.LabPolicy
		all     []*v1alpha1.Reservation
		problem string
		warning string
	}{
		"every bed": {lab: pooled(6), all: []*v1alpha1.Reservation{all(booked("a", "r", 0, 60, 120))},
			problem: `spec.testBedSelector: Invalid value: "kind=bed": at 2026-01-01T01:00:00Z the reservations of team namespace/a would keep 6 of the 6 beds of pool "p" that other teams may use (namespace/b), and may keep 3: reserve fewer beds`},
		"half": {lab: pooled(6), all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0", "x1", "x2", "mine")},
			warning: `from 2026-01-01T01:00:00Z until 2026-01-01T02:00:00Z the reservation keeps 3 of the 6 beds of pool "p" from other teams (namespace/b): their benchmarks that would not end before wait`},
		"half, and one more": {lab: pooled(6), all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0", "x1", "x2"), booked("a", "s", 1, 100, 200, "x3")},
			problem: `spec.testBedNames: Invalid value: ["x3"]: at 2026-01-01T01:40:00Z the reservations of team namespace/a would keep 4 of the 6 beds`},
		"half, and one more later":       {lab: pooled(6), all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0", "x1", "x2"), booked("a", "s", 1, 120, 200, "x3")}},
		"half, and another team":         {lab: pooled(6), all: []*v1alpha1.Reservation{booked("b", "r", 0, 60, 120, "x0", "x1", "x2"), booked("a", "s", 1, 60, 200, "x3")}},
		"one of one":                     {lab: pooled(1), all: []*v1alpha1.Reservation{all(booked("a", "r", 0, 60, 120))}},
		"two of two":                     {lab: pooled(2), all: []*v1alpha1.Reservation{all(booked("a", "r", 0, 60, 120))}, problem: "would keep 2 of the 2 beds"},
		"one that shares an interface":   {lab: both, all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0")}},
		"two that share their interface": {lab: both, all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0", "x1")}, problem: "would keep 2 of the 2 beds"},
		"every bed, as the lab allows":   {lab: pooled(6), policy: whole, all: []*v1alpha1.Reservation{all(booked("a", "r", 0, 60, 120))}, warning: "keeps 6 of the 6 beds"},
		"more than the lab allows":       {lab: pooled(6), policy: quarter, all: []*v1alpha1.Reservation{booked("a", "r", 0, 60, 120, "x0", "x1", "x2")}, problem: "may keep 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			problem, warnings := judged(tc.lab.with(tc.all...), tc.policy)
			if (problem != nil) != (tc.problem != "") || problem != nil && !strings.Contains(problem.Error(), tc.problem) {
				t.Fatalf("problem %v\nwant %s", problem, tc.problem)
			}
			if text := strings.Join(warnings, "\n"); problem == nil && ((text != "") != (tc.warning != "") || !strings.Contains(text, tc.warning)) {
				t.Errorf("warnings %s\nwant %s", text, tc.warning)
			}
		})
	}
}

func TestTooMany(t *testing.T) {
	l := labOf(bed("x", []string{"e"}, "a", "b"), bed("y", []string{"f"}, "a", "b"))
	r := booked("a", "new", 9, 60, 120, "x")
	for i := range 3 {
		l.Reservations = append(l.Reservations, booked("a", fmt.Sprint("r", i), 0, 200+10*i, 205+10*i, "x"))
	}
	l.Reservations = append(l.Reservations, booked("a", "ended", 0, -20, -10, "x"), booked("lab", "repair", 0, 300, 400, "x"), booked("b", "other", 0, 500, 600, "x"), r)
	c := NewCalendar(l, day)
	own := func(namespace string) bool { return namespace == "a" }
	judge := func(ofTeam, ofBed int32) *field.Error {
		policy := &v1alpha1.LabPolicy{Spec: v1alpha1.LabPolicySpec{MaxReservationsPerBed: ofBed}}
		return TooMany(team.Team{Name: "routing", TeamShare: v1alpha1.TeamShare{MaxReservations: ofTeam}}, policy, r, l, c, own, at(0))
	}
	if err := judge(4, 5); err != nil {
		t.Errorf("within the limits: %v", err)
	}
	if err := judge(0, 0); err != nil {
		t.Errorf("within the default limits: %v", err)
	}
	for want, err := range map[string]*field.Error{
		"metadata.namespace: Forbidden: team routing of namespace a has 3 reservations that have not ended, and may have 3: ":       judge(3, 5),
		`spec.testBedNames: Invalid value: ["x"]: bed x has 4 reservations that have not ended, and may have 4: choose another bed`: judge(4, 4),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestHoldsNothing(t *testing.T) {
	x, y := bed("x", []string{"e"}, "a", "b"), bed("y", []string{"f"}, "a", "b")
	old := booked("a", "old", 0, 60, 120, "x")
	for name, tc := range map[string]struct {
		r    *v1alpha1.Reservation
		want string
	}{
		"all of its time": {booked("b", "new", 1, 60, 120, "x"), "the reservation would hold no bed at any of its times: reservation a/old has bed x from 2026-01-01T01:00:00Z until 2026-01-01T02:00:00Z; choose another time or bed"},
		"a minute":        {booked("b", "new", 1, 60, 121, "x"), ""},
		"another bed":     {booked("b", "new", 1, 60, 120, "x", "y"), ""},
		"no time":         {booked("b", "new", 1, -60, 0, "x"), "the reservation has no time within 180 days from now on"},
	} {
		t.Run(name, func(t *testing.T) {
			err := HoldsNothing(tc.r, NewCalendar(labOf(x, y).with(old, tc.r), day), at(0))
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

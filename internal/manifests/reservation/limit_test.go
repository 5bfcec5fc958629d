package reservation

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// hours from an instant on.
func hours(from, until int) Span {
	origin := time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC)
	return Span{From: origin.Add(time.Duration(from) * time.Hour), Until: origin.Add(time.Duration(until) * time.Hour)}
}

// TestFullestWeek compares with a week that moves hour by hour.
func TestFullestWeek(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []Span
		for range 1 + random.IntN(20) {
			from := random.IntN(1000)
			all = append(all, hours(from, from+1+random.IntN(60)))
		}
		added := all[:1+random.IntN(len(all))]
		want := time.Duration(0)
		for h := -200; h < 1100; h++ {
			week := hours(h, h+168)
			used, touched := time.Duration(0), false
			for _, s := range all {
				if s.Overlaps(week) {
					used += earlier(s.Until, week.Until).Sub(later(s.From, week.From))
				}
			}
			for _, s := range added {
				touched = touched || (!s.From.After(week.Until) && !s.Until.Before(week.From))
			}
			if touched {
				want = max(want, used)
			}
		}
		from, got := fullestWeek(all, added)
		if got != want {
			t.Fatalf("%v: the fullest week begins at %s with %s, want %s", all, from, got, want)
		}
	}
}

func TestBeyond(t *testing.T) {
	r := &v1alpha1.Reservation{}
	r.Namespace, r.Name = "a", "new"
	c := Calendar{Of: map[string][]Slice{
		"bed":   {{Span: hours(0, 50), Reservation: types.NamespacedName{Namespace: "a", Name: "new"}}, {Span: hours(50, 90), Reservation: types.NamespacedName{Namespace: "b", Name: "old"}}},
		"other": {{Span: hours(0, 50), Reservation: types.NamespacedName{Namespace: "a", Name: "new"}, Via: "bed"}, {Span: hours(60, 90), Reservation: types.NamespacedName{Namespace: "c", Name: "foreign"}}},
	}}
	own := func(namespace string) bool { return namespace != "c" }
	limited := func(hours int32) team.Team {
		return team.Team{Name: "routing", TeamShare: v1alpha1.TeamShare{MaxReservedBedHoursPerWeek: hours}}
	}
	for _, enough := range []int32{0, 90, 91} {
		if err := Beyond(limited(enough), r, c, own); err != nil {
			t.Errorf("limit %d: %v", enough, err)
		}
	}
	err := Beyond(limited(89), r, c, own)
	const want = "team routing would have beds reserved for 90h within 168h from 2027-01-04T00:00:00Z on, and may for 89h: give an earlier until or fewer beds"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("limit 89: %v, want %s", err, want)
	}
}

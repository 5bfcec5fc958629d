package reservation

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

var quarter = Span{From: at(0), Until: at(0).Add(Horizon)}

// crowded is a lab of beds that are all reserved by daily reservations: the i-th begins i times
// apart minutes after midnight, and takes length minutes.
func crowded(beds, reservations, apart, length int) CalendarInput {
	var all []*v1alpha1.TestBed
	for i := range beds {
		all = append(all, bed(fmt.Sprintf("bed-%02d", i), []string{fmt.Sprint("e", i)}, "a", "b"))
	}
	l := labOf(all...)
	for i := range reservations {
		l.Reservations = append(l.Reservations, daily(i, i*apart, length))
	}
	return l
}

// daily reserves all beds every day, from a minute of the day on; it was created at a minute.
func daily(created, minute, length int, beds ...string) *v1alpha1.Reservation {
	r := booked("a", fmt.Sprintf("r%03d", created), created, minute, minute+length, beds...)
	if len(beds) == 0 {
		r.Spec.TestBedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "bed"}}
	}
	r.Spec.Recurrence = &v1alpha1.Recurrence{Rule: "FREQ=DAILY"}
	return r
}

// BenchmarkCalendar computes the calendar of 200 daily reservations of 64 beds.
func BenchmarkCalendar(b *testing.B) {
	for name, l := range map[string]CalendarInput{
		"same": crowded(64, 200, 0, 60), "apart": crowded(64, 200, 7, 7), "overlapping": crowded(64, 200, 5, 110), "different": different(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewCalendar(l, quarter)
			}
		})
		b.Run(name+", one more", func(b *testing.B) {
			var book Book
			book.Calendar(l, quarter)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				more := []*v1alpha1.Reservation{daily(1000+i, 60, 60, "bed-07")}
				book.Calendar(l.with(slices.Concat(l.Reservations, more)...), quarter)
			}
		})
	}
}

// different is a lab in which each bed has other reservations than all others.
func different() CalendarInput {
	l := crowded(64, 200, 5, 110)
	for i, r := range l.Reservations {
		r.Spec.TestBedSelector = nil
		for b := range 64 {
			if b != i%64 {
				r.Spec.TestBedNames = append(r.Spec.TestBedNames, fmt.Sprintf("bed-%02d", b))
			}
		}
	}
	return l
}

// allocated returns the bytes that a call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Twice as many reservations that overlap cost twice as much, not four times, and eight times as
// many beds with the same reservations cost hardly more.
func TestCostOfManyReservations(t *testing.T) {
	cost := func(beds, reservations int) float64 {
		l := crowded(beds, reservations, 5, 110)
		return float64(allocated(func() { NewCalendar(l, quarter) }))
	}
	one := cost(8, 40)
	if two := cost(8, 80); two > 2.5*one {
		t.Errorf("80 reservations allocate %.0f bytes, %.1f times as much as 40", two, two/one)
	}
	if more := cost(64, 40); more > 3*one {
		t.Errorf("64 beds allocate %.0f bytes, %.1f times as much as 8", more, more/one)
	}
}

// A claim lists three losses, and counts all.
func TestLossesAreFew(t *testing.T) {
	l := crowded(4, 20, 0, 60)
	claim := NewCalendar(l, quarter).Claims[KeyOf(l.Reservations[19])]
	if len(claim.Lost) != MaxLosses || claim.LostTimes != 4*90 {
		t.Errorf("%d losses listed of %d, want %d of 360", len(claim.Lost), claim.LostTimes, MaxLosses)
	}
	if want := (Loss{Span: Span{at(0), at(60)}, Bed: "bed-00", To: KeyOf(l.Reservations[0])}); claim.Lost[0] != want {
		t.Errorf("the first loss is %s, want %s", claim.Lost[0], want)
	}
}

// A calendar costs what changed since the last one.
func TestBookPlacesWhatChanged(t *testing.T) {
	l := crowded(64, 20, 5, 110)
	var book Book
	placed := func(l CalendarInput, in Span) int {
		before := book.placed
		book.Calendar(l, in)
		return book.placed - before
	}
	if n := placed(l, quarter); n < 20*90 || n > 20*92 {
		t.Errorf("64 beds with the same reservations: %d occurrences were placed, want about 20 times 91", n)
	}
	if n := placed(l, quarter); n != 0 {
		t.Errorf("%d occurrences were placed again, though nothing changed", n)
	}
	if n := placed(l, Span{quarter.From.Add(23 * time.Hour), quarter.Until.Add(23 * time.Hour)}); n != 0 {
		t.Errorf("%d occurrences were placed again after 23 hours", n)
	}
	l.Reservations = append(l.Reservations, daily(50, 60, 60, "bed-07"))
	if n := placed(l, quarter); n < 21*90 || n > 21*92 {
		t.Errorf("%d occurrences were placed after one more reservation of a bed, want about 21 times 91", n)
	}
}

// TestBookIsACalendar changes random labs, and compares each calendar with a new one.
func TestBookIsACalendar(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := randomLab(rng)
		var book Book
		for step := range 12 {
			others := randomLab(rng)
			switch rng.IntN(4) {
			case 0:
				l.Reservations = slices.Concat(l.Reservations, others.Reservations[:1])
				l.Reservations[len(l.Reservations)-1].Name = fmt.Sprint("more", step)
			case 1:
				l.Reservations = slices.Clone(l.Reservations[rng.IntN(len(l.Reservations)):])
			case 2:
				l.Beds = others.Beds
				for _, b := range l.Beds {
					b.Generation = int64(step)
				}
			}
			in := Span{From: at(step * 10), Until: at(1440 + step*10)}
			got, want := book.Calendar(l, in), NewCalendar(l, in)
			for name := range l.Beds {
				if g, w := shape(clipped(got.Of[name], in)), shape(clipped(want.Of[name], in)); g != w {
					t.Fatalf("seed %d, step %d: %s: %s\nwant %s", seed, step, name, g, w)
				}
			}
			for key, w := range want.Claims {
				if g := got.Claims[key]; g == nil || fmt.Sprint(g.Beds, g.Problem, g.Occurrences, g.LostTimes) != fmt.Sprint(w.Beds, w.Problem, w.Occurrences, w.LostTimes) {
					t.Fatalf("seed %d, step %d: %s: %+v\nwant %+v", seed, step, key, g, w)
				}
			}
		}
	}
}

// clipped are the parts of slices from the begin of a span on.
func clipped(all []Slice, in Span) []Slice {
	all = slices.Clone(all)
	for i := range all {
		all[i].From = later(all[i].From, in.From)
	}
	return all
}

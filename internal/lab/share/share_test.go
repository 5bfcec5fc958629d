package share

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func TestDivide(t *testing.T) {
	for _, test := range []struct {
		name   string
		beds   float64
		claims []Claim
		want   []float64
	}{
		{"equal weights", 6, []Claim{{1, 9}, {1, 9}}, []float64{3, 3}},
		{"by weight", 6, []Claim{{2, 9}, {1, 9}}, []float64{4, 2}},
		{"what one leaves goes to the others by weight", 9, []Claim{{1, 1}, {3, 9}, {1, 9}}, []float64{1, 6, 2}},
		{"more than all want", 9, []Claim{{1, 2}, {5, 3}}, []float64{2, 3}},
		{"nothing wanted", 9, []Claim{{1, 0}}, []float64{0}},
		{"no beds", 0, []Claim{{1, 4}}, []float64{0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, got := range Divide(test.beds, test.claims) {
				if math.Abs(got-test.want[i]) > 1e-9 {
					t.Errorf("claim %d gets %v beds, want %v", i, got, test.want[i])
				}
			}
		})
	}
}

// TestDivideIsMaxMinFair checks the definition: a team that gets less than it wants has
// at least as much for its weight as every other one.
func TestDivideIsMaxMinFair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		claims := make([]Claim, 1+r.IntN(8))
		for i := range claims {
			claims[i] = Claim{Weight: 0.5 + 4*r.Float64(), Wants: float64(r.IntN(12))}
		}
		beds := float64(r.IntN(30))
		due := Divide(beds, claims)
		given, wanted := 0.0, 0.0
		for i, c := range claims {
			given += due[i]
			wanted += c.Wants
			if due[i] > c.Wants+1e-9 {
				t.Fatalf("claim %+v gets %v", c, due[i])
			}
			if due[i] > c.Wants-1e-9 {
				continue
			}
			for j, other := range claims {
				if due[j]/other.Weight > due[i]/c.Weight+1e-9 {
					t.Fatalf("claim %+v gets %v, and %+v gets %v", c, due[i], other, due[j])
				}
			}
		}
		if math.Abs(given-min(beds, wanted)) > 1e-6 {
			t.Fatalf("%v of %v beds are given, and %v are wanted", given, beds, wanted)
		}
	}
}

func TestBook(t *testing.T) {
	a, b := Account{"a", "p"}, Account{"b", "p"}
	book := NewBook(6 * time.Hour)
	beds := map[string]int{"p": 10}
	// Only team a wants beds: it borrows all of them, and they are due to it.
	book.Advance(start, State{Loads: map[Account]Load{a: {Running: 10, Wants: 20}}, Beds: beds})
	book.Advance(start.Add(5*time.Hour), State{Loads: map[Account]Load{a: {Running: 10, Wants: 20}, b: {Wants: 20}}, Beds: beds})
	if got := book.Use(a); got.Behind() != 0 || got.Had != 50*time.Hour {
		t.Errorf("team a: %+v, want 50h and nothing behind", got)
	}
	// Then both want all, and a has them for half an hour more.
	book.Advance(start.Add(5*time.Hour+30*time.Minute), State{Loads: map[Account]Load{a: {Running: 5, Wants: 20}, b: {Running: 5, Wants: 20}}, Beds: beds})
	if got := book.Use(b).Behind(); got != 150*time.Minute {
		t.Errorf("team b is %s behind, want 2h30m", got)
	}
	if got := book.Use(a).Behind(); got != -150*time.Minute {
		t.Errorf("team a is %s behind, want -2h30m", got)
	}
	// The window forgets.
	book.Advance(start.Add(12*time.Hour), State{})
	if got := book.Use(b).Behind(); got != 0 {
		t.Errorf("after the window team b is %s behind", got)
	}
	book.Advance(start.Add(20*time.Hour), State{})
	if got := book.Accounts(); len(got) != 0 {
		t.Errorf("accounts %v are kept", got)
	}
}

func TestBookWeights(t *testing.T) {
	a, b := Account{"a", "p"}, Account{"b", "p"}
	book := NewBook(time.Hour)
	s := State{Loads: map[Account]Load{a: {Running: 1, Wants: 9}, b: {Running: 3, Wants: 9}}, Beds: map[string]int{"p": 4}, Weights: map[string]float64{"a": 3}}
	book.Advance(start, s)
	book.Advance(start.Add(30*time.Minute), s)
	if got := book.Use(a); got.Due != 90*time.Minute || got.Had != 30*time.Minute {
		t.Errorf("team a: %+v, want 1h30m due and 30m had", got)
	}
	if got := book.Use(b); got.Due != 30*time.Minute || got.Had != 90*time.Minute {
		t.Errorf("team b: %+v, want 30m due and 1h30m had", got)
	}
}

// A book that takes over what another one has forgets it over the window, and its clone goes its own way.
func TestCarry(t *testing.T) {
	a := Account{"a", "p"}
	book := NewBook(6 * time.Hour)
	book.Carry(a, Use{Due: 12 * time.Hour, Had: 6 * time.Hour}, start)
	near := func(b *Book, due, had time.Duration) {
		t.Helper()
		if got := b.Use(a); (got.Due-due).Abs() > 20*time.Minute || (got.Had-had).Abs() > 20*time.Minute {
			t.Errorf("%+v, want %s due and %s had", got, due, had)
		}
	}
	near(book, 12*time.Hour, 6*time.Hour)
	book.AddUp(start)
	clone := book.Clone()
	clone.AddUp(start.Add(3 * time.Hour))
	near(clone, 6*time.Hour, 3*time.Hour)
	near(book, 12*time.Hour, 6*time.Hour)
}

package labpage

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCompareNaturally(t *testing.T) {
	want := []string{"", "0", "00", "1", "2", "10", "a", "a-1", "a-1-b", "a-2", "a-2-a", "a-02-x", "a-10", "a1b2", "a1b10", "a10", "ab", "load", "load-02", "load-2", "load-3", "load-18446744073709551616", "load-18446744073709551617", "load-a", "loads"}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, compareNaturally)
	for i, a := range got {
		for j, b := range got {
			if c := compareNaturally(a, b); (c < 0) != (i < j) || (c == 0) != (i == j) {
				t.Errorf("%q and %q: got %d, and they are at %d and %d of %q", a, b, c, i, j, got)
			}
		}
	}
	for i, name := range want {
		if got[i] != name {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

package notifications

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Benchmarks wait for a sink in the order in which they came, and are woken one after the other; sinks
// of one team leave workers to others.
func TestLines(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	of := func(team string, n int) types.NamespacedName {
		return types.NamespacedName{Namespace: team, Name: fmt.Sprint(n)}
	}
	l := NewLines()
	var woken []types.NamespacedName
	l.wake = func(who types.NamespacedName) { woken = append(woken, who) }
	expect := func(want ...types.NamespacedName) {
		t.Helper()
		if !slices.Equal(woken, want) {
			t.Errorf("woken are %v, want %v", woken, want)
		}
		woken = nil
	}
	enter := func(sink types.UID, who types.NamespacedName, may bool, wait time.Duration) func(time.Time) {
		t.Helper()
		release, got := l.enter(sink, who, now)
		if (release != nil) != may || got != wait {
			t.Errorf("%v may send: %v, and waits for %v; want %v and %v", who, release != nil, got, may, wait)
		}
		return release
	}
	first := enter("s1", of("a", 1), true, 0)
	enter("s1", of("a", 2), false, 0)
	enter("s1", of("a", 3), false, 0)
	second := enter("s2", of("a", 4), true, 0)
	enter("s3", of("a", 5), false, 0) // The team sends two.
	other := enter("s4", of("b", 1), true, 0)
	other(time.Time{})
	expect()

	second(time.Time{})
	expect(of("a", 5))
	enter("s3", of("a", 5), true, 0)(time.Time{})
	expect()
	first(now.Add(time.Minute))
	expect(of("a", 2))
	enter("s1", of("a", 3), false, 0) // Another one comes first.
	enter("s1", of("a", 2), false, time.Minute)
	l.leave(of("a", 2), map[types.UID]bool{"s1": true})
	expect()
	l.leave(of("a", 2), nil) // It was deleted.
	expect(of("a", 3))
	now = now.Add(time.Minute)
	enter("s1", of("a", 3), true, 0)(time.Time{})
	if len(l.waiting)+len(l.busy)+len(l.sending)+len(l.rest) > 0 {
		t.Errorf("left is %+v", l)
	}
}

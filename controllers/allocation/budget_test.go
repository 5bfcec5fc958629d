package allocation

import (
	"testing"
	"time"
)

// TestMessagesGiveWayToLeases counts the first messages that a lab may write next to leases.
func TestMessagesGiveWayToLeases(t *testing.T) {
	const seconds, step = 100, 10 * time.Millisecond
	for _, c := range []struct {
		leases      int // per second
		least, most int
	}{
		{leases: 0, least: 2000, most: 2040},
		{leases: 2, least: 1200, most: 1350},
		{leases: 10, least: 90, most: 145}, // Those at first, and one per second.
	} {
		b, now, messages := newBudget(), time.Unix(0, 0), 0
		for i := range int(seconds * time.Second / step) {
			if i%(int(time.Second/step)/max(c.leases, 1)) == 0 && c.leases > 0 {
				b.lease(now)
			}
			if b.hasPlain(now) {
				b.takePlain(now)
				messages++
			}
			now = now.Add(step)
		}
		if messages < c.least || messages > c.most {
			t.Errorf("%d messages next to %d leases per second, want %d to %d", messages, c.leases, c.least, c.most)
		}
		// What is owed for leases is soon made up for.
		if now = now.Add(2100 * time.Millisecond); b.spare.TokensAt(now) < 1 {
			t.Errorf("%.1f messages are owed after %d leases per second", -b.spare.TokensAt(now), c.leases)
		}
	}
}

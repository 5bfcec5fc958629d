package queue

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/lab/share"
)

// TestForecastLearnsAWork lets two equal teams use four beds. It is not known how long the work of team a takes until its first entry
// ends: until then the operator charges the team for the whole horizon, then for as long as the others.
func TestForecastLearnsAWork(t *testing.T) {
	s := Snapshot{Beds: map[string]Bed{}, Now: start.Add(time.Hour)}
	o := Outlook{
		Ends: map[string]End{}, Most: 100, Sharing: &Sharing{Book: share.NewBook(6 * time.Hour)},
		Lasts: func(*Entry, string) time.Duration { return 10 * time.Second },
	}
	expected, work := map[string]time.Duration{"b": 10 * time.Second}, map[string]string{"a": "new"}
	var beds []string
	for i, team := range []string{"a", "a", "b", "b"} {
		name := fmt.Sprint("bed-", i)
		beds = append(beds, name)
		s.Beds[name] = Bed{Name: name, Open: true, Leased: true}
		run := Run{Account: share.Account{Team: team}, Since: s.Now, Expected: expected[team], Work: work[team]}
		o.Ends[name] = End{At: s.Now.Add(10*time.Second + time.Duration(i)*time.Second), Run: run}
	}
	q := New()
	for i := range 8 {
		for _, team := range []string{"a", "b"} {
			e := Entry{
				Key: Key{team, fmt.Sprint(i)}, Team: team, Created: start.Add(time.Duration(i) * time.Second), Beds: beds,
				Expected: expected[team], Work: work[team],
			}
			q.Set(e)
		}
	}
	starts := q.Forecast(s, o)
	for i := range 8 {
		for _, team := range []string{"a", "b"} {
			// Each team gets two of the four beds that are returned within 3 s.
			want := time.Duration(10*(1+i/2)) * time.Second
			if got := starts[Key{team, fmt.Sprint(i)}].At.Sub(s.Now); got < want || got > want+3*time.Second {
				t.Errorf("%s/%d is expected to start after %s, want %s to %s", team, i, got, want, want+3*time.Second)
			}
		}
	}
}

package allocation

import (
	"time"

	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/lab/share"
)

// forecasts is the maximum number of benchmarks for which a start is estimated: those that
// come first.
const forecasts = 500

// forecast returns when waiting benchmarks are expected to get a bed, for those that come first.
func (v *view) forecast(s queue.Snapshot) map[queue.Key]queue.Start {
	due := map[share.Account]float64{}
	if sharing := v.shares.sharing; sharing != nil {
		for _, account := range sharing.Book.Accounts() {
			due[account] = sharing.Book.Entitled(account)
		}
	}
	return v.line.queue.Forecast(s, v.ends(s.Now), due, forecasts)
}

// ends returns the times at which the beds are expected to be returned.
func (v *view) ends(now time.Time) map[string]queue.End {
	ends := map[string]queue.End{}
	for name, seen := range v.inventory.beds {
		w := v.inventory.benchmarks[seen.holder()]
		if w == nil {
			continue
		}
		expected, since := v.past.expected(w), now
		if l := seen.bed.Status.Lease; l != nil {
			since = l.AcquireTime.Time
		}
		if expected == 0 {
			continue
		}
		end := queue.End{At: since.Add(expected)}
		if overdue := now.Sub(end.At); overdue >= 0 {
			// It takes longer than it did before: as long again as it is late, and a minute.
			end.At = now.Add(overdue + time.Minute)
		}
		for _, l := range v.teams.limits(seen.bed, w.b) {
			end.Keys = append(end.Keys, l.Key)
		}
		ends[name] = end
	}
	return ends
}

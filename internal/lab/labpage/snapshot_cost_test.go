package labpage

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/controllers/allocation"
)

// BenchmarkSnapshot takes snapshots of a lab of 1,000 beds and 15,000 benchmarks that wait, one after the other, and reports the processor time
// of each, in which the collection of garbage is included.
func BenchmarkSnapshot(b *testing.B) {
	c := fakeCaches{lists: largeLists(largeLab())}
	now := noon
	clock := func() time.Time { return now }
	l := snapshots{reader: c, now: clock, wait: allocation.WaitingFrom(c, allocation.LineupInput{}, clock)}
	take := func() {
		now = now.Add(time.Minute)
		if _, err := l.make(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	take()
	before := processorTime(b)
	for b.Loop() {
		take()
	}
	b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

package labpage

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/allocation"
)

// TestSnapshotCost checks that a snapshot of a lab with four times the beds and benchmarks costs about four times the allocations, with
// the expected starts of benchmarks, whose number is bounded.
func TestSnapshotCost(t *testing.T) {
	cost := func(times int) float64 {
		beds, benchmarks := labOf(50*times, 600*times, 200*times)
		c := fakeCaches{lists: largeLists(beds, benchmarks)}
		now := func() time.Time { return noon }
		l := snapshots{reader: c, now: now, wait: allocation.WaitingFrom(c, allocation.LineupInput{}, now)}
		return testing.AllocsPerRun(1, func() {
			s, err := l.make(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			expected := 0
			for _, w := range s.waits {
				if !w.Start.IsZero() {
					expected++
				}
			}
			if len(s.waiting) != 600*times || expected < 300 {
				t.Fatalf("%d of %d benchmarks that wait have an expected start", expected, len(s.waiting))
			}
		})
	}
	if small, large := cost(1), cost(4); large > 6*small {
		t.Errorf("%.0f allocations for a snapshot of a lab of 50 beds, and %.0f for one of 200", small, large)
	}
}

// TestTableOfHugeLab checks that the table of more beds than fit on it names what it leaves out, also on paper.
func TestTableOfHugeLab(t *testing.T) {
	beds, _ := labOf(tableSize+3, 0, 0)
	c := fakeCaches{lists: map[reflect.Type]client.ObjectList{reflect.TypeFor[*v1alpha1.TestBedList](): &v1alpha1.TestBedList{Items: beds}}}
	now := func() time.Time { return noon }
	p := New(Options{Reader: c, Results: c, Access: fakeAccess("*"), Now: now, Log: logr.Discard(), Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, now)})
	for path, want := range map[string]struct {
		rows  int
		texts []string
	}{
		"/table":             {tableSize, []string{"Beds 1 to 2,000 of 2,003, by name,", "leaves out the other 3:", `<a rel="next" href="?page=2">`}},
		"/table?page=2":      {3, []string{"Beds 2,001 to 2,003 of 2,003, by name,", "leaves out the other 2,000:", `<a rel="prev" href="?">`}},
		"/table?bed=bed-200": {4, []string{"4 beds at"}},
	} {
		status, text, _ := get(t, p, path)
		if rows := strings.Count(text, `<th role="rowheader"`); status != 200 || rows != want.rows {
			t.Errorf("%s: status %d, %d rows, want %d", path, status, rows, want.rows)
		}
		for _, part := range want.texts {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not have %q", path, part)
			}
		}
		if len(want.texts) == 1 && strings.Contains(text, "leaves out") {
			t.Errorf("%s leaves nothing out, and contains the sentence", path)
		}
	}
}

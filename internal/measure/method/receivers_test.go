package method

import (
	"context"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// losingAtEach is a fake generator with an ideal device, which loses a share of the frames at
// each receiver.
type losingAtEach struct {
	*sim.Engine
	ppm uint64
}

func (l losingAtEach) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := l.Engine.Read(ctx)
	for key, rx := range m.Rx {
		rx.Received -= rx.Received * l.ppm / 1_000_000
		m.Rx[key] = rx
	}
	return m, err
}

func (l losingAtEach) rows(t *testing.T, test v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p := fanOut(t, 4, test)
	l.Engine = simulate(t, ideal, p)
	tester := open(t, l, p, nil)
	var rows []v1alpha1.ResultRow
	for _, step := range p.Steps {
		row := rowOf(p, mustRun(t, tester, step))
		Done(tester, row)
		rows = append(rows, row)
	}
	return rows
}

// The loss ratio of frames with several receivers is that of all that should have arrived.
func TestLossRatioOfSeveralReceivers(t *testing.T) {
	goals := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
		Search: v1alpha1.SearchMLRsearch, LossRatios: []v1alpha1.LossRatio{"0%", "0.5%"},
	}}
	for ppm, want := range map[uint64]int64{2000: v1alpha1.PPM, 6000: 0} {
		rows := losingAtEach{ppm: ppm}.rows(t, goals)
		pdr := rows[len(rows)-1]
		if pdr.Method != v1alpha1.MethodPartialDropRate {
			t.Fatalf("the last row is %s", pdr.Method)
		}
		if got := pdr.Frames.LineRatePPM; got != want {
			t.Errorf("each of three receivers loses %d ppm: the rate with 5000 ppm of loss is %d ppm of line rate, want %d: %s", ppm, got, want, pdr.Message)
		}
	}
	overload := v1alpha1.Test{Name: "overload", ForwardingRate: &v1alpha1.ForwardingRateTest{}}
	for _, ppm := range []uint64{2000, 600_000, 1_000_000} {
		row := losingAtEach{ppm: ppm}.rows(t, overload)[0]
		if got := *row.Frames.LossPPM; got < int64(ppm)-1 || got > int64(ppm)+1 {
			t.Errorf("each of three receivers loses %d ppm: the row has %d ppm", ppm, got)
		}
	}
}

// A share never rounds to nothing or to all.
func TestShareIsNeverRoundedToAll(t *testing.T) {
	for _, test := range []struct {
		part, whole uint64
		want        int64
	}{
		{0, 10, 0}, {10, 10, v1alpha1.PPM}, {9_999_999, 10_000_000, v1alpha1.PPM - 1}, {1, 10_000_000, 1}, {1, 3, 333_333}, {0, 0, 0},
	} {
		if got := trials.SharePPM(test.part, test.whole); got != test.want {
			t.Errorf("%d of %d: %d ppm, want %d", test.part, test.whole, got, test.want)
		}
	}
}

package tcpmodel

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// figures are one column of a table: a value for each number of servers, from 1.
type figures []float64

// table has the columns of one switch.
type table struct {
	goodput, drops, retransmissions, completion figures
}

// readPublished returns the columns of a switch.
func readPublished(t *testing.T, name string) table {
	t.Helper()
	f, err := os.Open("testdata/incast_8mb_9000mtu.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(suffix string) (all figures) {
		i := slices.Index(rows[0], name+suffix)
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		return all
	}
	return table{column("_goodput_mbps"), column("_dropped_packets"), column("_tcp_retransmissions"), column("_completion_ms")}
}

// simulate returns the same columns by the model.
func simulate(t *testing.T, s Switch, rows int) (all table) {
	t.Helper()
	for n := 1; n <= rows; n++ {
		p := Defaults()
		p.Switch, p.Servers, p.BlockBytes, p.MTUBytes, p.Iterations = s, n, 8_000_000, 9000, 40
		r := run(t, p)
		all.goodput = append(all.goodput, r.GoodputMbps)
		all.drops = append(all.drops, r.DroppedPackets)
		all.retransmissions = append(all.retransmissions, r.Retransmissions)
		all.completion = append(all.completion, float64(r.MeanCompletion)/float64(time.Millisecond))
	}
	return all
}

// ranks returns the rank of each value; equal values have the mean of their ranks.
func ranks(v figures) figures {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	r := make(figures, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			r[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return r
}

// spearman returns the rank correlation of two columns.
func spearman(a, b figures) float64 {
	x, y := ranks(a), ranks(b)
	mean := float64(len(x)-1) / 2
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mean) * (y[i] - mean)
		xx += (x[i] - mean) * (x[i] - mean)
		yy += (y[i] - mean) * (y[i] - mean)
	}
	return xy / math.Sqrt(xx*yy)
}

// medianError returns the median of the relative errors of values that are not 0.
func medianError(got, want figures) float64 {
	var errors figures
	for i := range want {
		if want[i] != 0 {
			errors = append(errors, math.Abs(got[i]/want[i]-1))
		}
	}
	return median(errors)
}

func median(v figures) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[len(sorted)/2]
}

func below(v figures, limit float64) int {
	return slices.IndexFunc(v, func(x float64) bool { return x < limit }) + 1
}

// TestPublishedTable simulates 40 iterations for each number of servers, where the table has 1,000. It holds the model to the shape of the published table of two switches.
func TestPublishedTable(t *testing.T) {
	type bounds struct{ goodputRank, rank, goodput, completion, drops float64 }
	got, want := map[string]table{}, map[string]table{}
	for name, c := range map[string]struct {
		device Switch
		bounds bounds
	}{
		"arista7124s": {Arista7124S(), bounds{0.3, 0.95, 0.18, 0.18, 0.2}},
		"nexus5010":   {Nexus5010(), bounds{0.25, 0.9, 0.15, 0.15, 0.15}},
	} {
		w := readPublished(t, name)
		g := simulate(t, c.device, len(w.goodput))
		got[name], want[name] = g, w
		for i := range w.goodput {
			t.Logf("%s %2d servers: %5.0f (%5.0f) Mbit/s, %6.1f (%6.1f) drops, %6.1f (%6.1f) ms", name, i+1, g.goodput[i], w.goodput[i], g.drops[i], w.drops[i], g.completion[i], w.completion[i])
		}
		if e := math.Abs(g.goodput[0]/w.goodput[0] - 1); e > 0.03 {
			t.Errorf("%s: goodput of one server is wrong by %.3f", name, e)
		}
		for _, r := range []struct {
			name        string
			got, want   figures
			rank, error float64
		}{
			{"goodput", g.goodput, w.goodput, c.bounds.goodputRank, c.bounds.goodput},
			{"drops", g.drops, w.drops, c.bounds.rank, c.bounds.drops},
			{"retransmissions", g.retransmissions, w.retransmissions, c.bounds.rank, c.bounds.drops},
			{"completion", g.completion, w.completion, c.bounds.rank, c.bounds.completion},
		} {
			rank, err := spearman(r.got, r.want), medianError(r.got, r.want)
			t.Logf("%s %s: rank correlation %.2f, median error %.2f", name, r.name, rank, err)
			if rank < r.rank {
				t.Errorf("%s: rank correlation of %s %.2f, want at least %.2f", name, r.name, rank, r.rank)
			}
			if err > r.error {
				t.Errorf("%s: median error of %s %.2f, want at most %.2f", name, r.name, err, r.error)
			}
		}
	}
	falling := spearman(got["arista7124s"].goodput[:8], want["arista7124s"].goodput[:8])
	t.Logf("rank correlation of the collapse of arista7124s %.2f", falling)
	if falling < 0.9 {
		t.Errorf("arista7124s, 1 to 8 servers: rank correlation of goodput %.2f", falling)
	}
	// The small buffer collapses below a third at the same number of servers, and the large one never does.
	limit := want["arista7124s"].goodput[0] / 3
	a, b := below(got["arista7124s"].goodput, limit), below(want["arista7124s"].goodput, limit)
	t.Logf("collapse at %d (%d) servers", a, b)
	if a == 0 || a < b-1 || a > b+1 {
		t.Errorf("arista7124s is below %.0f Mbit/s from %d servers, published %d", limit, a, b)
	}
	if n := below(got["nexus5010"].goodput, limit); n != 0 {
		t.Errorf("nexus5010 is below %.0f Mbit/s at %d servers", limit, n)
	}
	var ratios, published figures
	for i := range want["arista7124s"].goodput {
		ratios = append(ratios, got["nexus5010"].goodput[i]/got["arista7124s"].goodput[i])
		published = append(published, want["nexus5010"].goodput[i]/want["arista7124s"].goodput[i])
	}
	between, wanted := median(ratios[3:]), median(published[3:])
	t.Logf("median of the ratio between the switches from 4 servers on %.2f, published %.2f", between, wanted)
	if math.Abs(between/wanted-1) > 0.25 {
		t.Errorf("median of the ratio between the switches from 4 servers on %.2f, published %.2f", between, wanted)
	}
	for i := 3; i < len(ratios); i++ {
		if ratios[i] < 1.2 {
			t.Errorf("%d servers: the goodput of nexus5010 is %.2f times that of arista7124s, published %.2f", i+1, ratios[i], published[i])
		}
	}
}

// TestMeasuredSmallBuffer compares with a measurement: Linux with Reno and RACK, a token bucket filter of 500 Mbit/s with a
// limit of 32 kB, blocks of 1 MiB, 1 to 32 servers.
func TestMeasuredSmallBuffer(t *testing.T) {
	measured := figures{476, 327, 252, 89, 73, 55}
	const measuredTimeouts = 52 // with 32 servers
	var got figures
	var timeouts float64
	for i := range measured {
		p := recentHosts()
		p.LinkMbps, p.Switch.BufferBytes, p.Servers, p.Iterations = 500, 32_000, 1<<i, 20
		p.TCP.RACK = true
		r := run(t, p)
		t.Logf("%d servers: %.0f (%.0f) Mbit/s, %.1f timeouts", p.Servers, r.GoodputMbps, measured[i], r.Timeouts)
		got, timeouts = append(got, r.GoodputMbps), r.Timeouts
	}
	if e := math.Abs(got[0]/measured[0] - 1); e > 0.05 {
		t.Errorf("goodput of one server is wrong by %.2f", e)
	}
	if a, b := below(got, got[0]/2), below(measured, measured[0]/2); a < b-1 || a > b+1 {
		t.Errorf("the goodput is below half from the place %d of the list on, measured %d", a, b)
	}
	for i := range got {
		if i < 3 && math.Abs(got[i]/measured[i]-1) > 0.3 || i >= 3 && got[i] > got[0]/2 {
			t.Errorf("%d servers: %.0f Mbit/s, measured %.0f", 1<<i, got[i], measured[i])
		}
	}
	if r := spearman(got, measured); r < 0.7 {
		t.Errorf("rank correlation %.2f", r)
	}
	if timeouts < 0.7*measuredTimeouts || timeouts > 1.3*measuredTimeouts {
		t.Errorf("%.1f timeouts with 32 servers, measured %d", timeouts, measuredTimeouts)
	}
}

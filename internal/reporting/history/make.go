package history

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"unique"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/trend"
)

// Run contains the part of a result that a history keeps.
type Run struct {
	Info                          RunInfo
	Namespace, Benchmark, TestBed string
	// Digest of what the run measured, without the device.
	Digest string
	// Rows is the number of rows of the result.
	Rows    int
	figures []figure
}

type key struct {
	id     v1alpha1.RowID
	metric compare.Metric
}

// figure has its key as a handle: equal keys of all runs are in memory once.
type figure struct {
	key    unique.Handle[key]
	value  int64
	usable bool
}

// NewRun keeps the figures of a result.
func NewRun(info RunInfo, namespace, benchmark, bed, digest string, rows []v1alpha1.ResultRow) Run {
	r := Run{Info: info, Namespace: namespace, Benchmark: benchmark, TestBed: bed, Digest: digest, Rows: len(rows)}
	for i := range rows {
		for _, f := range compare.FiguresOf(&rows[i]) {
			r.figures = append(r.figures, figure{unique.Make(key{rows[i].RowID, f.Metric}), f.Value, f.Unusable == ""})
		}
	}
	return r
}

// Make makes the history of the runs that measured what the newest one did. It fails
// without a run.
func Make(runs []Run) (*History, error) {
	if len(runs) == 0 {
		return nil, errors.New("a history needs at least one result")
	}
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(a.Info.Time.Compare(b.Info.Time.Time), cmp.Compare(a.Info.UID, b.Info.UID))
	})
	newest := runs[len(runs)-1]
	h := &History{Schema: Schema, Namespace: newest.Namespace, Benchmark: newest.Benchmark, TestBed: newest.TestBed, Digest: newest.Digest, Lines: []Line{}}
	runs = slices.DeleteFunc(runs, func(r Run) bool {
		if r.Digest != newest.Digest {
			h.Others++
			return true
		}
		return false
	})
	points := map[unique.Handle[key]][]Point{}
	for i, r := range runs {
		h.Runs = append(h.Runs, r.Info)
		for _, f := range r.figures {
			if f.usable {
				points[f.key] = append(points[f.key], Point{int32(i), f.value})
			}
		}
	}
	for _, f := range newest.figures {
		if p := points[f.key]; len(p) > 0 {
			h.Lines = append(h.Lines, lineOf(f.key.Value(), p))
		}
	}
	return h, nil
}

// lineOf finds the changes of a figure that some run has.
func lineOf(k key, points []Point) Line {
	l := Line{RowID: k.id, Metric: k.metric, Points: points}
	var series []float64
	for _, p := range points {
		series = append(series, float64(p.Value))
	}
	last := 0
	changes := append(trend.Changes(series), len(series))
	for i, at := range changes[:len(changes)-1] {
		l.Changes = append(l.Changes, changeOf(k.metric, points[at].Run, series[last:at], series[at:changes[i+1]]))
		last = at
	}
	l.Level = rounded(trend.Median(series[last:]))
	return l
}

func changeOf(metric compare.Metric, run int32, before, after []float64) Change {
	shift, from := trend.ShiftOf(before, after), trend.Median(before)
	c := Change{Run: run, From: rounded(from), To: rounded(trend.Median(after)), Regression: (shift.Size < 0) == metric.MoreIsBetter()}
	if from != 0 {
		share := func(of float64) *int64 { return new(rounded(of / from * float64(v1alpha1.PPM))) }
		c.ShiftPPM, c.LowestPPM, c.HighestPPM = share(shift.Size), share(shift.Lowest), share(shift.Highest)
	}
	return c
}

func rounded(v float64) int64 { return int64(math.Round(v)) }

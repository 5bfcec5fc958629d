package report

import (
	"bytes"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// largeDocument is a result of as many rows with a series of rates and the log of a search, each
// of some 21 KiB as indented JSON.
func largeDocument(rows int) *Document {
	d := &Document{
		Schema: Schema, Phase: v1alpha1.PhasePassed, Spec: v1alpha1.BenchmarkSpec{TestBedName: "b1"},
		Benchmark: Identity{Namespace: "team", Name: "large", UID: "1"},
	}
	for i := range int64(rows) {
		row := v1alpha1.ResultRow{
			RowID: v1alpha1.RowID{Test: "soak", Method: v1alpha1.MethodSoak, FrameSize: int32(64 + i)}, Validity: v1alpha1.ValidityValid,
			Frames:  &v1alpha1.FrameSection{LineRatePPM: 500_000 + i, FramesPerSecond: 7_440_476, Sent: 446_428_560, Received: 446_428_560},
			Latency: &v1alpha1.LatencySummary{MinNs: 1500, AvgNs: 2300 + i, MaxNs: 4200},
			Series:  &v1alpha1.RateSeries{Samples: 240}, TrialRecords: &v1alpha1.TrialLog{ElapsedNs: i},
		}
		for k := range int64(240) {
			row.Series.Points.ReceivedFramesPerSecond = append(row.Series.Points.ReceivedFramesPerSecond, 7_440_476+i*k)
			row.Series.Points.SentFramesPerSecond = append(row.Series.Points.SentFramesPerSecond, 7_440_476)
		}
		for k := range int64(24) {
			row.TrialRecords.Trials = append(row.TrialRecords.Trials, v1alpha1.TrialRecord{
				Number: int32(k), Verdict: v1alpha1.TrialPassed, LoadPPM: 500_000 + k, DurationNs: 60_000_000_000, SendingNs: 60_000_001_000 + k,
				Intended: 446_428_560, Sent: 446_428_560, Expected: 446_428_560, Received: 446_428_560, ForwardingRate: 7_440_476,
				Latency: &v1alpha1.LatencyRecord{Count: 446_428_560, SumNs: 1_026_785_688_000},
			})
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// allocated is the number of bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// textOf is a document as JSON.
func textOf(t testing.TB, d *Document) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := d.Write(&text, FormatJSON); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// peak is the growth of the heap while a function runs, in bytes, as it is seen between its
// allocations. Garbage is collected early, so that it counts little.
func peak(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	most := before.HeapAlloc
	for {
		select {
		case <-done:
			return most - before.HeapAlloc
		default:
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			runtime.Gosched()
		}
	}
}

// TestMemory reads and writes a large result within a small multiple of its size. The YAML parser,
// which read results as JSON once, needs twenty times as much.
func TestMemory(t *testing.T) {
	d := largeDocument(500)
	text := textOf(t, d)
	size := float64(len(text))
	t.Logf("the document has %d bytes", len(text))
	for name, c := range map[string]struct {
		measure func(func()) uint64
		most    float64 // of the size of the document
		do      func() error
	}{
		"reading, all garbage included": {allocated, 3, func() error { _, err := Read(text); return err }},
		"reading":                       {peak, 2, func() error { _, err := Read(text); return err }},
		"digesting":                     {peak, 2.5, func() error { _, _, err := Digests(text); return err }},
		"writing":                       {peak, 1, func() error { return d.Write(io.Discard, FormatJSON) }},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			used := float64(c.measure(func() { err = c.do() })) / size
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.2f times the document", used)
			if used > c.most {
				t.Errorf("%s needs %.1f times the document, at most %.1f are allowed", name, used, c.most)
			}
		})
	}
}

// BenchmarkRead reads a result of 44 MiB, and for comparison through a parser of YAML:
//
//	go test ./internal/reporting/report -run XXX -bench BenchmarkRead -benchtime 1x
func BenchmarkRead(b *testing.B) {
	text := textOf(b, largeDocument(1940))
	b.Logf("the document has %d bytes", len(text))
	for name, read := range map[string]func() (*Document, error){
		"stream": func() (*Document, error) { return Read(text) },
		"YAML": func() (*Document, error) {
			var d Document
			return &d, yaml.Unmarshal(text, &d)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var most uint64
			for b.Loop() {
				most = max(most, peak(func() {
					if _, err := read(); err != nil {
						b.Error(err)
					}
				}))
			}
			b.ReportMetric(float64(most)/(1<<20), "MiB-peak")
			b.ReportMetric(float64(most)/float64(len(text)), "times-the-document")
		})
	}
}

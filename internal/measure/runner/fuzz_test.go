package runner

import (
	"bytes"
	"testing"
)

// FuzzCheckpoint reads checkpoints that end anywhere: what is whole is read again in the same way.
func FuzzCheckpoint(f *testing.F) {
	for _, text := range []string{"{}\n", "{}\n{\"test\":\"soak\"}\n{\"te", "{}\nnull\n[]\n", "\n\n", "x", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		right := func(first []byte) bool { return bytes.HasPrefix(first, []byte("{")) }
		rows, whole := readRows(text, right)
		if whole < 0 || whole > int64(len(text)) || whole == 0 && len(rows) > 0 {
			t.Fatalf("%d rows in %d of %d bytes", len(rows), whole, len(text))
		}
		again, same := readRows(text[:whole], right)
		if same != whole || len(again) != len(rows) {
			t.Errorf("%d rows in %d bytes, and then %d in %d", len(rows), whole, len(again), same)
		}
	})
}

// FuzzDecompress reads what pods get as configuration, and what is kept of a benchmark.
func FuzzDecompress(f *testing.F) {
	for _, v := range []any{nil, map[string]int{"a": 1}} {
		data, err := Compress(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := Decompress(data); err == nil && len(text) > max(maxConfig, len(data)) {
			t.Errorf("%d bytes", len(text))
		}
	})
}

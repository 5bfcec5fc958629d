package spool

import "testing"

// FuzzEntry holds an entry that is read to at least one line, and every entry to at least one point.
func FuzzEntry(f *testing.F) {
	for _, entry := range chunks(lines("seed", 3)) {
		f.Add(entry)
	}
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, entry []byte) {
		if all, err := unpack(entry); err == nil && len(all) == 0 {
			t.Error("an entry without lines")
		}
		_, _ = timeOf(entry)
		if n := points(entry); n < 1 || n > maxEntry {
			t.Errorf("%d points", n)
		}
	})
}

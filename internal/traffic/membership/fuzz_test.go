package membership

import "testing"

// FuzzParseQuery holds the reader of frames to an end: a device may send any.
func FuzzParseQuery(f *testing.F) {
	for _, c := range queryCases() {
		f.Add(c.b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { ParseQuery(b) })
}

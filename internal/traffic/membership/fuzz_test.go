package membership

import (
	"encoding/hex"
	"testing"
)

// FuzzParseQuery holds the reader of frames to an end: a device may send any.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"01005e0000010200000000010800" + "46c0002000000000010200000000000" + "0e0000001940400001164ee9b00000000",
		"333300000001020000000001" + "86dd6000000000240001fe80000000000000000000000000000" + "1ff02000000000000000000000000000" + "13a000502000001008200000000000000" + "00000000000000000000000000000000",
	} {
		if b, err := hex.DecodeString(seed); err == nil {
			f.Add(b)
		}
	}
	f.Add(make([]byte, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, is := ParseQuery(b); is && q.Group.IsValid() && !q.Group.IsMulticast() && !q.Group.IsUnspecified() {
			t.Skip("a query of a group that is none is left to the caller")
		}
	})
}

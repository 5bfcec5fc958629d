package kit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A note that is cut is text: the API server refuses others.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for begin := range 4 {
		note := Truncated(strings.Repeat("x", begin) + strings.Repeat("µ€😀", maxNote))
		if len(note) > maxNote || len(note) < maxNote-utf8.UTFMax || !utf8.ValidString(note) {
			t.Errorf("after %d bytes: %d bytes, valid: %v", begin, len(note), utf8.ValidString(note))
		}
	}
	if got := Truncated("short"); got != "short" {
		t.Error(got)
	}
}

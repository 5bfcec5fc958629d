package terminal

import (
	"bytes"
	"regexp"
	"testing"
	"time"
)

// Texts of others neither move the cursor nor change the direction of a line.
func TestControlCharactersDoNotReachATerminal(t *testing.T) {
	t.Parallel()
	hostile := "a\x1b[2Jb\rc\u009b1md\u202ee\a\tf\n"
	const want = "a\ufffd[2Jb\ufffdc\ufffd1md\ufffde\ufffd\tf\n"
	var out bytes.Buffer
	screen := newScreen(&out, true)
	for i := range len(hostile) { // A character may come in parts.
		if n, err := screen.Write([]byte(hostile[i : i+1])); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if out.String() != want {
		t.Errorf("a terminal gets %q, want %q", out.String(), want)
	}
	out.Reset()
	if _, err := newScreen(&out, false).Write([]byte(hostile)); err != nil || out.String() != hostile {
		t.Errorf("a file gets %q, %v, want %q", out.String(), err, hostile)
	}
	own := regexp.MustCompile(`\r\x1b\[K(\x1b\[A\x1b\[K)*`)
	for _, width := range []int{0, 80} {
		out.Reset()
		live := NewLive(newScreen(&out, true))
		live.Width, live.Now = width, func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
		live.Update("k", hostile[:len(hostile)-1], hostile)
		live.Keep(hostile)
		if got := own.ReplaceAll(out.Bytes(), nil); bytes.ContainsAny(got, "\x1b\r\u009b\u202e") {
			t.Errorf("a live line %d wide has %q", width, got)
		}
	}
}

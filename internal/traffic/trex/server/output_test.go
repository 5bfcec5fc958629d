package server

import (
	"slices"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	var l lines
	o := &output{each: l.add}
	for _, part := range []string{"first\nsec", "ond \r\n\n", strings.Repeat("x", 2*lineBytes) + "\n", "same\nsame\nsame\n", "not ended"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	long := strings.Repeat("x", lineBytes)
	if want := []string{"first", "second", long, "same", "same", "same"}; !slices.Equal(l.all(), want) {
		t.Errorf("lines %.60q, want %.60q", l.all(), want)
	}
	if got, want := o.last(), strings.Join([]string{"first", "second", long, "same", "not ended"}, "\n"); got != want {
		t.Errorf("the tail is %.200q, want %.200q", got, want)
	}
	for range 2 * tailLines {
		_, _ = o.Write([]byte("a\nb\n"))
	}
	if got := strings.Count(o.last(), "\n") + 1; got != tailLines {
		t.Errorf("%d lines are kept, want %d", got, tailLines)
	}
}

package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 65)
	for word, tc := range map[string]struct {
		candidates []string
		want       string
	}{
		"many-O":    {[]string{"few-0", "many-0", "many-1"}, "many-0"},
		"througput": {[]string{"throughput", "latency"}, "throughput"},
		"Pairs":     {[]string{"pair", "pairs"}, "pairs"},
		"xyz":       {[]string{"throughput", "latency"}, ""},
		"":          {[]string{"a"}, ""},
		long:        {[]string{long + "b"}, ""},
	} {
		if got := Nearest(word, tc.candidates); got != tc.want {
			t.Errorf("%q: %q, want %q", word, got, tc.want)
		}
	}
}

package look

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A cause that is cut does not end within a character.
func TestCauseIsText(t *testing.T) {
	t.Parallel()
	for begin := range 3 {
		got := cause(`plugin type="` + strings.Repeat("x", begin) + strings.Repeat("€", 400))
		if !utf8.ValidString(got) || !strings.HasSuffix(got, "€ ...") {
			t.Errorf("%q", got)
		}
	}
}

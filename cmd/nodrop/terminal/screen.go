package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// Screen writes text for people: control characters, which a benchmark of others can have in its
// messages, are replaced. They could erase or forge what a terminal shows.
type Screen struct {
	// out is where the text goes, and cleaned what replaces control characters on the way.
	out     io.Writer
	cleaned io.Writer
}

// NewScreen writes to a file. Unless only people read it, what goes to a file that is no terminal may be
// a document, whose bytes stay as they are.
func NewScreen(file *os.File, people bool) *Screen {
	return newScreen(file, people || term.IsTerminal(int(file.Fd())))
}

func newScreen(out io.Writer, clean bool) *Screen {
	s := &Screen{out: out, cleaned: out}
	if clean {
		s.cleaned = transform.NewWriter(out, runes.Map(printable))
	}
	return s
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) { return s.cleaned.Write(p) }

// Clean replaces the control characters of a text.
func Clean(text string) string { return strings.Map(printable, text) }

// printable replaces a control character other than the end of a line and a tab, and one that changes
// the direction of the text behind it.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return unicode.ReplacementChar
	}
	return r
}

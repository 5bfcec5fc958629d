package terminal

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// Screen writes text for people: control characters, which a benchmark of others can have in its
// messages, are replaced. They could erase or forge what a terminal shows.
type Screen struct {
	// out is where the text goes, and cleaned what replaces control characters on the way.
	out     io.Writer
	cleaned io.Writer
	// terminal is the file, if it is a terminal.
	terminal *os.File
	// mark begins and ends colored words. It is empty without colors.
	mark string
}

// NewScreen writes to a file. Unless only people read it, what goes to a file that is no terminal may be
// a document, whose bytes stay as they are.
func NewScreen(file *os.File, people bool) *Screen {
	onTerminal := term.IsTerminal(int(file.Fd()))
	s := newScreen(file, people || onTerminal)
	if onTerminal {
		s.terminal = file
		if Colored() {
			s.mark = "\x00" + rand.Text()
		}
	}
	return s
}

func newScreen(out io.Writer, clean bool) *Screen {
	s := &Screen{out: out, cleaned: out}
	if clean {
		s.cleaned = transform.NewWriter(out, runes.Map(printable))
	}
	return s
}

// Colored reports whether terminals get colors: not with NO_COLOR (no-color.org), and not if the terminal
// has none.
func Colored() bool {
	kind := os.Getenv("TERM")
	return os.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
}

// Paper returns the width of a terminal as it is now, and its colors.
func (s *Screen) Paper() layout.Paper {
	if s.terminal == nil {
		return layout.Paper{}
	}
	width, _ := sizeOf(s.terminal)
	return layout.NewPaper(width, s.mark)
}

// sizeOf returns the columns and lines of a terminal, and the usual ones if it does not know them.
func sizeOf(file *os.File) (width, height int) {
	if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
		return width, height
	}
	return 80, 24
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	if s.mark == "" {
		return s.cleaned.Write(p)
	}
	err := paint(string(p), s.mark, func(plain string) error {
		_, err := io.WriteString(s.cleaned, plain)
		return err
	}, func(color string) error {
		_, err := io.WriteString(s.out, color)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// colors of the tones. They are from the palette of the terminal, which people choose to see them.
var colors = map[layout.Tone]string{
	layout.Plain: "\x1b[0m", layout.Good: "\x1b[32m", layout.Bad: "\x1b[31m", layout.Doubtful: "\x1b[33m",
}

// paint passes a text on, in which marks with a tone become colors.
func paint(text, mark string, plain, color func(string) error) error {
	for {
		before, after, found := strings.Cut(text, mark)
		if before != "" {
			if err := plain(before); err != nil {
				return err
			}
		}
		if !found || after == "" {
			return nil
		}
		if err := color(colors[layout.Tone(after[0])]); err != nil {
			return err
		}
		text = after[1:]
	}
}

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

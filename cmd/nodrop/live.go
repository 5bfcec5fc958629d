package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// live shows how far something is: on a terminal one line that is rewritten,
// elsewhere a line for every change, and one a minute while nothing changes.
type live struct {
	out io.Writer
	// width of the terminal in columns; 0 when out is not a terminal.
	width int
	now   func() time.Time

	shown string // what the rewritten line says
	key   string
	kept  time.Time // when the last line was written that stays
}

// lineInterval is how long nothing may be said where nothing is rewritten.
const lineInterval = time.Minute

// newLive decides by what out is.
func newLive(out io.Writer) *live {
	l := &live{out: out, now: time.Now}
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		l.width = 80
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			l.width = width
		}
	}
	return l
}

// update shows a state. What changes from one call to the next with the same
// key, such as the seconds left, is shown on a terminal, and elsewhere once a minute.
func (l *live) update(key, text string) {
	if l.width > 0 {
		if runes := []rune(text); len(runes) >= l.width {
			text = string(runes[:max(0, l.width-4)]) + "..."
		}
		if text != l.shown {
			fmt.Fprintf(l.out, "\r\x1b[K%s", text)
			l.shown = text
		}
		return
	}
	if key != l.key || l.now().Sub(l.kept) >= lineInterval {
		l.key = key
		l.keep(text)
	}
}

// keep writes a line that stays.
func (l *live) keep(text string) {
	l.clear()
	l.kept = l.now()
	fmt.Fprintf(l.out, "%s %s\n", l.kept.Format("15:04:05"), text)
}

// clear removes the rewritten line.
func (l *live) clear() {
	if l.shown != "" {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.shown = ""
	}
}

// joinNonEmpty joins what there is.
func joinNonEmpty(separator string, parts ...string) string {
	text := ""
	for _, part := range parts {
		switch {
		case part == "":
		case text == "":
			text = part
		default:
			text += separator + part
		}
	}
	return text
}

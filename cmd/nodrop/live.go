package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// live shows how far something is: on a terminal lines that are rewritten,
// elsewhere a line for every change, and one a minute while nothing changes.
type live struct {
	out io.Writer
	// width and height of the terminal in columns and lines; 0 when out is not a terminal.
	width, height int
	now           func() time.Time

	shown string // what the rewritten lines say
	key   string
	kept  time.Time // when the last line was written that stays
}

// lineInterval is the maximum time between two lines if lines cannot be rewritten.
const lineInterval = time.Minute

// newLive decides by what out is.
func newLive(out io.Writer) *live {
	l := &live{out: out, now: time.Now}
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		l.width, l.height = 80, 24
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			l.width, l.height = width, height
		}
	}
	return l
}

// update shows a state. What changes from one call to the next with the same
// key, such as the seconds left, is shown on a terminal, and elsewhere once a minute.
// Only a terminal shows the lines below.
func (l *live) update(key, text string, below ...string) {
	if l.width > 0 {
		lines := append([]string{text}, below...)
		for i, line := range lines {
			if runes := []rune(line); len(runes) >= l.width {
				lines[i] = string(runes[:max(0, l.width-4)]) + "..."
			}
		}
		if text = strings.Join(lines, "\n"); text != l.shown {
			fmt.Fprint(l.out, l.erase()+text)
			l.shown = text
		}
		return
	}
	if key != l.key || l.now().Sub(l.kept) >= lineInterval {
		l.key = key
		l.keep(text)
	}
}

// erase returns the control sequence that erases the shown lines on a terminal.
func (l *live) erase() string {
	if up := strings.Count(l.shown, "\n"); up > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
	}
	return "\r\x1b[K"
}

// keep writes a line that stays.
func (l *live) keep(text string) {
	l.clear()
	l.kept = l.now()
	fmt.Fprintf(l.out, "%s %s\n", l.kept.Format("15:04:05"), text)
}

// clear removes the rewritten lines.
func (l *live) clear() {
	if l.shown != "" {
		fmt.Fprint(l.out, l.erase())
		l.shown = ""
	}
}

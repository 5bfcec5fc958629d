// Package terminal writes what commands print: a line that changes while something runs, and
// documents in the chosen format.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Live shows how far something is: on a terminal lines that are rewritten,
// elsewhere a line for every change, and one a minute while nothing changes.
type Live struct {
	Out io.Writer
	// Width and height of the terminal in columns and lines; 0 when out is not a terminal.
	Width, Height int
	Now           func() time.Time

	shown string // what the rewritten lines say
	Key   string
	kept  time.Time // when the last line was written that stays
}

// LineInterval is the maximum time between two lines if lines cannot be rewritten.
const LineInterval = time.Minute

// NewLive decides by what out is.
func NewLive(out io.Writer) *Live {
	if screen, is := out.(*Screen); is {
		out = screen.out // Live cleans what it shows, and moves the cursor itself.
	}
	l := &Live{Out: out, Now: time.Now}
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		l.Width, l.Height = 80, 24
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			l.Width, l.Height = width, height
		}
	}
	return l
}

// Update replaces the live line by a new state. What changes from one call to the next with the same
// key, such as the seconds left, is shown on a terminal, and elsewhere once a minute.
// Only a terminal shows the lines below.
func (l *Live) Update(key, text string, below ...string) {
	if l.Width > 0 {
		lines := append([]string{text}, below...)
		for i, line := range lines {
			lines[i] = Clean(line)
			if runes := []rune(lines[i]); len(runes) >= l.Width {
				lines[i] = string(runes[:max(0, l.Width-4)]) + "..."
			}
		}
		if text = strings.Join(lines, "\n"); text != l.shown {
			fmt.Fprint(l.Out, l.erase()+text)
			l.shown = text
		}
		return
	}
	if key != l.Key || l.Now().Sub(l.kept) >= LineInterval {
		l.Key = key
		l.Keep(text)
	}
}

// erase returns the control sequence that erases the shown lines on a terminal.
func (l *Live) erase() string {
	if up := strings.Count(l.shown, "\n"); up > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
	}
	return "\r\x1b[K"
}

// Keep writes a line that stays.
func (l *Live) Keep(text string) {
	l.Clear()
	l.kept = l.Now()
	fmt.Fprintf(l.Out, "%s %s\n", l.kept.Format("15:04:05"), Clean(text))
}

// Clear removes the rewritten lines.
func (l *Live) Clear() {
	if l.shown != "" {
		fmt.Fprint(l.Out, l.erase())
		l.shown = ""
	}
}

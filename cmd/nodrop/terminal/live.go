// Package terminal writes what commands print: a line that changes while something runs, and
// documents in the chosen format.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
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

	// terminal is out, if it is one, and mark begins and ends colored words.
	terminal *os.File
	mark     string
	// last are the lines as they were given, for a terminal whose size changes.
	last []string
	// done is the part that is done, of which the first line has a bar; nil shows none.
	done *float64
}

// LineInterval is the maximum time between two lines if lines cannot be rewritten.
const LineInterval = time.Minute

// NewLive decides by what out is.
func NewLive(out io.Writer) *Live {
	l := &Live{Out: out, Now: time.Now}
	if screen, is := out.(*Screen); is {
		l.Out, l.terminal, l.mark = screen.out, screen.terminal, screen.mark // Live cleans what it shows, and moves the cursor itself.
	}
	l.measure()
	return l
}

// measure reads the size of the terminal, which may have changed.
func (l *Live) measure() {
	if l.terminal != nil {
		l.Width, l.Height = sizeOf(l.terminal)
	}
}

// Progress shows a bar before the next lines, of which a part from 0 to 1 is filled; a negative part shows none. A terminal of less
// than 40 columns shows the number only, and what is no terminal shows neither.
func (l *Live) Progress(done float64) {
	l.done = nil
	if done >= 0 {
		l.done = new(min(done, 1))
	}
}

// Update replaces the live line by a new state. What changes from one call to the next with the same
// key, such as the seconds left, is shown on a terminal, and elsewhere once a minute.
// Only a terminal shows the lines below.
func (l *Live) Update(key, text string, below ...string) {
	l.measure()
	if l.Width > 0 {
		l.last = append([]string{text}, below...)
		l.draw()
		return
	}
	if key != l.Key || l.Now().Sub(l.kept) >= LineInterval {
		l.Key = key
		l.Keep(text)
	}
}

// Redraw fits the lines into a terminal whose size has changed.
func (l *Live) Redraw() {
	l.measure()
	if l.shown != "" && l.Width > 0 {
		l.draw()
	}
}

// draw writes the last lines if they differ from the shown ones. Each is shorter than the terminal is
// wide, and one line of the terminal stays free, so that the cursor finds back to the first one.
func (l *Live) draw() {
	lines := make([]string, 0, len(l.last))
	for i, line := range l.last[:min(len(l.last), max(1, l.Height-1))] {
		if i == 0 {
			line = l.bar() + line
		}
		line = Clean(line)
		if runes := []rune(line); len(runes) >= l.Width {
			line = string(runes[:max(0, l.Width-4)]) + "..."
		}
		lines = append(lines, line)
	}
	if text := strings.Join(lines, "\n"); text != l.shown {
		fmt.Fprint(l.Out, l.erase()+text)
		l.shown = text
	}
}

// barFrom is the least width of a terminal with a bar.
const barFrom = 40

// bar is the begin of the first line: "[====      ]  41% ".
func (l *Live) bar() string {
	if l.done == nil {
		return ""
	}
	percent := fmt.Sprintf("%3d%% ", int(*l.done*100))
	if l.Width < barFrom {
		return percent
	}
	cells := min(l.Width/5, 30)
	filled := int(*l.done * float64(cells))
	return "[" + strings.Repeat("=", filled) + strings.Repeat(" ", cells-filled) + "] " + percent
}

// erase returns the control sequence that erases the shown lines on a terminal. Terminals break lines that
// have become longer than they are wide; some only cut them. Each line is erased by itself: some terminals
// keep copies of what is erased as a whole.
func (l *Live) erase() string {
	up := strings.Count(l.shown, "\n")
	if l.Width > 0 && l.terminal != nil && reflows() {
		for line := range strings.SplitSeq(l.shown, "\n") {
			up += max(0, utf8.RuneCountInString(line)-1) / l.Width
		}
	}
	return "\r\x1b[K" + strings.Repeat("\x1b[A\x1b[K", up)
}

// reflows reports whether the terminal breaks lines when it becomes narrower. xterm and the console of
// Linux cut them.
func reflows() bool { return os.Getenv("XTERM_VERSION") == "" && os.Getenv("TERM") != "linux" }

// Keep writes a line that stays.
func (l *Live) Keep(text string) {
	l.Clear()
	l.kept = l.Now()
	fmt.Fprintf(l.Out, "%s %s\n", l.kept.Format("15:04:05"), l.painted(text))
}

// KeepVerdict is Keep for a line with a verdict at its begin or its end, which has the color of its meaning.
func (l *Live) KeepVerdict(text, verdict string) {
	colored := layout.NewPaper(l.Width, l.mark).Verdict(verdict)
	if rest, begins := strings.CutPrefix(text, verdict); begins {
		text = colored + rest
	} else if rest, ends := strings.CutSuffix(text, verdict); ends {
		text = rest + colored
	}
	l.Keep(text)
}

// painted replaces the control characters of a text, and the marks of colored words by colors.
func (l *Live) painted(text string) string {
	if l.mark == "" {
		return Clean(text)
	}
	var b strings.Builder
	_ = paint(text, l.mark, func(plain string) error { b.WriteString(Clean(plain)); return nil }, func(color string) error { b.WriteString(color); return nil })
	return b.String()
}

// Clear removes the rewritten lines.
func (l *Live) Clear() {
	l.measure()
	if l.shown != "" {
		fmt.Fprint(l.Out, l.erase())
		l.shown = ""
	}
}

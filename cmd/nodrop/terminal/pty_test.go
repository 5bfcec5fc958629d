//go:build unix

package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// shownOn returns what a function writes to a terminal of a width.
func shownOn(t *testing.T, width int, write func(file *os.File)) string {
	t.Helper()
	master, file, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	resize(t, file, width, 24)
	read := make(chan []byte)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, master) // It ends with an error when nothing writes any more.
		read <- all.Bytes()
	}()
	write(file)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return string(<-read)
}

func resize(t *testing.T, file *os.File, width, height int) {
	t.Helper()
	if err := pty.Setsize(file, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
}

var control = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// The lines fit into a terminal of any width, whenever that changes, and the old ones are erased as the
// terminal shows them by then.
func TestLiveLinesFollowTheTerminal(t *testing.T) {
	t.Setenv("XTERM_VERSION", "")
	t.Setenv("TERM", "xterm-256color")
	text := "row 3 of 12, about 2m10s left: throughput 512 B: 62.5% for 10s " + strings.Repeat("long ", 60)
	for _, widths := range [][]int{{20, 300}, {300, 20}, {300, 160, 80, 40, 20}, {20, 21, 39, 40, 41, 79, 80, 81, 299, 300}, {80, 80}} {
		t.Run(fmt.Sprint(widths), func(t *testing.T) {
			var sizes []int // of the output after each width
			var all bytes.Buffer
			out := shownOn(t, widths[0], func(file *os.File) {
				live := NewLive(NewScreen(file, true))
				live.Out = io.MultiWriter(file, &all)
				live.Progress(0.25)
				for i, width := range widths {
					resize(t, file, width, 24)
					if i == 0 {
						live.Update("k", text, "below "+strings.Repeat("0123456789", 40))
					} else {
						live.Redraw()
					}
					sizes = append(sizes, all.Len())
				}
			})
			before := 0
			for i, width := range widths {
				part := all.String()[before:sizes[i]]
				before = sizes[i]
				if i > 0 && width == widths[i-1] {
					if part != "" {
						t.Errorf("a terminal that keeps its width gets %q", part)
					}
					continue
				}
				// As the terminal has broken the lines before, of a column less than it was wide.
				if i > 0 {
					rows := 2 * ((widths[i-1] - 1 + width - 1) / width)
					up := "\r\x1b[K" + strings.Repeat("\x1b[A\x1b[K", rows-1)
					if after, ok := strings.CutPrefix(part, up); !ok || strings.HasPrefix(after, "\x1b") {
						t.Errorf("from %d to %d columns: %q, want %q first", widths[i-1], width, part, up)
					}
				}
				lines := strings.Split(strings.Trim(control.ReplaceAllString(part, ""), "\r"), "\n")
				if len(lines) != 2 {
					t.Fatalf("%d lines in %q", len(lines), part)
				}
				for _, line := range lines {
					if n := utf8.RuneCountInString(line); n != width-1 {
						t.Errorf("%d columns in a terminal of %d: %q", n, width, line)
					}
				}
				if bar := strings.HasPrefix(lines[0], "[="); bar != (width >= barFrom) || !strings.Contains(lines[0], " 25% ") {
					t.Errorf("a terminal of %d columns: %q", width, lines[0])
				}
			}
			if !strings.Contains(out, " 25% ") {
				t.Errorf("the terminal got %q", out)
			}
		})
	}
}

// Terminals that cut long lines keep each in one row.
func TestLiveLinesOfTerminalsThatCut(t *testing.T) {
	t.Setenv("XTERM_VERSION", "XTerm(379)")
	out := shownOn(t, 300, func(file *os.File) {
		live := NewLive(NewScreen(file, true))
		live.Update("k", strings.Repeat("a", 500))
		resize(t, file, 20, 24)
		live.Redraw()
	})
	if !strings.Contains(out, "...\r\x1b[K"+strings.Repeat("a", 16)+"...") {
		t.Errorf("%q", out)
	}
}

// Verdicts have colors on a terminal that has some, unless people want none. Texts of others never do.
func TestColorsOfVerdicts(t *testing.T) {
	forged := "a note with \x1b[32mPassed\x1b[0m and \x00Passed\x000 in it"
	write := func(w io.Writer) {
		p := layout.PaperOf(w)
		_, _ = io.WriteString(w, p.Headline("Benchmark team/x:", "Failed")+forged+"\n")
		_, _ = io.WriteString(w, (&layout.Grid{Columns: []layout.Column{{Name: "row"}, {Name: "validity", Left: true, Verdict: true}, {Name: "x"}}, Rows: [][]string{{"1", "Valid", "1"}, {"2", "Virtual", "2"}}}).On(p))
		_, _ = io.WriteString(w, p.Modeled().Verdict("Passed")+"\n")
	}
	const colored = "Benchmark team/x: \x1b[31mFailed\x1b[0m\r\n"
	for name, tc := range map[string]struct {
		environment map[string]string
		colors      int
	}{
		"terminal":             {map[string]string{"TERM": "xterm", "NO_COLOR": ""}, 4},
		"NO_COLOR":             {map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, 0},
		"terminal without any": {map[string]string{"TERM": "dumb", "NO_COLOR": ""}, 0},
		"unknown terminal":     {map[string]string{"TERM": "", "NO_COLOR": ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.environment {
				t.Setenv(key, value)
			}
			out := shownOn(t, 80, func(file *os.File) { write(NewScreen(file, false)) })
			if n := strings.Count(out, "\x1b["); n != tc.colors || tc.colors > 0 && !strings.HasPrefix(out, colored) {
				t.Errorf("%d colors, want %d: %q", n, tc.colors, out)
			}
			if tc.colors > 0 && !strings.Contains(out, "\x1b[32mValid\x1b[0m     1\r\n") {
				t.Errorf("the cell has no color: %q", out)
			}
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			write(NewScreen(writer, true))
			_ = writer.Close()
			piped, err := io.ReadAll(reader)
			if err != nil || bytes.Contains(piped, []byte("\x1b")) || !bytes.Contains(piped, []byte("team/x: Failed\n")) {
				t.Errorf("%v: a pipe gets %q", err, piped)
			}
		})
	}
}

// A line that stays has the color of its verdict.
func TestColorsOfLines(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	out := shownOn(t, 80, func(file *os.File) {
		live := NewLive(NewScreen(file, true))
		live.KeepVerdict("Failed: 1 gate", "Failed")
		live.KeepVerdict("64 B, Valid", "Valid")
	})
	for _, want := range []string{" \x1b[31mFailed\x1b[0m: 1 gate\r\n", " 64 B, \x1b[32mValid\x1b[0m\r\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
}

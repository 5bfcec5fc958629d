package files

import (
	"fmt"
	"path"
	"strings"
)

// Scripts for the shell of the device, which has cat, cp, grep, mv, rm and wc. Their paths have no characters with a meaning in a shell.

// staged is the path at which the next content of a file is written, next to the file.
func staged(p string) string { return path.Join(path.Dir(p), ".nodrop-"+path.Base(p)) }

// mark is the path of a file that is there from the first replaced file until the reload command has succeeded. It has the number of the process
// that reloads; none if that failed.
func (l Language) mark() string { return path.Join(path.Dir(l.Paths[0]), ".nodrop-reload") }

// Words of the script that reads.
const (
	wordFile = "file"
	wordNone = "none"
	wordMark = "unloaded"
)

// show prints the files: for each a line with its length and its content, or a line that it is not there.
func (l Language) show() string {
	var s strings.Builder
	for _, p := range l.Paths {
		fmt.Fprintf(&s, "if [ -f %[1]s ]; then echo %[2]s $(wc -c < %[1]s) && cat %[1]s || exit 1; elif [ -e %[1]s ]; then echo '%[1]s is no file' >&2; exit 1; else echo %[3]s; fi\n",
			p, wordFile, wordNone)
	}
	fmt.Fprintf(&s, "if [ -e %s ]; then echo %s; fi", l.mark(), wordMark)
	return s.String()
}

// busy is the status of a script whose predecessor still runs, as in sysexits.h for what may succeed later.
const busy = 75

// prepare fails while an earlier session reloads, whose connection was lost, and removes what it has left otherwise.
func (l Language) prepare() string {
	var s strings.Builder
	fmt.Fprintf(&s, `process=$(cat %[1]s 2>/dev/null); if [ -n "$process" ] && grep -q %[1]s /proc/$process/cmdline 2>/dev/null; then echo "the reload command of an earlier session has not ended: process $process" >&2; exit %[2]d; fi; rm -f`, l.mark(), busy)
	for _, p := range l.Paths {
		s.WriteString(" " + staged(p))
	}
	return s.String()
}

// stage writes the input next to a file, with the owner and the mode that the file has. Input that is cut fails.
func stage(p string, size int) string {
	return fmt.Sprintf("if [ -e %[1]s ]; then cp -p %[1]s %[2]s || exit 1; fi; cat > %[2]s || exit 1; if [ $(wc -c < %[2]s) -ne %[3]d ]; then echo 'the connection was lost' >&2; exit %[4]d; fi",
		p, staged(p), size, busy)
}

// effect replaces and removes files, and reloads. A file that is mounted cannot be replaced: it is written.
func (l Language) effect(replaced, removed []string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "echo $$ > %s || exit 1\n", l.mark())
	for _, p := range replaced {
		fmt.Fprintf(&s, "mv -f %[2]s %[1]s 2>/dev/null || { cat %[2]s > %[1]s && rm -f %[2]s; } || exit 1\n", p, staged(p))
	}
	for _, p := range removed {
		fmt.Fprintf(&s, "rm -f %s || exit 1\n", p)
	}
	fmt.Fprintf(&s, "( %[1]s\n) </dev/null >&2\nstatus=$?\nif [ $status -eq 0 ]; then rm -f %[2]s; else : > %[2]s; fi\nexit $status", l.Reload, l.mark())
	return s.String()
}

package server

import (
	"strings"
	"sync"
)

// Lines that are kept for an error, and bytes of a line.
const (
	tailLines = 30
	lineBytes = 4096
)

// output splits what the server writes into lines, and keeps the last ones.
type output struct {
	each func(line string)

	mu   sync.Mutex
	part []byte
	tail []string
}

// Write takes what the server wrote.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range b {
		switch {
		case c == '\n':
			o.line()
		case len(o.part) < lineBytes:
			o.part = append(o.part, c)
		}
	}
	return len(b), nil
}

// line ends the current line.
func (o *output) line() {
	text := strings.TrimRight(string(o.part), " \t\r")
	o.part = o.part[:0]
	if text == "" {
		return
	}
	// A crash ends with many lines that are the same, and what went wrong is above.
	if len(o.tail) == 0 || o.tail[len(o.tail)-1] != text {
		o.tail = append(o.tail, text)
	}
	if len(o.tail) > tailLines {
		o.tail = o.tail[1:]
	}
	if o.each != nil {
		o.each(text)
	}
}

// last returns the last lines, the one that was not ended among them.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line()
	return strings.Join(o.tail, "\n")
}

package text

import (
	"cmp"
	"regexp"
	"strings"
)

// Negation returns the command that removes a line.
type Negation func(line string) string

// negated returns the command that removes a line.
func (d *Dialect) negated(line string) string {
	if d.Negation == nil {
		return No(line)
	}
	return d.Negation(line)
}

// no begins the command that removes a line, and lines that turn something off.
const no = "no "

// No puts "no" before a line, or takes it away.
func No(line string) string {
	if rest, is := strings.CutPrefix(line, no); is {
		return rest
	}
	return no + line
}

// numbered matches the number of an entry in an access list.
var numbered = regexp.MustCompile(`^\d+ `)

// NoNumber is No, and removes entries of lists by their number only.
func NoNumber(line string) string {
	return No(cmp.Or(strings.TrimSpace(numbered.FindString(line)), line))
}

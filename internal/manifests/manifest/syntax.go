package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// byteOrderMark begins files of some editors. It is no part of the text.
var byteOrderMark = []byte("\xef\xbb\xbf")

// readable returns the text of a file in UTF-8 without a byte order mark, or says why
// it has none.
func readable(text []byte) ([]byte, error) {
	for _, wide := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(wide)) {
			return nil, errors.New("is UTF-16, and a manifest is UTF-8; save it as UTF-8 (in PowerShell: Out-File -Encoding utf8)")
		}
	}
	return bytes.TrimPrefix(text, byteOrderMark), nil
}

var (
	lineInError   = regexp.MustCompile(`line ([0-9]+): `)
	givenTwice    = regexp.MustCompile(`key "([^"]*)" already set`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '([^']*)'`)
	noWord        = regexp.MustCompile(`did not find expected alphabetic or numeric character`)
	badIndent     = regexp.MustCompile(`mapping values are not allowed|did not find expected (key|'-' indicator)`)
	noSpace       = regexp.MustCompile(`^\s*(?:- )?([A-Za-z]\w*):([^\s:/].*)$`)
)

// notYAML describes a text that is no YAML: the line, what is wrong in it, and what is
// done about it.
func (s *source) notYAML(err error) Problem {
	message := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "\n", " ")
	p := Problem{File: s.file, Document: s.index, Documents: s.of}
	if m := lineInError.FindStringSubmatch(message); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
	}
	if m := givenTwice.FindStringSubmatch(message); m != nil {
		p.Field, p.Text, p.Suggestion = m[1], "is given twice in the same object", "keep one of the two"
		return p
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		p.Text, p.Suggestion = fmt.Sprintf("*%s refers to an anchor that this document does not have", m[1]),
			fmt.Sprintf("mark what it stands for with &%s before it, or put the text in quotes; anchors do not reach over ---", m[1])
		return p
	}
	for i, line := range strings.Split(string(s.text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		switch spaceless := noSpace.FindStringSubmatch(line); {
		case strings.Contains(indent, "\t"):
			p.Line, p.Text, p.Suggestion = i+1, "the line is indented with a tab, which YAML does not allow", "indent with spaces"
			return p
		case strings.Contains(line, "{{"):
			p.Line, p.Text, p.Suggestion = i+1, fmt.Sprintf("%q is a template, not a manifest", strings.TrimSpace(line)), "render it first: helm template CHART | nodrop run -f -"
			return p
		case spaceless != nil && p.Line > 0 && (i+1 == p.Line || i+2 == p.Line):
			p.Line, p.Field, p.Text, p.Suggestion = i+1, spaceless[1], "the colon has no space after it", fmt.Sprintf("write %s: %s", spaceless[1], spaceless[2])
			return p
		}
	}
	if m := noWord.FindString(message); m != "" {
		p.Text, p.Suggestion = "* or & begins a text without quotes, and means an anchor", "put the text in quotes"
		return p
	}
	if line, quote := openQuote(string(s.text)); line > 0 && strings.Contains(message, "end of stream") {
		p.Line, p.Text, p.Suggestion = line, "a text begins with "+quote+" and has no end", "close it with another "+quote
		return p
	}
	if line, text := crooked(string(s.text)); line > 0 && badIndent.MatchString(message) {
		p.Line, p.Text, p.Suggestion = line, text, "indent what belongs together by the same number of spaces"
		return p
	}
	_, what, found := strings.Cut(message, fmt.Sprintf("line %d: ", p.Line))
	if !found {
		what = strings.TrimPrefix(message, "yaml: ")
	}
	p.Text, p.Suggestion = "is not YAML: "+what, "look there and in the line before it: indentation, and colons, quotes and brackets without their other half"
	return p
}

// openQuote finds the first line with a quote that is not closed on it.
func openQuote(text string) (line int, quote string) {
	for i, line := range strings.Split(text, "\n") {
		if strings.Count(line, `"`)%2 == 1 {
			return i + 1, `"`
		}
	}
	return 0, ""
}

// level is a column in which fields or list items begin.
type level struct {
	indent, line int
	item         bool
	// closed reports whether the last field has its value on its line.
	closed bool
}

// crooked finds the first line whose column fits no line above it, and says how; 0 where
// all do. It looks at lines that begin with a field or an item, up to the first text of
// several lines.
func crooked(text string) (line int, why string) {
	var open []level
	for i, line := range strings.Split(text, "\n") {
		rest := strings.TrimLeft(strings.TrimSuffix(line, "\r"), " ")
		begins := level{indent: len(line) - len(strings.TrimLeft(line, " ")), line: i + 1, item: strings.HasPrefix(rest, "- ")}
		key := fieldLine.FindStringSubmatch(rest)
		if key == nil && !begins.item {
			continue
		}
		begins.closed = hasValue(key)
		deep := len(open)
		for len(open) > 0 && open[len(open)-1].indent > begins.indent {
			open = open[:len(open)-1]
		}
		if why = begins.misplaced(open, len(open) < deep); why != "" {
			return i + 1, why
		}
		if n := len(open); n > 0 && open[n-1].indent == begins.indent && open[n-1].item == begins.item {
			open = open[:n-1]
		}
		open = append(open, begins)
		for begins.item {
			// What follows the dash opens the column in which it stands.
			after := strings.TrimLeft(rest[2:], " ")
			inner := level{indent: begins.indent + len(rest) - len(after), line: i + 1, item: strings.HasPrefix(after, "- ")}
			key = fieldLine.FindStringSubmatch(after)
			inner.closed = hasValue(key)
			if key != nil || inner.item {
				open = append(open, inner)
			}
			begins, rest = inner, after
		}
		if key != nil && strings.IndexAny(key[1], "|>") == 0 {
			return 0, ""
		}
	}
	return 0, ""
}

// misplaced explains why a line does not fit the columns above it; empty if it does. back
// reports whether lines in deeper columns stand between.
func (l level) misplaced(open []level, back bool) string {
	if len(open) == 0 {
		return ""
	}
	above := open[len(open)-1]
	switch {
	case above.indent < l.indent && above.closed:
		return fmt.Sprintf("the line is indented further than line %d, which has its value already", above.line)
	case above.indent == l.indent && above.item && !l.item && (len(open) < 2 || open[len(open)-2].indent != l.indent):
		return fmt.Sprintf("a field stands in the column of line %d, which is a list item", above.line)
	case above.indent == l.indent && !above.item && l.item && (above.closed || back):
		return fmt.Sprintf("a list item stands in the column of line %d, which is a field", above.line)
	}
	return ""
}

// fieldLine is a line that begins with a field; its value may follow.
var fieldLine = regexp.MustCompile(`^[A-Za-z][\w./-]*:(?:\s+(.*))?$`)

// hasValue reports whether a field has its value on its line.
func hasValue(key []string) bool {
	return key != nil && key[1] != "" && !strings.ContainsAny(key[1][:1], "|>#&")
}

package surface

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Surface contains the facts, and for limits of numbers their value; other facts have the value "".
type Surface map[string]string

// Kinds of lines that restrict callers. A limit is "KIND PLACE UNIT = VALUE".
const (
	atMost  = "at-most"
	atLeast = "at-least"
	// requires is followed by the place of a field that must be set where its object is set.
	requires = "requires"
)

// fact adds a fact: words that a space separates.
func (s Surface) fact(words ...string) { s[strings.Join(words, " ")] = "" }

// limit adds a limit of a number.
func (s Surface) limit(kind, place string, value float64) {
	s[kind+" "+place] = strconv.FormatFloat(value, 'f', -1, 64)
}

// Add adds all facts of another surface.
func (s Surface) Add(other Surface) { maps.Copy(s, other) }

// Text returns the facts, one in a line, in order.
func (s Surface) Text() string {
	var text strings.Builder
	for _, line := range slices.Sorted(maps.Keys(s)) {
		text.WriteString(line)
		if value := s[line]; value != "" {
			text.WriteString(" = " + value)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// Parse reads what Text has written.
func Parse(text string) Surface {
	s := Surface{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		s[name] = value
	}
	return s
}

// Breaks returns a sentence for each promise of earlier that s does not keep, in order.
func (s Surface) Breaks(earlier Surface) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(earlier)) {
		was := earlier[name]
		is, kept := s[name]
		kind, place, _ := strings.Cut(name, " ")
		switch {
		case kind == requires, kind != atMost && kind != atLeast && kept, !kept && was != "":
			// Kept, or a restriction that is gone.
		case !kept:
			all = append(all, "gone or changed: "+name)
		case kind == atMost && number(is) < number(was):
			all = append(all, fmt.Sprintf("%s: at most %s was allowed, and now %s", place, was, is))
		case kind == atLeast && number(is) > number(was):
			all = append(all, fmt.Sprintf("%s: at least %s was required, and now %s", place, was, is))
		}
	}
	return append(all, s.restrictions(earlier)...)
}

// restrictions returns a sentence for each restriction that is new for what existed earlier, in order.
func (s Surface) restrictions(earlier Surface) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, before := earlier[name]; before {
			continue
		}
		kind, place, _ := strings.Cut(name, " ")
		switch kind {
		case requires:
			if parent := place[:strings.LastIndex(place, ".")]; earlier.has(parent) {
				all = append(all, place+" is required now")
			}
		case atMost, atLeast:
			if field := place[:strings.LastIndex(place, " ")]; earlier.has(field) {
				all = append(all, fmt.Sprintf("%s is limited now: %s %s", place, kind, s[name]))
			}
		}
	}
	return all
}

// has reports whether there is a field or an object at a place.
func (s Surface) has(place string) bool {
	for name := range s {
		if strings.HasPrefix(name, place+" is ") {
			return true
		}
	}
	return false
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("the limit %q is no number", text))
	}
	return value
}

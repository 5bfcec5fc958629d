package canonical

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// sorter rewrites JSON with the members of objects in order. It makes no values of the text, so
// that the memory that it needs is about the size of the text.
type sorter struct {
	text []byte // valid, without white space
	at   int
	out  []byte
}

// span is a member of an object in the output.
type span struct {
	name       string
	start, end int
}

// value rewrites the value at the present position.
func (s *sorter) value() error {
	switch s.text[s.at] {
	case '{':
		return s.object()
	case '[':
		return s.list()
	case '"':
		_, err := s.str()
		return err
	}
	start := s.at // a number, true, false or null
	for s.at < len(s.text) && !bytes.ContainsRune([]byte(",]}"), rune(s.text[s.at])) {
		s.at++
	}
	s.out = append(s.out, s.text[start:s.at]...)
	return nil
}

func (s *sorter) list() error {
	s.copyByte()
	for s.text[s.at] != ']' {
		if s.text[s.at] == ',' {
			s.copyByte()
		}
		if err := s.value(); err != nil {
			return err
		}
	}
	s.copyByte()
	return nil
}

// object rewrites the members of an object as they come, and then puts them in order.
func (s *sorter) object() error {
	s.copyByte()
	begin := len(s.out)
	var members []span
	for s.text[s.at] != '}' {
		if s.text[s.at] == ',' {
			s.copyByte()
		}
		start := len(s.out)
		name, err := s.str()
		if err != nil {
			return err
		}
		s.copyByte() // the colon
		if err := s.value(); err != nil {
			return err
		}
		members = append(members, span{string(name), start, len(s.out)})
	}
	s.order(begin, members)
	s.copyByte()
	return nil
}

// order puts the members of an object in order, which begin at a position of the output. Of
// members with one name the last one counts.
func (s *sorter) order(begin int, members []span) {
	if areInOrder(members) {
		return
	}
	slices.SortStableFunc(members, func(a, b span) int { return strings.Compare(a.name, b.name) })
	written := slices.Clone(s.out[begin:])
	s.out = s.out[:begin]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].name == m.name {
			continue
		}
		if len(s.out) > begin {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, written[m.start-begin:m.end-begin]...)
	}
}

// areInOrder reports whether the names of members rise, and no two are the same.
func areInOrder(members []span) bool {
	for i := 1; i < len(members); i++ {
		if members[i].name <= members[i-1].name {
			return false
		}
	}
	return true
}

// str rewrites a string in the one form that it has, and returns what it contains.
func (s *sorter) str() ([]byte, error) {
	start := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	quoted := s.text[start:s.at]
	if content := quoted[1 : len(quoted)-1]; isPlain(content) {
		s.out = append(s.out, quoted...)
		return content, nil
	}
	var content string
	if err := json.Unmarshal(quoted, &content); err != nil {
		return nil, fmt.Errorf("decoding a string: %w", err)
	}
	again, err := encoded(content)
	s.out = append(s.out, again...)
	return []byte(content), err
}

// isPlain reports whether a string has one form only: it needs no escaping, and has none.
func isPlain(content []byte) bool {
	return bytes.IndexByte(content, '\\') < 0 && utf8.Valid(content) &&
		!bytes.Contains(content, []byte("\u2028")) && !bytes.Contains(content, []byte("\u2029"))
}

func (s *sorter) copyByte() {
	s.out = append(s.out, s.text[s.at])
	s.at++
}

package netconf

import (
	"encoding/xml"
	"slices"
	"strings"
)

// differences describes what differs between elements with the same path.
func differences(from, to []*element, path string) (lines []string) {
	for _, name := range names(from, to) {
		before, after := named(from, name), named(to, name)
		for len(before) > 0 && len(after) > 0 && before[0].equals(after[0]) {
			before, after = before[1:], after[1:]
		}
		for len(before) > 0 && len(after) > 0 && before[len(before)-1].equals(after[len(after)-1]) {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		lines = append(lines, differencesOf(before, after, path)...)
	}
	return lines
}

// differencesOf describes what differs between elements of one name. An entry of a list is known by its first element.
func differencesOf(before, after []*element, path string) (lines []string) {
	inOrder := true
	taken := make([]bool, len(after))
	var missing []*element
	for i, e := range before {
		j := slices.IndexFunc(after, func(other *element) bool { return e.matches(other) })
		if j < 0 || taken[j] {
			missing = append(missing, e)
			continue
		}
		taken[j] = true
		inOrder = inOrder && i == j
		if len(e.children) > 0 {
			lines = append(lines, differences(e.children, after[j].children, path+e.label()+"/")...)
		}
	}
	for _, e := range missing {
		lines = append(lines, "- "+path+e.label()+e.value())
	}
	for j, e := range after {
		if !taken[j] {
			lines = append(lines, "+ "+path+e.label()+e.value())
		}
	}
	if len(lines) == 0 && !inOrder {
		lines = append(lines, "- "+path+before[0].label()+before[0].value()+" (in this place)", "+ "+path+after[0].label()+after[0].value()+" (in this place)")
	}
	return lines
}

// equals reports whether two elements are the same, with what is in them.
func (e *element) equals(other *element) bool {
	return e.name == other.name && e.meaning() == other.meaning() && len(differences(e.children, other.children, "")) == 0
}

// meaning is the text with its namespace in place of a prefix, which each side may call as it likes.
func (e *element) meaning() string {
	if len(e.prefixes) == 0 {
		return e.text
	}
	_, name, _ := strings.Cut(e.text, ":")
	return "{" + e.prefixes[0].Value + "}" + name
}

// matches reports whether two elements of one name are the same entry, with differences in it. The first element of an entry
// of a list is its key (RFC 7950 section 7.8.5), so that two keys are two entries.
func (e *element) matches(other *element) bool {
	if len(e.children) == 0 || len(other.children) == 0 {
		return e.equals(other)
	}
	a, b := e.children[0], other.children[0]
	return a.name != b.name || len(a.children) > 0 || a.meaning() == b.meaning()
}

// label is the name of an element, and of an entry with its key.
func (e *element) label() string {
	if len(e.children) > 1 && len(e.children[0].children) == 0 && e.children[0].text != "" {
		return e.name.Local + "[" + e.children[0].name.Local + "=" + e.children[0].hidden() + "]"
	}
	return e.name.Local
}

// value is the text of an element behind an equals sign; empty without text.
func (e *element) value() string {
	if e.text == "" {
		return ""
	}
	return " = " + e.hidden()
}

// hidden is the text of an element that has no secret.
func (e *element) hidden() string {
	if secretName.MatchString(e.name.Local) {
		return "(hidden)"
	}
	return e.text
}

// names returns the names of elements, in the order of their first occurrence.
func names(lists ...[]*element) (out []xml.Name) {
	for _, list := range lists {
		for _, e := range list {
			if !slices.Contains(out, e.name) {
				out = append(out, e.name)
			}
		}
	}
	return out
}

func named(list []*element, name xml.Name) (out []*element) {
	for _, e := range list {
		if e.name == name {
			out = append(out, e)
		}
	}
	return out
}

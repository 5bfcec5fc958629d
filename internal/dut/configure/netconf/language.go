package netconf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Language of configurations in XML, as a device returns them for get-config. The order of entries with one name counts, for
// example in an access list. The order of elements with other names does not.
type Language struct{}

var _ configure.Language = Language{}

// element of a configuration.
type element struct {
	name xml.Name
	// prefixes are the namespace that the text uses, as in ianaift:ethernetCsmacd; while it is read, all that are known there.
	prefixes []xml.Attr
	text     string
	children []*element
}

// read reads the elements of a configuration.
func read(text string) ([]*element, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	root := &element{}
	stack := []*element{root}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && len(stack) == 1 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is no XML: %w: want elements such as those that nodrop configure read prints", err)
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name, prefixes: slices.Clone(top.prefixes)}
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" {
					e.prefixes = append(e.prefixes, a)
				}
			}
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			if len(top.children) > 0 {
				top.text = ""
			}
			top.text = strings.TrimSpace(top.text)
			top.prefixes = used(top.prefixes, top.text)
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(t)
		}
	}
	if strings.TrimSpace(root.text) != "" {
		return nil, fmt.Errorf("it has text outside of elements: %q: want elements such as those that nodrop configure read prints", beginning(strings.TrimSpace(root.text)))
	}
	if len(root.children) == 1 && slices.Contains([]string{"config", "data"}, root.children[0].name.Local) {
		return root.children[0].children, nil
	}
	return root.children, nil
}

// used returns the declaration of the prefix of a text, of which the innermost is the last.
func used(known []xml.Attr, text string) []xml.Attr {
	prefix, _, found := strings.Cut(text, ":")
	for _, a := range slices.Backward(known) {
		if found && a.Name.Local == prefix {
			return []xml.Attr{a}
		}
	}
	return nil
}

func beginning(text string) string { return text[:min(len(text), 40)] }

// Parse implements configure.Language. The elements may be within config or data.
func (Language) Parse(text string) (configure.Configuration, error) {
	elements, err := read(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, e := range elements {
		if e.name.Space == "" {
			return "", fmt.Errorf("element %s has no namespace: want xmlns, as in the output of nodrop configure read", e.name.Local)
		}
		e.write(&out, "", "", "")
	}
	return configure.Configuration(out.String()), nil
}

// write writes an element with the namespace around it, an indent for each level, and further attributes.
func (e *element) write(out *strings.Builder, around, indent, attributes string) {
	out.WriteString(indent + "<" + e.name.Local)
	if e.name.Space != around {
		out.WriteString(` xmlns="` + escaped(e.name.Space) + `"`)
	}
	for _, p := range e.prefixes {
		out.WriteString(` xmlns:` + p.Name.Local + `="` + escaped(p.Value) + `"`)
	}
	out.WriteString(attributes)
	switch {
	case len(e.children) > 0:
		out.WriteString(">\n")
		for _, c := range e.children {
			c.write(out, e.name.Space, indent+"  ", "")
		}
		out.WriteString(indent + "</" + e.name.Local + ">\n")
	case e.text != "":
		out.WriteString(">" + escaped(e.text) + "</" + e.name.Local + ">\n")
	default:
		out.WriteString("/>\n")
	}
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}

// edit returns the elements of an edit that replaces what a device has at the top level, and removes what is not wanted there.
func edit(have, want configure.Configuration) (string, error) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return "", err
	}
	operation := func(name string) string { return ` xmlns:nc="` + base + `" nc:operation="` + name + `"` }
	var out strings.Builder
	for _, e := range from {
		gone := &element{name: e.name}
		wanted := named(to, e.name)
		if len(named(from, e.name)) > 1 || len(wanted) > 1 { // A list: its entries are known by their first element.
			gone.children = e.children[:min(len(e.children), 1)]
			wanted = slices.DeleteFunc(wanted, func(other *element) bool { return !e.matches(other) })
		}
		if len(wanted) == 0 {
			gone.write(&out, "", "", operation("remove"))
		}
	}
	for _, e := range to {
		e.write(&out, "", "", operation("replace"))
	}
	return out.String(), nil
}

// Commands implements configure.Language: the elements of one edit.
func (l Language) Commands(have, want configure.Configuration) []string {
	if len(l.Differences(have, want)) == 0 {
		return nil
	}
	text, err := edit(have, want)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

var (
	secretName = regexp.MustCompile(`^` + configure.SecretNames + `$`)
	secretText = regexp.MustCompile(`(<(?:[\w\-]+:)?` + configure.SecretNames + `(?:\s[^>]*)?>)[^<]+`)
)

// Mask implements configure.Language.
func (Language) Mask(text string) string { return secretText.ReplaceAllString(text, "$1(hidden)") }

// Differences implements configure.Language.
func (Language) Differences(from, to configure.Configuration) []string {
	return configure.DifferencesBetween(from, to, read, func(before, after []*element) []string { return differences(before, after, "") })
}

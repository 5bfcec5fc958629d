package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

var _ configure.Language = (*Dialect)(nil)

// tree is a configuration: the lines of one context, in the order of the device.
type tree []node

// node is a line, with the lines of the context that it opens.
type node struct {
	Line     string
	Children tree
}

// Dialect describes how a kind of device writes configurations.
type Dialect struct {
	// Comments are the beginnings of lines that configure nothing.
	Comments []string
	// Closing are the lines that end a context, also with more behind a dash.
	Closing []string
	// Permanent are the beginnings of lines whose context cannot be removed, such as an interface.
	Permanent []string
	// Exit leaves a context.
	Exit string
	// Negation returns the command that removes a line; nil is No.
	Negation Negation
	// Always is the beginning of a line at the top that every device reports, and AlwaysExample such a line; empty if there is none.
	Always, AlwaysExample string
	// Secrets matches secrets in lines and answers: groups 1 and 2 stay, and the rest is hidden. Nil if
	// the device has none.
	Secrets *regexp.Regexp
}

// Mask hides the secrets in a line or an answer.
func (d *Dialect) Mask(text string) string {
	if d.Secrets == nil {
		return text
	}
	return d.Secrets.ReplaceAllString(text, "$1$2 (hidden)")
}

// Parse implements configure.Language. Any text is a configuration.
func (d *Dialect) Parse(text string) (configure.Configuration, error) {
	return configure.Configuration(d.read(text).String()), nil
}

// Complete implements configure.Completer.
func (d *Dialect) Complete(c configure.Configuration) error {
	if d.Always == "" || strings.HasPrefix(string(c), d.Always) || strings.Contains(string(c), "\n"+d.Always) {
		return nil
	}
	return fmt.Errorf("it has no line %q, which the device always reports: add the one that the device has, such as %s", strings.TrimSpace(d.Always), d.AlwaysExample)
}

// read reads a configuration whose contexts are indented by spaces. A line that occurs twice in a context
// is one.
func (d *Dialect) read(text string) tree {
	var root node
	type level struct {
		indent int
		at     *node
	}
	stack := []level{{-1, &root}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		content := strings.TrimLeft(line, " \t")
		if content == "" || begins(content, d.Comments) || d.closes(content) {
			continue
		}
		indent := len(line) - len(content)
		for stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		parent := stack[len(stack)-1].at
		i := parent.Children.index(content)
		if i < 0 {
			parent.Children = append(parent.Children, node{Line: content})
			i = len(parent.Children) - 1
		}
		// Nothing is added to a context of the stack above this one, so that its nodes stay where they are.
		stack = append(stack, level{indent, &parent.Children[i]})
	}
	return root.Children
}

func begins(line string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(line, b) })
}

// closes reports whether a line ends a context, such as exit and exit-address-family.
func (d *Dialect) closes(line string) bool {
	first, _, _ := strings.Cut(line, "-")
	return slices.Contains(d.Closing, first)
}

// index returns the place of a line; -1 if it is not there.
func (t tree) index(line string) int {
	return slices.IndexFunc(t, func(n node) bool { return n.Line == line })
}

// childrenOf returns the lines of a context; none if it is not there.
func (t tree) childrenOf(line string) tree {
	if i := t.index(line); i >= 0 {
		return t[i].Children
	}
	return nil
}

// String writes the configuration as a device does, one space for each level.
func (t tree) String() string {
	var out strings.Builder
	t.write(&out, "")
	return out.String()
}

func (t tree) write(out *strings.Builder, indent string) {
	for i := range t {
		out.WriteString(indent + t[i].Line + "\n")
		t[i].Children.write(out, indent+" ")
	}
}

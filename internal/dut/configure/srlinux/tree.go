package srlinux

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Beginnings of commands with a path from the root.
const (
	set    = "set / "
	remove = "delete / "
)

var errNoInstance = errors.New("it has no network instance, which the device always reports: give a whole configuration, such as the output of nodrop configure read with changes")

// node is a context with the lines in it, or a line without braces.
type node struct {
	// text without braces: the whole path of a line that begins with "set /".
	text string
	// context reports whether the line has braces, and flat whether it has a whole path.
	context, flat bool
	children      []*node
}

// read reads contexts with braces and lines that begin with "set /". It fails for a line that is neither.
func read(text string) (*node, error) {
	root := &node{context: true}
	stack := []*node{root}
	number := 0
	for rest := text; rest != ""; {
		var line string
		var lines int
		line, rest, lines = statement(rest)
		number += lines
		at := stack[len(stack)-1]
		switch {
		case line == "" || line[0] == '#' || line[0] == '!':
		case line == "}":
			if len(stack) == 1 {
				return nil, fmt.Errorf("line %d: a brace closes no context", number)
			}
			stack = stack[:len(stack)-1]
		case len(stack) == 1 && isFlatWithBrace(line):
			return nil, fmt.Errorf("line %d: %.60q: a line of info flat, which begins with set /, ends without a brace: remove the brace, or write the context without set /", number, Language{}.Mask(line))
		case strings.HasSuffix(line, " {"):
			stack = append(stack, at.add(node{text: strings.TrimSuffix(line, " {"), context: true}))
		case len(stack) > 1:
			at.add(node{text: line})
		default:
			path, is := absolute(line)
			if !is {
				return nil, fmt.Errorf("line %d: %.60q: want a line of info flat, which begins with set /, or a context of info, which ends with {", number, Language{}.Mask(line))
			}
			at.add(node{text: path, flat: true})
		}
	}
	if len(stack) > 1 {
		return nil, fmt.Errorf("the context %q has no closing brace", stack[len(stack)-1].text)
	}
	return root, nil
}

// absolute returns the path of a line that begins with "set /", with or without a space.
func absolute(line string) (string, bool) {
	path, is := strings.CutPrefix(line, "set /")
	path = strings.TrimSpace(path)
	return path, is && path != ""
}

// isFlatWithBrace reports whether a line has a whole path and ends as the first one of a context.
func isFlatWithBrace(line string) bool {
	path, is := absolute(line)
	return is && (path == "{" || strings.HasSuffix(path, " {"))
}

// plain are quotes around a value that needs none: the device prints it without.
var plain = regexp.MustCompile(`(^| )"([\w.:/@+-]+)"( |$)`)

// statement returns the first statement of a text, what is behind it, and its number of lines: a quoted value and a list in brackets may have
// several.
func statement(text string) (line, rest string, lines int) {
	var parts []string
	quoted, listed := false, false
	for {
		next, behind, _ := strings.Cut(text, "\n")
		text = behind
		lines++
		next = strings.TrimRight(next, " \t\r")
		if !quoted {
			next = strings.TrimLeft(next, " \t")
		}
		switch {
		case quoted:
			parts = append(parts, "\n", next)
		case listed && next != "":
			parts = append(parts, " ", next)
		case !listed:
			parts = append(parts, next)
		}
		if quoted = quoted != opens(next); !quoted {
			listed = (listed || beginsList(next)) && !strings.HasSuffix(next, "]")
		}
		if text == "" || !quoted && !listed {
			return plain.ReplaceAllString(strings.Join(parts, ""), "$1$2$3"), text, lines
		}
	}
}

// opens reports whether a line has an odd number of quotes.
func opens(line string) bool {
	odd := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			odd = !odd
		}
	}
	return odd
}

// beginsList reports whether a list of values begins in a line, and has no end there.
func beginsList(line string) bool {
	return strings.HasSuffix(line, " [") || strings.Contains(line, " [ ")
}

// add adds a line or a context to a context, unless it is there, and returns it.
func (n *node) add(child node) *node {
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.text == child.text && c.context == child.context && c.flat == child.flat })
	if i >= 0 {
		return n.children[i]
	}
	n.children = append(n.children, &child)
	return &child
}

// lines returns the paths of all leaves, and of contexts without any, in the order of the text.
func (n *node) lines() []string {
	var all []string
	n.collect("", &all)
	within := inOrder(all)
	return slices.DeleteFunc(all, func(line string) bool { return within.below(line) })
}

func (n *node) collect(path string, all *[]string) {
	for _, c := range n.children {
		*all = append(*all, path+c.text)
		c.collect(path+c.text+" ", all)
	}
}

// paths are lines without "set /", in the order of their bytes.
type paths []string

func inOrder(lines []string) paths { return slices.Sorted(slices.Values(lines)) }

// has reports whether a line is among the paths.
func (p paths) has(line string) bool {
	_, is := slices.BinarySearch(p, line)
	return is
}

// below reports whether a path leads on from a line.
func (p paths) below(line string) bool {
	i, _ := slices.BinarySearch(p, line+" ")
	return i < len(p) && strings.HasPrefix(p[i], line+" ")
}

// removals returns the paths to delete so that a device that has the lines of this configuration keeps the wanted ones.
func (n *node) removals(wanted paths) (found []string) {
	n.remove("", wanted, &found)
	return found
}

// remove adds the paths to delete below a context.
func (n *node) remove(path string, wanted paths, found *[]string) {
	for _, c := range n.children {
		full := path + c.text
		name, value, _ := strings.Cut(c.text, " ")
		switch kept := wanted.has(full) || wanted.below(full); {
		case c.context && kept:
			c.remove(full+" ", wanted, found)
		case kept:
		case c.context || c.flat:
			*found = append(*found, full)
		case wanted.below(path+name) && !strings.HasPrefix(value, "["):
			// Another value of the leaf is set.
		default:
			*found = append(*found, path+name)
		}
	}
}

// write writes the lines as the device does.
func (n *node) write(out *strings.Builder, indent string) {
	for _, c := range n.children {
		switch {
		case c.flat:
			out.WriteString(set + c.text + "\n")
		case !c.context:
			out.WriteString(indent + c.text + "\n")
		default:
			out.WriteString(indent + c.text + " {\n")
			c.write(out, indent+"    ")
			out.WriteString(indent + "}\n")
		}
	}
}

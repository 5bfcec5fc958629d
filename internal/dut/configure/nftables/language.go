package nftables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// flush is the first line of each configuration: nft removes all rules before it adds those that follow, so
// that a file is whole.
const flush = "flush ruleset"

// Language of rule sets, as nft -s list ruleset prints them. The order of rules counts.
type Language struct{}

var _ configure.Language = Language{}

// Parse implements configure.Language. A text that does not begin with flush ruleset would add to the rules that
// the device has, and is refused.
func (Language) Parse(text string) (configure.Configuration, error) {
	lines := []string{flush}
	first, depth := true, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		content := strings.TrimLeft(line, " \t")
		switch {
		case content == "" || content[0] == '#':
			continue
		case first && content != flush:
			return "", fmt.Errorf("the first line is %q: want %q, which makes the rules behind it all that the device has", content, flush)
		case !first:
			lines = append(lines, line)
		}
		depth += strings.Count(content, "{") - strings.Count(content, "}")
		first = false
	}
	if first {
		return "", nil
	}
	if depth != 0 {
		return "", errors.New("the braces are not balanced: want a whole configuration, such as the output of nodrop configure read")
	}
	return configure.Configuration(strings.Join(lines, "\n") + "\n"), nil
}

// Commands implements configure.Language. They are one transaction.
func (l Language) Commands(have, want configure.Configuration) []string {
	if len(l.Differences(have, want)) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
}

// Mask implements configure.Language: rules have no secrets.
func (Language) Mask(text string) string { return text }

// Differences implements configure.Language. Rules that only changed places are described by the first one that
// is in another place.
func (Language) Differences(from, to configure.Configuration) []string {
	before, after := statements(from), statements(to)
	if slices.Equal(before, after) {
		return nil
	}
	missing, more := without(before, after), without(after, before)
	if len(missing)+len(more) == 0 {
		for i := range before {
			if before[i] != after[i] {
				return []string{"- " + before[i] + " (in this place)", "+ " + after[i] + " (in this place)"}
			}
		}
	}
	var lines []string
	for _, s := range missing {
		lines = append(lines, "- "+s)
	}
	for _, s := range more {
		lines = append(lines, "+ "+s)
	}
	return lines
}

// without returns the statements that another list does not have, or not as often.
func without(list, other []string) (left []string) {
	count := map[string]int{}
	for _, s := range other {
		count[s]++
	}
	for _, s := range list {
		if count[s]--; count[s] < 0 {
			left = append(left, s)
		}
	}
	return left
}

// statements returns the statements of a configuration with the blocks around them, outermost first. A list of
// elements that nft wraps is one statement.
func statements(c configure.Configuration) (out []string) {
	var blocks []string
	statement, open := "", 0
	for line := range strings.Lines(string(c)) {
		line = strings.Join(strings.Fields(line), " ")
		if open == 0 {
			if line == "}" {
				blocks = blocks[:max(0, len(blocks)-1)]
				continue
			}
			if block, is := strings.CutSuffix(line, " {"); is {
				out = append(out, within(blocks, block))
				blocks = append(blocks, block)
				continue
			}
		}
		statement = strings.TrimSpace(statement + " " + line)
		if open += strings.Count(line, "{") - strings.Count(line, "}"); open > 0 {
			continue
		}
		out = append(out, within(blocks, statement))
		statement, open = "", 0
	}
	if statement != "" {
		out = append(out, within(blocks, statement))
	}
	return out
}

func within(blocks []string, statement string) string {
	return strings.Join(append(slices.Clone(blocks), statement), " > ")
}

package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// foldedFrom is the least number of ports in a row that a report folds.
const foldedFrom = 4

var listedNames = regexp.MustCompile(`[a-z][-a-z]*[0-9]+(?:, [a-z][-a-z]*[0-9]+){3,}`)

// foldPorts writes four and more ports that count up as a range: "p1 to p32" for "p1, p2, …, p32".
func foldPorts(text string) string {
	return listedNames.ReplaceAllStringFunc(text, func(list string) string {
		names := strings.Split(list, ", ")
		var parts []string
		for i := 0; i < len(names); {
			end := i + 1
			for end < len(names) && follows(names[end-1], names[end]) {
				end++
			}
			if end-i < foldedFrom {
				end = i + 1
				parts = append(parts, names[i])
			} else {
				parts = append(parts, fmt.Sprintf("%s to %s", names[i], names[end-1]))
			}
			i = end
		}
		return strings.Join(parts, ", ")
	})
}

// follows reports whether a name is the next one: p10 after p9.
func follows(before, name string) bool {
	cut := func(name string) (string, int) {
		digits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz-")
		n, _ := strconv.Atoi(digits)
		return strings.TrimSuffix(name, digits), n
	}
	prefix, n := cut(before)
	next, m := cut(name)
	return prefix == next && m == n+1
}

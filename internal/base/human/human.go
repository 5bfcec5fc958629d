// Package human writes values for people.
package human

import (
	"strings"
	"time"
)

// Duration writes a duration without parts at its end that are zero: "36h" and "1h30m", not
// "36h0m0s".
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Cut returns a text of at most so many bytes, three or more, which ends with "..." if it was longer. It cuts between characters.
func Cut(text string, most int) string {
	const end = "..."
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(end)], "") + end
}

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	given := make([]string, 0, len(parts))
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	return strings.Join(given, separator)
}

// LastLines returns the last lines of the output of a program, at most so many, each behind a line break; empty for no output.
func LastLines(output string, most int) string {
	output = strings.TrimSpace(output)
	if output == "" {
		return ""
	}
	lines := strings.Split(output, "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-most):], "\n")
}

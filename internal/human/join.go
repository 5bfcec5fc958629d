package human

import "strings"

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

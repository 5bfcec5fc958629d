package labpage

import (
	"cmp"
	"strings"
)

// compareNaturally compares names with numbers in them by their values: load-2 comes before load-10. Names that differ only in
// leading zeros are compared as texts.
func compareNaturally(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n > 0 && m > 0 {
			p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits returns the number of digits at the beginning of a text.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

package iproute2

import "slices"

// change is a command of ip about one route.
type change struct {
	verb string
	route
}

// line is the change as a line of a batch, which is of one family.
func (c change) line() string { return "route " + c.verb + " " + c.text }

func (c change) String() string { return "ip " + c.family + " " + c.line() }

// changes returns the commands that lead from some routes to others, by family. A route that gets another next hop is replaced, so
// that the device has one of both at any time. Direct routes are removed last and added first.
func changes(from, to []route) (all []change) {
	for _, family := range families {
		gone, more := without(of(family, from), to), without(of(family, to), from)
		replaced := replacements(gone, more)
		for _, direct := range []bool{false, true} {
			for _, r := range gone {
				if r.direct() == direct && !replaced[r.key()] {
					all = append(all, change{"del", r})
				}
			}
		}
		for _, direct := range []bool{true, false} {
			for _, r := range more {
				switch {
				case r.direct() != direct:
				case replaced[r.key()]:
					all = append(all, change{"replace", r})
				default:
					all = append(all, change{"add", r})
				}
			}
		}
	}
	return all
}

// of returns the routes of a family.
func of(family string, routes []route) []route {
	return slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return r.family != family })
}

// replacements returns the keys of routes that are replaced: one route has the key before, and one afterwards.
func replacements(gone, more []route) map[string]bool {
	count := func(routes []route) map[string]int {
		n := map[string]int{}
		for _, r := range routes {
			n[r.key()]++
		}
		return n
	}
	before, after, replaced := count(gone), count(more), map[string]bool{}
	for key, n := range before {
		replaced[key] = n == 1 && after[key] == 1
	}
	return replaced
}

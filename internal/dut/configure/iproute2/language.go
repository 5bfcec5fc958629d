package iproute2

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Language of routes: each line is the command that adds one, with the route as ip route prints it. The order of lines does not
// count.
type Language struct{}

var _ configure.Language = Language{}

// Families of routes, as arguments of ip, in the order in which they are changed.
var families = []string{"-4", "-6", "-f mpls"}

// adding matches a line. What it has goes to ip, which reads some other characters as the end of a command, or as a part of the
// next one.
var adding = regexp.MustCompile(`^ip (?:(-4|-6|-f mpls) )?route add ([A-Za-z0-9_.:/@+\- ]+)$`)

// route is a route of a family.
type route struct {
	family string
	// text is the route as ip prints it.
	text string
}

func (r route) String() string { return "ip " + r.family + " route add " + r.text }

// state are the words with which ip prints the state of a route. They are no part of its configuration.
var state = map[string]bool{
	"dead": true, "linkdown": true, "offload": true, "trap": true, "unresolved": true, "rt_offload": true, "rt_trap": true, "rt_offload_failed": true,
}

// newRoute returns a route from the words that ip prints. Its protocol is at the end, but before next hops, wherever it was.
func newRoute(family string, words []string) route {
	var kept []string
	protocol := defaultProtocol
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "error": // The reason why a destination is unreachable.
			i++
		case words[i] == "proto":
			if i++; i < len(words) {
				protocol = words[i]
			}
		case words[i] != `\` && !state[words[i]]: // The next hop after a backslash is on a line of its own.
			kept = append(kept, words[i])
		}
	}
	if protocol != defaultProtocol && len(kept) > 0 {
		end := slices.Index(kept, "nexthop")
		if end < 0 {
			end = len(kept)
		}
		kept = slices.Insert(kept, end, "proto", protocol)
	}
	return route{family, strings.Join(kept, " ")}
}

// defaultProtocol is the protocol of routes that are added without one.
const defaultProtocol = "boot"

// types of routes that ip prints before the destination.
var types = map[string]bool{
	"anycast": true, "blackhole": true, "broadcast": true, "local": true, "multicast": true, "prohibit": true, "throw": true, "unicast": true, "unreachable": true,
}

// key identifies the route that the kernel replaces by another one: its destination, type of service and metric.
func (r route) key() string {
	words := strings.Fields(r.text)
	if len(words) > 1 && types[words[0]] {
		words = words[1:]
	}
	key := r.family + " " + words[0]
	for i, word := range words[:len(words)-1] {
		if word == "metric" || word == "tos" {
			key += " " + word + " " + words[i+1]
		}
	}
	return key
}

// direct reports whether a route has no router as its next hop. The kernel adds a route to a router only if it has a direct route
// to that.
func (r route) direct() bool { return !slices.Contains(strings.Fields(r.text), "via") }

// read reads a configuration.
func read(text string) (routes []route, _ error) {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || line[0] == '#' {
			continue
		}
		found := adding.FindStringSubmatch(line)
		if found == nil {
			return nil, fmt.Errorf("%.80q adds no route: want lines such as \"ip -4 route add 198.18.9.0/24 via 198.18.1.9 dev e1\", as in the output of nodrop configure read", line)
		}
		if found[1] == "" {
			found[1] = families[0]
		}
		r := newRoute(found[1], strings.Fields(found[2]))
		if r.text == "" {
			return nil, fmt.Errorf("%.80q has no destination: want a route, as in the output of nodrop configure read", line)
		}
		if slices.Contains(routes, r) {
			return nil, fmt.Errorf("%.80q is there twice: remove one of the lines", line)
		}
		routes = append(routes, r)
	}
	slices.SortFunc(routes, func(a, b route) int {
		if a.family != b.family {
			return slices.Index(families, a.family) - slices.Index(families, b.family)
		}
		return strings.Compare(a.text, b.text)
	})
	return routes, nil
}

// Parse implements configure.Language.
func (Language) Parse(text string) (configure.Configuration, error) {
	routes, err := read(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, r := range routes {
		out.WriteString(r.String() + "\n")
	}
	return configure.Configuration(out.String()), nil
}

// Commands implements configure.Language.
func (Language) Commands(have, want configure.Configuration) (lines []string) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil
	}
	for _, c := range changes(from, to) {
		lines = append(lines, c.String())
	}
	return lines
}

// Mask implements configure.Language: routes have no secrets.
func (Language) Mask(text string) string { return text }

// Differences implements configure.Language.
func (Language) Differences(from, to configure.Configuration) []string {
	return configure.DifferencesBetween(from, to, read, func(before, after []route) (lines []string) {
		for _, r := range without(before, after) {
			lines = append(lines, "- "+r.String())
		}
		for _, r := range without(after, before) {
			lines = append(lines, "+ "+r.String())
		}
		return lines
	})
}

// without returns the routes that another list does not have.
func without(routes, other []route) []route {
	has := map[route]bool{}
	for _, r := range other {
		has[r] = true
	}
	return slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return has[r] })
}

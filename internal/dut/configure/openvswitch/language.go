package openvswitch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Language of flows, as ovs-ofctl dump-flows prints them without statistics, behind a line with their bridge. The order of flows
// does not count: they have priorities.
type Language struct{}

var _ configure.Language = Language{}

// bridgeLine begins the flows of a bridge. Its name goes into commands.
var bridgeLine = regexp.MustCompile(`^bridge ([A-Za-z0-9_.\-]{1,15})$`)

// flows of bridges by their names.
type flows map[string][]string

// read reads a configuration.
func read(text string) (flows, error) {
	all, bridge := flows{}, ""
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		found := bridgeLine.FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#':
		case found != nil:
			bridge = found[1]
			if _, twice := all[bridge]; twice {
				return nil, fmt.Errorf("bridge %s is there twice: want all of its flows behind one line", bridge)
			}
			all[bridge] = nil
		case bridge == "" || strings.HasPrefix(line, "bridge "):
			return nil, fmt.Errorf("%.80q is behind no bridge: want a line such as \"bridge br0\" before its flows, as in the output of nodrop configure read", line)
		case !strings.Contains(line, "actions="):
			return nil, fmt.Errorf("%.80q is no flow: want one with actions, as in the output of nodrop configure read", line)
		default:
			all[bridge] = append(all[bridge], line)
		}
	}
	for _, lines := range all {
		slices.Sort(lines)
	}
	return all, nil
}

func (f flows) String() string {
	var out strings.Builder
	for _, bridge := range slices.Sorted(maps.Keys(f)) {
		out.WriteString("bridge " + bridge + "\n")
		for _, flow := range f[bridge] {
			out.WriteString(flow + "\n")
		}
	}
	return out.String()
}

// Parse implements configure.Language.
func (Language) Parse(text string) (configure.Configuration, error) {
	all, err := read(text)
	if err != nil {
		return "", err
	}
	return configure.Configuration(all.String()), nil
}

// Commands implements configure.Language. Those of a bridge are one transaction.
func (Language) Commands(have, want configure.Configuration) (lines []string) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil
	}
	for _, bridge := range slices.Sorted(maps.Keys(to)) {
		if !slices.Equal(from[bridge], to[bridge]) {
			lines = append(append(lines, replace(bridge)), to[bridge]...)
		}
	}
	return lines
}

// Mask implements configure.Language: flows have no secrets.
func (Language) Mask(text string) string { return text }

// Differences implements configure.Language.
func (Language) Differences(from, to configure.Configuration) []string {
	return configure.DifferencesBetween(from, to, read, func(before, after flows) []string {
		return append(missing("- ", before, after), missing("+ ", after, before)...)
	})
}

// missing describes the bridges and flows that another configuration does not have.
func missing(sign string, all, other flows) (lines []string) {
	for _, bridge := range slices.Sorted(maps.Keys(all)) {
		if _, has := other[bridge]; !has {
			lines = append(lines, sign+"bridge "+bridge)
		}
		left := slices.Clone(other[bridge])
		for _, flow := range all[bridge] {
			if i := slices.Index(left, flow); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			lines = append(lines, sign+bridge+": "+flow)
		}
	}
	return lines
}

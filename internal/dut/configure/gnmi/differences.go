package gnmi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// differences describes what differs between two values at a path: nil is none.
func differences(path string, from, to any) []string {
	before, isTree := from.(tree)
	after, areTrees := to.(tree)
	if (isTree || from == nil) && (areTrees || to == nil) && (isTree || areTrees) {
		return ofTrees(path, before, after)
	}
	list, isList := from.([]any)
	other, areLists := to.([]any)
	if (isList || from == nil) && (areLists || to == nil) && (isList || areLists) && (ofEntries(list) || ofEntries(other)) {
		return ofLists(path, list, other)
	}
	if text(from) == text(to) {
		return nil
	}
	var out []string
	if from != nil {
		out = append(out, "- "+path+" = "+hidden(path, from))
	}
	if to != nil {
		out = append(out, "+ "+path+" = "+hidden(path, to))
	}
	return out
}

func ofTrees(path string, before, after tree) (out []string) {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, has := before[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, differences(path+"/"+name, before[name], after[name])...)
	}
	return out
}

// ofEntries reports whether a list has entries, and not values.
func ofEntries(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool { _, is := e.(tree); return !is })
}

// ofLists describes what differs between entries, which are known by their keys, and their order if nothing else does.
func ofLists(path string, before, after []any) (out []string) {
	known := slices.Concat(before, after)
	label := func(e any) string { return path + keys(e, known) }
	inOrder := true
	taken := make([]bool, len(after))
	for i, e := range before {
		j := -1
		for k, o := range after {
			if !taken[k] && label(e) == label(o) {
				j = k
				break
			}
		}
		if j < 0 {
			out = append(out, differences(label(e), e, nil)...)
			continue
		}
		taken[j] = true
		inOrder = inOrder && i == j
		out = append(out, differences(label(e), e, after[j])...)
	}
	for j, e := range after {
		if !taken[j] {
			out = append(out, differences(label(e), nil, e)...)
		}
	}
	if len(out) == 0 && !inOrder {
		for i, e := range before {
			if label(e) != label(after[i]) {
				return []string{"- " + label(e) + " (in this place)", "+ " + label(after[i]) + " (in this place)"}
			}
		}
	}
	return out
}

// keyNames are the leaves that are the key of a list in most modules without OpenConfig's pairs of config and state.
var keyNames = []string{"name", "id", "index", "sequence-id", "key", "prefix", "ip", "address"}

// keys returns the leaves that tell an entry from others: all leaves of an entry of OpenConfig, which are keys, or else the
// first usual name that all of them have.
func keys(entry any, all []any) string {
	e, _ := entry.(tree)
	var out strings.Builder
	if _, has := e["config"].(tree); has {
		for _, name := range slices.Sorted(maps.Keys(e)) {
			switch e[name].(type) {
			case tree, []any:
			default:
				out.WriteString("[" + name + "=" + hidden(name, e[name]) + "]")
			}
		}
		return out.String()
	}
	for _, name := range keyNames {
		if !slices.ContainsFunc(all, func(o any) bool { t, _ := o.(tree); return t[name] == nil }) {
			return "[" + name + "=" + text(e[name]) + "]"
		}
	}
	return ""
}

func text(v any) string { return fmt.Sprint(v) }

// hidden is the value at a path that has no secret.
func hidden(path string, v any) string {
	if secretName.MatchString(gnmiaccess.Local(path[strings.LastIndex(path, "/")+1:])) {
		return "(hidden)"
	}
	return text(v)
}

package gnmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// Language of configurations in JSON (RFC 7951), as a device returns them at the root. The order of the entries of a list
// counts, for example in a policy. The order of members does not.
type Language struct{}

var _ configure.Language = Language{}

// tree is a container, or an entry of a list.
type tree = map[string]any

// read reads a configuration without the state of OpenConfig modules.
func read(text string) (tree, error) {
	if strings.TrimSpace(text) == "" {
		return tree{}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var all tree
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("it is no object of JSON: %w: want one such as nodrop configure read prints", err)
	}
	if decoder.More() {
		return nil, errors.New("it has text behind the object of JSON: want one object, such as nodrop configure read prints")
	}
	for name, v := range all {
		if container, is := v.(tree); is && !clean(container, isOpenConfig(name)) {
			delete(all, name)
		}
	}
	return all, nil
}

// isOpenConfig reports whether a container at the top is of OpenConfig, whose modules have configuration and state in containers
// next to each other. A name without a module belongs to OpenConfig.
func isOpenConfig(name string) bool {
	return !strings.Contains(name, ":") || strings.HasPrefix(name, "openconfig-")
}

// clean removes what is no configuration: what is empty and, in OpenConfig, containers with state. It reports whether something
// is left.
func clean(t tree, openConfig bool) bool {
	for name, v := range t {
		switch v := v.(type) {
		case tree:
			if openConfig && gnmiaccess.Local(name) == "state" || !clean(v, openConfig) {
				delete(t, name)
			}
		case []any:
			for _, e := range v {
				if entry, is := e.(tree); is {
					clean(entry, openConfig)
				}
			}
			if len(v) == 0 {
				delete(t, name)
			}
		case nil:
			delete(t, name)
		}
	}
	return len(t) > 0
}

// write returns a configuration, or a part of one, with sorted members.
func write(t tree) string {
	if len(t) == 0 {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(t) // It was decoded from JSON.
	return out.String()
}

// Parse implements configure.Language.
func (Language) Parse(text string) (configure.Configuration, error) {
	t, err := read(text)
	if err != nil {
		return "", err
	}
	locals := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		local := gnmiaccess.Local(name)
		if other, has := locals[local]; has {
			return "", fmt.Errorf("%s and %s have one name: a path of gNMI cannot tell them apart", other, name)
		}
		locals[local] = name
		if _, is := t[name].(tree); !is {
			return "", fmt.Errorf("%s is no object: want containers, as in the output of nodrop configure read", name)
		}
	}
	return configure.Configuration(write(t)), nil
}

// change is one Set: containers at the top of the device that go, and containers that are replaced.
type change struct {
	gone     []string
	replaced map[string]tree
}

// between returns the change from one configuration to another.
func between(have, want configure.Configuration) (*change, error) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil, err
	}
	out := &change{replaced: map[string]tree{}}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, wanted := to[name]; !wanted {
			out.gone = append(out.gone, name)
		}
	}
	for name, v := range to {
		if len(differences(name, from[name], v)) > 0 {
			out.replaced[name], _ = v.(tree)
		}
	}
	return out, nil
}

// Commands implements configure.Language: the operations of one Set.
func (Language) Commands(have, want configure.Configuration) (lines []string) {
	c, err := between(have, want)
	if err != nil {
		return nil
	}
	for _, name := range c.gone {
		lines = append(lines, "delete /"+name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.replaced)) {
		lines = append(lines, "replace /"+name)
		lines = append(lines, strings.Split(strings.TrimSuffix(write(c.replaced[name]), "\n"), "\n")...)
	}
	return lines
}

var (
	secretName  = regexp.MustCompile(`^` + configure.SecretNames + `$`)
	secretValue = regexp.MustCompile(`("(?:[\w.\-]+:)?` + configure.SecretNames + `"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|[^\s,}\]]+)`)
)

// Mask implements configure.Language.
func (Language) Mask(text string) string { return secretValue.ReplaceAllString(text, `$1"(hidden)"`) }

// Differences implements configure.Language.
func (Language) Differences(from, to configure.Configuration) []string {
	return configure.DifferencesBetween(from, to, read, func(before, after tree) []string { return differences("", before, after) })
}

// hideSecrets hides the secrets of a change in a message of the device, which may repeat them in any form.
func hideSecrets(message string, c *change) string {
	var hide func(name string, v any)
	hide = func(name string, v any) {
		switch v := v.(type) {
		case tree:
			for name, v := range v {
				hide(name, v)
			}
		case []any:
			for _, e := range v {
				hide(name, e)
			}
		case string:
			if v != "" && secretName.MatchString(gnmiaccess.Local(name)) {
				message = strings.ReplaceAll(message, v, "(hidden)")
			}
		}
	}
	for name, v := range c.replaced {
		hide(name, v)
	}
	return Language{}.Mask(message)
}

package files

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Language of files: an object in YAML with the content of each file by its path, or null for a file that is not there.
type Language struct {
	// Paths are the files that a configuration has, all of them; none is any file.
	Paths []string
	// Reload is the command that makes them effective.
	Reload string
}

var _ configure.Language = Language{}

// unloaded is a line before files that are replaced, and of which it is unknown whether the reload command made them effective.
const unloaded = "# The reload command has not ended with these files.\n"

// contents are the contents of files by their paths; nil for a file that is not there.
type contents map[string]*string

// read reads a configuration.
func read(text string) (c contents, _ error) {
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("want an object in YAML with the text of each file by its path, or null for a file that is not there: %w", err)
	}
	return c, nil
}

// write writes a configuration.
func write(c contents) (configure.Configuration, error) {
	if len(c) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(c)
	return configure.Configuration(text), err
}

// Parse implements configure.Language.
func (l Language) Parse(text string) (configure.Configuration, error) {
	c, err := read(text)
	if err != nil {
		return "", err
	}
	for p, content := range c {
		if err := checkPath(p); err != nil {
			return "", err
		}
		if len(l.Paths) > 0 && !slices.Contains(l.Paths, p) {
			return "", fmt.Errorf("%s: Unsupported value: the files of the device are %s", p, strings.Join(l.Paths, ", "))
		}
		if content != nil && (!utf8.ValidString(*content) || strings.Contains(*content, "\x00")) {
			return "", fmt.Errorf("%s: Invalid value: want a text in UTF-8", p)
		}
	}
	for _, p := range l.Paths {
		if _, has := c[p]; !has && len(c) > 0 {
			return "", fmt.Errorf("%s: Required value: give the text of the file, or null to remove it", p)
		}
	}
	return write(c)
}

// checkPath fails for a path that is not one of a file, or whose name a shell or a person would misread.
func checkPath(p string) error {
	if !paths.MatchString(p) || path.Clean(p) != p {
		return fmt.Errorf("%q: Invalid value: want the path of a file from the root, such as /etc/frr/frr.conf, of letters, digits and -._/@+: only", p)
	}
	return nil
}

// paths matches paths of files.
var paths = regexp.MustCompile(`^/[\w\-./@+:]*[\w\-.@+:]$`)

// Check fails for paths or a command that cannot work, with the name of the field.
func (l Language) Check() error {
	if len(l.Paths) == 0 {
		return errors.New("files: Required value: give the paths of the files that are the configuration, such as /etc/frr/frr.conf")
	}
	for i, p := range l.Paths {
		if err := checkPath(p); err != nil {
			return fmt.Errorf("files: %w", err)
		}
		if slices.Contains(l.Paths[:i], p) {
			return fmt.Errorf("files: Duplicate value: %q", p)
		}
	}
	if strings.TrimSpace(l.Reload) == "" {
		return errors.New("reload: Required value: give the command that makes the files effective, such as nft -f /etc/nftables.conf")
	}
	return nil
}

// Commands implements configure.Language.
func (l Language) Commands(have, want configure.Configuration) (out []string) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil || len(l.Differences(want, have)) == 0 {
		return nil
	}
	for _, p := range slices.Sorted(maps.Keys(to)) {
		switch content := to[p]; {
		case same(from[p], content):
		case content == nil:
			out = append(out, "remove "+p)
		default:
			out = append(out, replacing(p, *content))
		}
	}
	return append(out, l.Reload)
}

// replacing describes that a file gets a content.
func replacing(p, content string) string {
	return fmt.Sprintf("replace %s, with %d lines", p, strings.Count(content, "\n"))
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Differences implements configure.Language. Files that may not be effective differ from any others.
func (l Language) Differences(from, to configure.Configuration) []string {
	out := configure.DifferencesBetween(from, to, read, l.between)
	if strings.HasPrefix(string(to), unloaded) {
		out = append(out, "+ the reload command has not ended with these files")
	}
	return out
}

// between returns the differences between files.
func (l Language) between(from, to contents) (out []string) {
	all := maps.Clone(from)
	if all == nil {
		all = contents{}
	}
	maps.Copy(all, to)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		before, after := from[p], to[p]
		switch {
		case same(before, after):
		case before == nil:
			out = append(out, "+ "+p)
		case after == nil:
			out = append(out, "- "+p)
		default:
			out = append(out, l.lines(p, *before, *after)...)
		}
	}
	return out
}

// lines returns the differences between two texts of a file: the lines from the first one that differs to the last one.
func (l Language) lines(p, before, after string) (out []string) {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	for _, line := range was {
		out = append(out, "- "+p+": "+l.Mask(line))
	}
	for _, line := range is {
		out = append(out, "+ "+p+": "+l.Mask(line))
	}
	return out
}

// secrets matches settings with secrets in the forms that configuration files have: words, assignments, JSON and YAML.
var secrets = regexp.MustCompile(`(?im)(` + configure.SecretNames + `|\bmd5|\bkey)("?\s*[:=]\s*"?|\s+(?:\d+\s+)?(?:md5\s+)?"?)[^\s",;]+`)

// Mask implements configure.Language.
func (Language) Mask(text string) string { return secrets.ReplaceAllString(text, "${1}${2}(hidden)") }

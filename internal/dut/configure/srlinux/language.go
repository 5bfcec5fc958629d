package srlinux

import (
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Language of SR Linux. A configuration has contexts with braces, as "info" prints them, or lines that begin with "set /", as "info flat" does, or
// both: they are compared as lines, whose order does not count. Only contexts with braces show what a line is. A leaf is deleted by its name alone,
// and an entry of a list by its name and key (Nokia SR Linux Configuration Basics Guide, Deleting configurations), so that a device is read
// with braces.
type Language struct{}

var (
	_ configure.Language  = Language{}
	_ configure.Completer = Language{}
)

// Parse implements configure.Language.
func (Language) Parse(text string) (configure.Configuration, error) {
	root, err := read(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	root.write(&out, "")
	return configure.Configuration(out.String()), nil
}

// Complete implements configure.Completer. The SSH server of a device is in a network instance, so that every device that is reached reports one.
func (Language) Complete(c configure.Configuration) error {
	root, err := read(string(c))
	if err == nil && !inOrder(root.lines()).below("network-instance") {
		err = errNoInstance
	}
	return err
}

// Commands implements configure.Language. Everything is deleted before anything is set. A leaf that gets another value is set only, but for one
// with several values: "set" adds to these. A value of several lines, such as a certificate, is not entered: the terminal would ask for the rest of it.
func (Language) Commands(have, want configure.Configuration) (commands []string) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil // Configurations come from Parse.
	}
	wanted := to.lines()
	for _, path := range slices.Backward(from.removals(inOrder(wanted))) {
		commands = append(commands, remove+path)
	}
	has := inOrder(from.lines())
	for _, line := range wanted {
		if !has.has(line) && !has.below(line) && !strings.Contains(line, "\n") {
			commands = append(commands, set+line)
		}
	}
	return commands
}

// IsRemoval reports whether a command deletes a part of a configuration.
func (Language) IsRemoval(command string, _ configure.Configuration) bool {
	return strings.HasPrefix(command, remove)
}

// Differences implements configure.Language.
func (l Language) Differences(from, to configure.Configuration) []string {
	return configure.DifferencesBetween(from, to, read, func(from, to *node) (found []string) {
		before, after := from.lines(), to.lines()
		had, has := inOrder(before), inOrder(after)
		for _, line := range before {
			if !has.has(line) {
				found = append(found, l.Mask("- "+set+line))
			}
		}
		for _, line := range after {
			if !had.has(line) {
				found = append(found, l.Mask("+ "+set+line))
			}
		}
		return found
	})
}

var (
	// secrets are values behind the names of leaves whose type is a password or a key, encrypted or not.
	secrets = regexp.MustCompile(`(?i)\b([\w-]*(?:password|secret|key|community|passphrase)) (?:"(?:[^"\\]|\\.)*"|\S+)`)
	// encrypted are values in the form in which the device reports secrets, such as $aes1$ and $y$: messages may repeat them without the name of the leaf.
	encrypted = regexp.MustCompile(`\$[0-9a-z]{1,5}\$[^\s'"]+`)
)

// Mask implements configure.Language. It hides the numbers of keys in a keychain as well.
func (Language) Mask(text string) string {
	return encrypted.ReplaceAllString(secrets.ReplaceAllString(text, "$1 (hidden)"), "(hidden)")
}
